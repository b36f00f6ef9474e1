/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made small: the numbers that are chosen for plans of many kinds, and what must hold of
 * every choice. Each small plan and its twin on one rank pass all passes of planc. */
#include "driver/rehearse/small.h"

#include "base/arena.h"
#include "check.h"
#include "driver/passes.h"
#include "plan/rules/plan_rules.h"

struct bench {
	struct work work;
	const struct plan *plan;
	struct small small;
	bool chosen;
};

/* What differs between cases; the rest stands in `frame`. */
struct one {
	const char *name, *cluster, *mesh, *model, *split, *memory, *train;
	const char *want;
};

#define CASE(name, cluster, mesh, model, split, memory, train, want)                               \
	{name, cluster, mesh, model, split, memory, train, want},
static const struct one cases[] = {
#include "test_driver_small.def"
};
#undef CASE

static const char frame[] = "plan case\n"
			    "edition 1\n"
			    "import nvidia from \"std/devices/nvidia.plan\"\n"
			    "import arch from \"std/architectures.plan\"\n"
			    "import llama3 from \"std/models/llama3.plan\"\n"
			    "import gpt2 from \"std/models/gpt2.plan\"\n"
			    "cluster c { %s of nvidia.h100_sxm_80g } }\n"
			    "mesh { %s }\n"
			    "model m : %s\n"
			    "precision = mixed_bf16\n"
			    "split { %s }\n"
			    "memory { %s }\n"
			    "train {\n"
			    "  %s, steps = 100, seed = 1\n"
			    "  optimizer = adamw { lr = 1e-4, weight_decay = 0.1 }\n"
			    "  data = tokens(\"x\")\n"
			    "}\n";

static const struct source *no_file(void *self, const char *path, struct work *work)
{
	(void)self;
	(void)path;
	(void)work;
	return NULL;
}

static bool compiled(const char *text, const char *last, struct compiled *out, struct work *work)
{
	static const struct plan_options options = {.command = "check", .read = no_file};
	struct compile_options how = {.verify = true, .stop_after = last};
	const struct source *source = sources_add(work->sources, "case.plan", text, strlen(text),
						  false);

	return compile(source, &options, &how, out, work);
}

/* A case, or a file. */
static char *text_of(const struct bench *b, const struct one *one)
{
	size_t length;

	if (one->want)
		return arena_text(b->work.keep, frame, one->cluster, one->mesh, one->model,
				  one->split, one->memory, one->train);
	return text_read(b->work.keep, one->name, &length);
}

static void bench_open(struct bench *b, const struct one *one)
{
	struct compiled compiled_plan;
	struct text said;
	char *text;

	*b = (struct bench){0};
	b->work = (struct work){.keep = arena_new(), .scratch = arena_new(), .check_only = true};
	b->work.names = names_new(b->work.keep);
	b->work.sources = sources_new(b->work.keep);
	b->work.diags = diags_new(b->work.keep, b->work.sources);
	text = text_of(b, one);
	if (!compiled(text, "rules", &compiled_plan, &b->work)) {
		said = text_new(b->work.keep);
		diags_human(b->work.diags, (struct diag_style){0}, &said);
		check_text(__FILE__, __LINE__, one->name, said.at, "");
		return;
	}
	b->plan = compiled_plan.plan;
	b->chosen = small_choose(b->plan, &b->small, &b->work);
}

static void bench_close(struct bench *b)
{
	arena_delete(b->work.scratch);
	arena_delete(b->work.keep);
}

/* --- what was chosen, in one line ------------------------------------------------------- */

static char *said(const struct bench *b)
{
	const struct small *s = &b->small;
	const struct model *model = b->plan->model;
	struct text out = text_new(b->work.keep);

	if (!b->chosen)
		return arena_text(b->work.keep, "%s: %s",
				  diag_row(b->work.diags->all.at[b->work.diags->all.n - 1]->code)
					  ->code,
				  b->work.diags->all.at[b->work.diags->all.n - 1]->label);
	for (uint32_t i = 0; i < b->plan->naxes; i++)
		text_add(&out, "%s %lld, ", b->plan->axes[i].name->text, (long long)s->axes[i]);
	text_add(&out, "nodes %lld |", (long long)s->nodes);
	for (uint32_t i = 0; i < model->ndims; i++)
		text_add(&out, " %llu", (unsigned long long)s->dims[i]);
	text_add(&out, " pad %lld | m %lld", (long long)s->pad, (long long)s->micro_batches);
	if (s->lanes > s->data)
		text_add(&out, " lanes %lld", (long long)s->lanes);
	if (s->copies > 1)
		text_add(&out, " copies %lld", (long long)s->copies);
	if (plan_strategy(b->plan, STRATEGY_ZERO))
		text_add(&out, " prefetch %lld", (long long)s->prefetch);
	for (int64_t i = 0; s->list && i < s->stages * s->chunks; i++)
		text_add(&out, "%s%lld", i ? ", " : " list ", (long long)s->list[i]);
	return out.at;
}

/* --- what holds of every choice --------------------------------------------------------- */

#define HOLDS(what) check_that(__FILE__, __LINE__, one->name, (what) ? 1 : 0)

static void check_mesh(const struct bench *b, const struct one *one)
{
	const struct small *s = &b->small;
	const struct strategy *pipeline = plan_strategy(b->plan, STRATEGY_PIPELINE);

	HOLDS(s->ranks <= SMALL_RANKS && s->nodes * s->devices == s->ranks);
	for (uint32_t i = 0; i < b->plan->naxes; i++) {
		bool stages = pipeline && strategy_has_axis(pipeline, i) &&
			      b->plan->axes[i].size == b->plan->stages;

		HOLDS((s->axes[i] == 1) == (b->plan->axes[i].size == 1));
		HOLDS(s->axes[i] <= b->plan->axes[i].size);
		HOLDS(!stages || s->axes[i] >= (b->plan->axes[i].size < 3 ? 1 : 3));
	}
}

static void check_dims(const struct bench *b, const struct one *one)
{
	const struct small *s = &b->small;
	const struct model *model = b->plan->model;

	for (uint32_t i = 0; i < model->ndims; i++) {
		uint64_t full = model->dims[i].size;

		HOLDS(s->dims[i] <= full && (s->dims[i] > 1 || full == 1));
		for (uint32_t k = 0; k < i; k++)
			HOLDS(model->dims[k].size == full || s->dims[k] != s->dims[i]);
	}
	if (model->vocab != NO_ID) {
		bool padded = s->dims[model->vocab] % (uint64_t)s->pad != 0;

		HOLDS(padded == (model->dims[model->vocab].padded !=
				 model->dims[model->vocab].size));
	}
}

static void check_batches(const struct bench *b, const struct one *one)
{
	const struct small *s = &b->small;
	const struct plan *plan = b->plan;
	int64_t full = plan->micro_batches, p = plan->stages, m = s->micro_batches;

	HOLDS(m <= full || s->lanes > s->data);
	HOLDS((full < p) == (m < s->stages));
	if (full >= p && s->lanes == s->data)
		HOLDS((full % p == 0) == (m % s->stages == 0));
	HOLDS(p == 1 || full <= 2 * p || m >= 2 * s->stages + 1);
	HOLDS(s->layers >= (plan->model->layers < 2 ? 1 : 2));
	HOLDS(s->prefetch < s->layers || plan->model->layers == 1);
	HOLDS(s->global_batch ==
	      m * s->data * (int64_t)s->dims[plan->model->batch]);
}

/* The text passes, as a layout and alone, in fp64 and in its own types, with all verifiers. */
static void check_texts(struct bench *b, const struct one *one)
{
	for (int i = 0; i < 4; i++) {
		struct text text = small_text(b->plan, &b->small,
					      i < 2 ? SMALL_SPLIT : SMALL_ALONE, i % 2, &b->work);
		struct compiled out;
		struct text all = text_new(b->work.keep);
		uint32_t before = b->work.diags->all.n;

		if (!compiled(text.at, NULL, &out, &b->work) || !out.judged) {
			for (uint32_t k = before; k < b->work.diags->all.n; k++)
				diag_human(b->work.diags->all.at[k], false, &all);
			check_text(__FILE__, __LINE__, one->name, all.at ? all.at : "no verdict",
				   "");
			return;
		}
		HOLDS(out.plan->devices == (i < 2 ? b->small.ranks : 1));
		HOLDS(out.plan->stages == (i < 2 ? b->small.stages : 1));
	}
}

static void check(const struct one *one)
{
	struct bench b;

	bench_open(&b, one);
	if (b.plan && one->want)
		check_text(__FILE__, __LINE__, one->name, said(&b), one->want);
	if (b.chosen) {
		check_mesh(&b, one);
		if (one->want)
			check_dims(&b, one);
		check_batches(&b, one);
		check_texts(&b, one);
	}
	bench_close(&b);
}

/* Further plans may be named: what must hold of every choice is looked at. */
int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check(&cases[i]);
	for (int i = 1; i < argc; i++)
		check(&(struct one){.name = argv[i]});
	return check_done();
}
