/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c: what a rank does in a step, the tables that describe the program, main. */
#include "emit/emit_text.h"

#include <stddef.h>
#include <string.h>

#include "base/num.h"

static const char *segment_name(struct emitter *e, uint32_t segment)
{
	return e->segments[e->program->stage][segment];
}

static const char *first_layer(const struct emitter *e, const struct sweep *sweep)
{
	uint64_t last = e->program->graph->model->layers - 1;
	bool low = sweep->first == 0 || last == 0;
	if (e->piped)
		return sweep->when == FIRST_CHUNK ? "at->layer" : "at->layer + at->layers - 1";
	return low ? "0" : "N_LAYERS - 1";
}

/* Of a turn: the layers of its chunk; elsewhere all. */
static const char *loop_head(const struct emitter *e, const struct sweep *sweep, bool turn)
{
	static const char *const heads[2][2] = {
		{"for (here.layer = 0; here.layer < N_LAYERS; here.layer++) {\n",
		 "for (here.layer = N_LAYERS - 1; here.layer >= 0; here.layer--) {\n"},
		{"for (here.layer = at->layer; here.layer < at->layer + at->layers; "
		 "here.layer++) {\n",
		 "for (here.layer = at->layer + at->layers - 1; here.layer >= at->layer; "
		 "here.layer--) {\n"}};
	if (e->piped && !turn)
		return "for (here.layer = 0; here.layer < rt_layers(rt); here.layer++) {\n";
	return heads[e->piped][sweep->step < 0];
}

/* Only the turns of one chunk, where a stage has several. */
static void emit_when(struct emitter *e, const struct sweep *sweep)
{
	uint32_t chunks = e->program->roles[0].schedule.chunks;
	if (chunks == 1 || sweep->when == EVERY_CHUNK)
		return;
	text_add(e->out, "if (at->chunk == %u)\n\t",
		 sweep->when == FIRST_CHUNK ? 0 : chunks - 1);
}

static void emit_calls(struct emitter *e, const struct sweep *sweep, bool layers)
{
	if (sweep->count)
		text_add(e->out, "%s", loop_head(e, sweep, layers));
	else if (layers && (!e->piped || sweep->when != EVERY_CHUNK))
		text_add(e->out, "here.layer = %s;\n", first_layer(e, sweep));
	e->out->indent += sweep->count > 0;
	for (uint32_t k = 0; k < sweep->ncalls; k++) {
		emit_when(e, sweep);
		text_add(e->out, "RT_TRY(%s(rt, &here));\n",
			 segment_name(e, sweep->calls[k].segment));
	}
	e->out->indent -= sweep->count > 0;
	if (sweep->count)
		text_add(e->out, "}\n");
}

/* The inside of a function that follows a body. `start`: which copy it works on. */
static const char *body_text(struct emitter *e, const struct body *body, const char *start,
			     bool layers)
{
	struct text text = text_new(e->arena), *out = e->out;
	e->out = &text;
	text.indent++;
	if (body->nsweeps)
		text_add(e->out, "struct rt_at here = %s;\n", start);
	else
		text_add(e->out, "(void)rt;\n");
	for (uint32_t i = 0; i < body->nsweeps; i++)
		emit_calls(e, &body->sweeps[i], layers);
	text_add(e->out, "return 0;\n");
	e->out = out;
	return text.at;
}

static const struct body_row {
	const char *what, *name, *parameter, *start;
	size_t body;
	bool layers;
} body_rows[BODIES] = {
#define BODY(field) offsetof(struct role, field)
	[BODY_START] = {"Once, when the weights are there.", "start_run", "", "{0}", BODY(start),
			false},
	[BODY_BEGIN] = {"At the head of each step.", "begin", "", "{0}", BODY(begin), false},
	[BODY_FORWARD] = {"One micro-batch; outside the layers, `layer` is the neighbouring one.",
			  "forward", ", const struct rt_at *at", "*at", BODY(forward), true},
	[BODY_BACKWARD] = {"The way back.", "backward", ", const struct rt_at *at", "*at",
			   BODY(backward), true},
	[BODY_MERGE_SUMS] = {"Two lanes through all layers become one: their losses.",
			     "merge_losses", ", const struct rt_at *at", "*at", BODY(merge_sums),
			     false},
	[BODY_MERGE] = {"Two finished lanes become one: the balanced tree.", "merge",
			", const struct rt_at *at", "*at", BODY(merge), false},
	[BODY_UPDATE] = {"At the end of each step.", "update", "", "{0}", BODY(update), false},
#undef BODY
};

static const struct body *body_of(const struct program *program, const struct body_row *row)
{
	return (const struct body *)(const void *)((const char *)&program->roles[0] + row->body);
}

/* One function for all stages that do the same. */
static void emit_body(struct emitter *e, enum body_kind kind)
{
	const struct body_row *row = &body_rows[kind];
	struct variants all = {0};
	uint32_t n = 0, *index = ARENA_ARRAY(e->arena, uint32_t, e->program->stages + 1);
	for (const struct layout *l = e->stages; l; l = l->next) {
		emit_stage(e, l);
		const struct body *body = body_of(e->program, row);
		index[n++] = variants_add(e, &all, 0, body_text(e, body, row->start, row->layers),
					  0);
	}
	emit_stage(e, e->stages);
	variants_name(e, &all, 0, row->name);
	for (uint32_t i = 0; i < n; i++)
		e->bodies[i][kind] = all.all.at[index[i]].name;
	for (uint32_t i = 0; i < all.all.n; i++) {
		text_add(e->out, "\n/* %s */\nstatic int %s(struct rt *rt%s)\n{\n", row->what,
			 all.all.at[i].name, row->parameter);
		text_raw(e->out, all.all.at[i].text, strlen(all.all.at[i].text));
		text_add(e->out, "}\n");
	}
}

static void emit_bodies(struct emitter *e)
{
	uint32_t n = e->piped ? e->program->stages : 1;
	e->bodies = arena_array(e->arena, n, sizeof *e->bodies);
	for (enum body_kind kind = 0; kind < BODIES; kind++)
		if ((kind != BODY_MERGE && kind != BODY_MERGE_SUMS) ||
		    body_of(e->program, &body_rows[kind])->nsweeps)
			emit_body(e, kind);
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
	text_add(e->out, ".abi = RT_ABI,\n.size = sizeof(struct rt_plan),\n");
	text_add(e->out, ".name = %s,\n.source = %s,\n", emit_string(e, e->plan->name->text),
		 emit_string(e, e->plan->source->path));
	text_add(e->out, ".manifest = %s,\n", emit_string(e, manifest_line(e)));
	text_add(e->out, ".params = %llu,\n.axes = axes,\n.naxes = %u,\n.ranks = %lld,\n",
		 (unsigned long long)e->verdict->params, e->program->flow->factors.n,
		 (long long)e->plan->devices);
	text_add(e->out, ".roles = roles,\n.nroles = %u,\n.groups = groups,\n.ngroups = %u,\n",
		 p->stages, p->ngroups);
	if (e->piped)
		text_add(e->out, ".stages = %u,\n.pipeline_group = %u,\n", p->stages,
			 p->pipeline_group);
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
	emit_segments(e);
	emit_bodies(e);
	emit_axes(e);
	emit_roles(e);
	emit_table(e);
	text_add(e->out, "\nint main(int argc, char **argv)\n{\n"
			 "\treturn rt_main(argc, argv, &plan);\n}\n");
}
