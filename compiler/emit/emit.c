/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/emit.h"

#include "base/bug.h"
#include "emit/emit_text.h"

static bool refuse(struct work *work, const struct value *value, const char *what)
{
	diag_add(work->diags, E0901, value->span, "%s cannot be emitted yet", what);
	return false;
}

static bool check_padding(const struct plan *plan, const struct graph *graph, struct work *work)
{
	for (uint32_t i = 0; i < graph->nparams; i++) {
		const struct param *p = &graph->params[i];
		if (graph_elements(graph, p->columns, true) ==
		    graph_elements(graph, p->columns, false))
			continue;
		diag_add(work->diags, E0901, p->span,
			 "a weight with a padded input dim cannot be emitted yet");
		return false;
	}
	(void)plan;
	return true;
}

static bool check_blocks(const struct program *program, struct work *work)
{
	for (uint32_t i = 0; i < program->graph->nparams; i++) {
		const struct param *p = &program->graph->params[i];
		if (!part_cuts_inner(program->flow, p))
			continue;
		diag_add(work->diags, E0901, p->span,
			 "a weight cut along an inner dim cannot be emitted yet");
		return false;
	}
	return true;
}

static bool check(const struct plan *plan, const struct layout *layout, struct work *work)
{
	if (!check_padding(plan, layout->program->graph, work))
		return false;
	if (!check_blocks(layout->program, work))
		return false;
	if (plan->device.cores.i <= 0) {
		diag_add(work->diags, E0901, plan->device_span,
			 "a program for `%s` cannot be emitted yet", plan->device_name);
		return false;
	}
	if (plan->has_checkpoint)
		return refuse(work, &plan->checkpoint.every, "a plan with checkpoints");
	if (name_is(plan->train.kernels.word, "generated"))
		return refuse(work, &plan->train.kernels, "a program with generated kernels");
	return true;
}

static void add(struct emitter *e, struct artifacts *out, const char *path,
		void (*print)(struct emitter *))
{
	struct text text = text_new(e->work->keep);
	e->out = &text;
	print(e);
	vec_push(e->work->keep, &out->all, (struct artifact){path, text});
}

bool emit_build(const struct plan *plan, const struct layout *layout,
		const struct verdict *verdict, struct work *work, struct artifacts *out)
{
	struct emitter e = {
		.plan = plan,
		.program = layout->program,
		.layout = layout,
		.stages = layout,
		.piped = layout->next != NULL,
		.verdict = verdict,
		.work = work,
		.arena = work->keep,
	};
	*out = (struct artifacts){0};
	if (!check(plan, layout, work))
		return false;
	emit_names(&e);
	add(&e, out, "plan.h", emit_plan_h);
	add(&e, out, "model.c", emit_model_c);
	add(&e, out, "schedule.c", emit_schedule_c);
	add(&e, out, "Makefile", emit_makefile);
	struct text expanded = text_new(work->keep);
	plan_expand(plan, work, &expanded);
	const char *name = arena_text(work->keep, "%s.expanded.plan", plan->name->text);
	vec_push(work->keep, &out->all, (struct artifact){name, expanded});
	struct text manifest = text_new(work->keep);
	e.out = &manifest;
	emit_manifest(&e, out);
	vec_push(work->keep, &out->all, (struct artifact){"manifest.json", manifest});
	return true;
}
