/* SPDX-License-Identifier: Apache-2.0 */
#include "part/program.h"

#include "base/num.h"

static const char *const row_names[] = {
#define LIB(name) #name,
#define LOOP(name, block, ins, outs, sizes, scalars) #name,
#include "rt/kernels.def"
#undef LIB
#undef LOOP
};

static const char *const collective_names[] = {"all_reduce", "all_reduce_max", "reduce_scatter",
					       "all_gather", "slice", "hand_over"};

static void print_size(const struct program *p, const struct size *size, struct text *out)
{
	const struct model *model = p->graph->model;
	if (size->dims.n == 0)
		text_add(out, "%lld", (long long)size->value);
	for (uint32_t i = 0; i < size->dims.n; i++)
		text_add(out, size->cuts[i] ? "%s%s/%llu" : "%s%s", i ? "*" : "",
			 model->dims[size->dims.at[i]].name->text,
			 (unsigned long long)factors_ranks(&p->flow->factors, size->cuts[i]));
	if (size->index_in)
		text_add(out, "*index");
}

static void print_use(const struct program *p, const struct use *use, struct text *out)
{
	if (use->buffer == NO_ID) {
		text_add(out, "-");
		return;
	}
	text_add(out, "%s%s", use->write ? ">" : "", p->buffers[use->buffer].name->text);
	if (use->by_layer)
		text_add(out, use->layer_plus ? "[layer + %d]" : "[layer]", use->layer_plus);
	if (use->by_level)
		text_add(out, use->level_plus ? "{level + %d}" : "{level}", use->level_plus);
}

static void print_step(const struct program *p, const struct step *step, const struct work *work,
		       struct text *out)
{
	if (step->first_only)
		text_add(out, "  first micro-batch:");
	if (step->kind == STEP_COLLECTIVE)
		text_add(out, "  %s over %s", collective_names[step->collective],
			 p->groups[step->group].name->text);
	else
		text_add(out, "  %s %s", row_names[step->row], graph_type_name(step->type));
	text_add(out, " (");
	for (uint32_t i = 0; i < step->nuses; i++) {
		text_add(out, "%s", i ? ", " : "");
		print_use(p, &step->uses[i], out);
	}
	text_add(out, ") rows ");
	print_size(p, &step->rows, out);
	for (uint32_t i = 0; i < step->nsizes; i++) {
		text_add(out, "%s", i ? ", " : " sizes ");
		print_size(p, &step->sizes[i], out);
	}
	for (uint32_t i = 0; i < step->nscalars; i++)
		text_add(out, "%s%s", i ? ", " : " scalars ",
			 num_double(work->scratch, step->scalars[i]));
	text_add(out, "  %s\n", sources_where(work->sources, work->scratch, step->span));
}

static void print_body(const struct program *p, const char *name, const struct body *body,
		       struct text *out)
{
	text_add(out, "  %s:", name);
	for (uint32_t i = 0; i < body->nsweeps; i++) {
		const struct sweep *sweep = &body->sweeps[i];
		for (uint32_t k = 0; k < sweep->ncalls; k++)
			text_add(out, " %s", p->segments[sweep->calls[k].segment].name->text);
		if (sweep->count)
			text_add(out, "[%llu from %llu by %d]", (unsigned long long)sweep->count,
				 (unsigned long long)sweep->first, sweep->step);
	}
	text_add(out, "\n");
}

static void print_role(const struct program *p, const struct role *role, struct text *out)
{
	text_add(out, "role %s: %u micro-batches, %u lanes, %u slots\n", role->name->text,
		 role->schedule.micro_batches, role->lanes, role->schedule.slots);
	for (uint32_t c = 0; role->schedule.stages > 1 && c < role->schedule.chunks; c++)
		text_add(out, "  chunk %u: layers %llu to %llu\n", c,
			 (unsigned long long)role->chunks[c].first,
			 (unsigned long long)(role->chunks[c].first + role->chunks[c].count - 1));
	print_body(p, "start", &role->start, out);
	print_body(p, "begin", &role->begin, out);
	print_body(p, "forward", &role->forward, out);
	print_body(p, "backward", &role->backward, out);
	print_body(p, "merge_sums", &role->merge_sums, out);
	print_body(p, "merge", &role->merge, out);
	print_body(p, "update", &role->update, out);
}

static void print_groups(const struct program *program, struct text *out)
{
	for (uint32_t i = 0; i < program->ngroups; i++)
		text_add(out, "group %s of %llu\n", program->groups[i].name->text,
			 (unsigned long long)program->groups[i].ranks);
}

static void print_program(const struct program *program, const struct work *work, struct text *out)
{
	for (uint32_t i = 0; i < program->nroles; i++)
		print_role(program, &program->roles[i], out);
	for (uint32_t i = 0; i < program->nsegments; i++) {
		const struct segment *segment = &program->segments[i];
		text_add(out, "segment %s\n", segment->name->text);
		for (uint32_t k = 0; k < segment->nsteps; k++)
			print_step(program, &segment->steps[k], work, out);
	}
}

void program_print(const struct program *program, const struct work *work, struct text *out)
{
	print_groups(program, out);
	for (const struct program *p = program; p; p = p->next)
		print_program(p, work, out);
}
