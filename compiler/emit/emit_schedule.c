/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c: what a rank does in a step, the tables that describe the program, main. */
#include "emit/emit_text.h"

#include <string.h>

#include "base/num.h"

static void emit_calls(struct emitter *e, const struct sweep *sweep, bool layers)
{
	const struct program *p = e->program;
	uint64_t last = p->graph->model->layers - 1;
	const char *which = sweep->first == 0 || last == 0 ? "0" : "N_LAYERS - 1";
	if (sweep->count && sweep->step > 0)
		text_add(e->out, "for (here.layer = 0; here.layer < N_LAYERS; here.layer++) {\n");
	else if (sweep->count)
		text_add(e->out,
			 "for (here.layer = N_LAYERS - 1; here.layer >= 0; here.layer--) {\n");
	else if (layers)
		text_add(e->out, "here.layer = %s;\n", which);
	e->out->indent += sweep->count > 0;
	for (uint32_t k = 0; k < sweep->ncalls; k++)
		text_add(e->out, "RT_TRY(%s(rt, &here));\n",
			 p->segments[sweep->calls[k].segment].name->text);
	e->out->indent -= sweep->count > 0;
	if (sweep->count)
		text_add(e->out, "}\n");
}

/* A function that follows a body. `at`: it is handed which copy to work on. */
static void emit_body(struct emitter *e, const char *what, const char *name,
		      const struct body *body, const char *parameter, const char *start,
		      bool layers)
{
	text_add(e->out, "\n/* %s */\nstatic int %s(struct rt *rt%s)\n{\n", what, name, parameter);
	e->out->indent++;
	if (body->nsweeps)
		text_add(e->out, "struct rt_at here = %s;\n", start);
	else
		text_add(e->out, "(void)rt;\n");
	for (uint32_t i = 0; i < body->nsweeps; i++)
		emit_calls(e, &body->sweeps[i], layers);
	text_add(e->out, "return 0;\n");
	e->out->indent--;
	text_add(e->out, "}\n");
}

static void emit_bodies(struct emitter *e, const struct role *role)
{
	const char *at = ", const struct rt_at *at";
	emit_body(e, "Once, when the weights are there.", "start_run", &role->start, "", "{0}",
		  false);
	emit_body(e, "At the head of each step.", "begin", &role->begin, "", "{0}", false);
	emit_body(e, "One micro-batch; outside the layers, `layer` is the neighbouring one.",
		  "forward", &role->forward, at, "*at", true);
	emit_body(e, "The way back.", "backward", &role->backward, at, "*at", true);
	if (role->merge.nsweeps)
		emit_body(e, "Two finished lanes become one: the balanced tree.", "merge",
			  &role->merge, ", int64_t level", "{.level = level}", false);
	emit_body(e, "At the end of each step.", "update", &role->update, "", "{0}", false);
}

static void emit_axes(struct emitter *e)
{
	const struct factors *factors = &e->program->flow->factors;
	text_add(e->out, "\nstatic const struct rt_axis axes[] = {\n");
	for (uint32_t i = 0; i < factors->n; i++)
		text_add(e->out, "\t{\"%s\", %lld},\n", factors->at[i].name->text,
			 (long long)factors->at[i].size);
	if (factors->n == 0)
		text_add(e->out, "\t{\"\", 1},\n");
	text_add(e->out, "};\n\nstatic const struct rt_group groups[] = {\n");
	for (uint32_t i = 0; i < e->program->ngroups; i++)
		text_add(e->out, "\t{\"%s\", %u},\n", e->program->groups[i].name->text,
			 e->program->groups[i].factors);
	if (e->program->ngroups == 0)
		text_add(e->out, "\t{\"\", 0},\n");
	text_add(e->out, "};\n");
}

static void emit_items(struct emitter *e)
{
	text_add(e->out, "\n/* The memory table: bytes. */\n"
			 "static const struct rt_item items[] = {\n");
	for (uint32_t i = 0; i < e->verdict->nlines; i++) {
		const struct verdict_line *line = &e->verdict->lines[i];
		text_add(e->out, "\t{%s, %d, %llu},\n", emit_string(e, line->name), line->depth,
			 (unsigned long long)line->bytes);
	}
	text_add(e->out, "};\n");
}

static const char *place_of(struct emitter *e, uint32_t buffer)
{
	return arena_text(e->arena, "&place_%s", e->program->buffers[buffer].name->text);
}

static void emit_role(struct emitter *e, const struct role *role)
{
	const struct buffer *logits = &e->program->buffers[role->logits];
	const struct flow *flow = e->program->flow;
	uint32_t vocab = logits->dims.at[logits->dims.n - 1];
	uint32_t cuts = spread_cuts(&logits->spread, &flow->factors, vocab);
	text_add(e->out, "\n/* Every micro-batch forward, then backward. */\n");
	text_add(e->out, "static const struct rt_schedule_run runs[] = {\n");
	for (uint32_t i = 0; i < role->schedule.nruns; i++) {
		const struct rt_schedule_run *run = &role->schedule.runs[i];
		text_add(e->out, "\t{%u, {%d, %d}, %u},\n", run->count, run->backward[0],
			 run->backward[1], run->turns);
	}
	text_add(e->out, "};\n\nstatic const struct rt_role roles[] = {{\n");
	e->out->indent++;
	text_add(e->out, ".name = \"%s\",\n.schedule = {%u, %u, %u, runs, %u},\n",
		 role->name->text, role->schedule.micro_batches, role->schedule.chunks,
		 role->schedule.slots, role->schedule.nruns);
	text_add(e->out, ".arena = ARENA_BYTES,\n.start = start_run,\n.begin = begin,\n"
			 ".forward = forward,\n.backward = backward,\n");
	if (role->merge.nsweeps)
		text_add(e->out, ".merge = merge,\n");
	text_add(e->out, ".update = update,\n.tokens = %s,\n.targets = %s,\n",
		 place_of(e, role->tokens), place_of(e, role->targets));
	text_add(e->out, ".control = %s,\n.sums = %s,\n.logits = %s,\n", place_of(e, role->control),
		 place_of(e, role->sums), place_of(e, role->logits));
	text_add(e->out, ".logits_type = %s,\n.logits_columns = %s,\n",
		 emit_rt_type(logits->type), emit_dim(e, vocab, false, cuts));
	if (cuts)
		text_add(e->out, ".logits_group = %s,\n", emit_group(e, cuts));
	text_add(e->out, ".items = items,\n.nitems = %u,\n", e->verdict->nlines);
	e->out->indent--;
	text_add(e->out, "}};\n");
}

static void emit_train(struct emitter *e)
{
	const struct plan *p = e->plan;
	const struct model *m = p->model;
	const struct dim *vocab = &m->dims[m->vocab];
	bool linear = name_is(p->schedule.kind.word, "linear");
	bool cosine = name_is(p->schedule.kind.word, "cosine");
	text_add(e->out, ".train = {\n");
	e->out->indent++;
	text_add(e->out, ".steps = %lld,\n.global_batch = %lld,\n", (long long)p->train.steps.i,
		 (long long)p->train.global_batch.i);
	text_add(e->out, ".micro_batch = N_BATCH,\n.micro_batches = %lld,\n.tokens = N_TOKENS,\n",
		 (long long)p->micro_batches);
	text_add(e->out, ".vocab = %s,\n.lanes = %lld,\n.data_ranks = %lld,\n",
		 emit_dim(e, m->vocab, true, 0), (long long)p->train.lanes.i,
		 (long long)p->data_ranks);
	text_add(e->out, ".seed = %lld,\n.lr = %s,\n.final_share = %s,\n",
		 (long long)p->train.seed.i, emit_double(e, p->optimizer.lr.f),
		 emit_double(e, p->schedule.final.f));
	text_add(e->out, ".beta1 = %s,\n.beta2 = %s,\n.warmup = %lld,\n.when = %s,\n",
		 emit_double(e, p->optimizer.beta1.f), emit_double(e, p->optimizer.beta2.f),
		 (long long)p->schedule.warmup.i,
		 cosine ? "RT_COSINE" : linear ? "RT_LINEAR" : "RT_CONSTANT");
	text_add(e->out,
		 ".validate_every = %lld,\n.validate_batches = %lld,\n.validate_share = %s,\n",
		 (long long)p->validate.every.i, (long long)p->validate.batches.i,
		 emit_double(e, p->validate.share.f));
	e->out->indent--;
	text_add(e->out, "},\n");
	(void)vocab;
}

static void emit_data(struct emitter *e)
{
	const struct plan *p = e->plan;
	const char *kind =
		name_is(p->train.data_kind.word, "bytes") ? "RT_DATA_BYTES" : "RT_DATA_TOKENS";
	text_add(e->out, ".data = {%s, %s},\n", kind,
		 emit_string(e, p->train.data_glob.word->text));
	if (p->validate.data.origin != ORIGIN_UNSET && p->validate.data.word)
		text_add(e->out, ".validation = {%s, %s},\n", kind,
			 emit_string(e, p->validate.data.word->text));
}

/* One line of JSON that the program logs: what it is, and what was set from outside. */
static char *manifest_line(struct emitter *e)
{
	struct text t = text_new(e->arena);
	text_add(&t, "{\"planc\": \"%s\", \"plan\": ", "0.1.0");
	text_json(&t, e->plan->name->text);
	text_add(&t, ", \"source\": ");
	text_json(&t, e->plan->source->path);
	text_add(&t, ", \"set\": {");
	for (uint32_t i = 0; i < e->plan->noutside; i++) {
		text_add(&t, "%s", i ? ", " : "");
		text_json(&t, e->plan->outside[i].name->text);
		text_add(&t, ": ");
		text_json(&t, e->plan->outside[i].text);
	}
	text_add(&t, "}}");
	return t.at;
}

static void emit_table(struct emitter *e)
{
	const struct program *p = e->program;
	text_add(e->out, "\nstatic const struct rt_plan plan = {\n");
	e->out->indent++;
	text_add(e->out, ".abi = RT_ABI,\n.name = %s,\n.source = %s,\n",
		 emit_string(e, e->plan->name->text), emit_string(e, e->plan->source->path));
	text_add(e->out, ".manifest = %s,\n", emit_string(e, manifest_line(e)));
	text_add(e->out, ".params = %llu,\n.axes = axes,\n.naxes = %u,\n.ranks = %lld,\n",
		 (unsigned long long)e->verdict->params, e->program->flow->factors.n,
		 (long long)e->plan->devices);
	text_add(e->out, ".roles = roles,\n.nroles = %u,\n.groups = groups,\n.ngroups = %u,\n",
		 p->nroles, p->ngroups);
	text_add(e->out, ".data_group = %u,\n.param = params,\n.nparam = %u,\n", p->data_group,
		 p->graph->nparams);
	emit_train(e);
	emit_data(e);
	text_add(e->out,
		 ".threads = %lld,\n.capacity = %llu,\n.outside = %llu,\n.reserve = %llu,\n",
		 (long long)(e->plan->device.cores.i > 0 ? e->plan->device.cores.i : 1),
		 (unsigned long long)e->verdict->capacity,
		 (unsigned long long)e->verdict->outside,
		 (unsigned long long)e->verdict->reserve);
	e->out->indent--;
	text_add(e->out, "};\n");
}

void emit_schedule_c(struct emitter *e)
{
	emit_head(e, "Schedule and tables");
	text_add(e->out, "\n#include \"plan.h\"\n");
	emit_bodies(e, &e->program->roles[0]);
	emit_axes(e);
	emit_items(e);
	emit_params(e);
	emit_role(e, &e->program->roles[0]);
	emit_table(e);
	text_add(e->out, "\nint main(int argc, char **argv)\n{\n"
			 "\treturn rt_main(argc, argv, &plan);\n}\n");
}
