/* SPDX-License-Identifier: Apache-2.0 */
/* For each pair of features a plan that has both, and what they need, is compiled: planc's answer
 * is the one of the table that `planc list combinations` prints. */
#include "driver/passes.h"

#include "check.h"
#include "plan/combinations.h"

struct mix {
	bool on[FEATURES];
};

static bool any(const struct mix *mix, enum feature a, enum feature b, enum feature c)
{
	return mix->on[a] || mix->on[b] || mix->on[c];
}

static bool zeroed(const struct mix *mix)
{
	return any(mix, FEATURE_zero1, FEATURE_zero2, FEATURE_zero3);
}

static bool piped(const struct mix *mix)
{
	return any(mix, FEATURE_gpipe, FEATURE_one_f_one_b, FEATURE_interleaved);
}

static bool recomputes(const struct mix *mix)
{
	return mix->on[FEATURE_recompute_block] || mix->on[FEATURE_recompute_selective];
}

/* What has to stand beside a feature for a plan to be one. */
static void complete(struct mix *mix)
{
	bool *on = mix->on;

	if (!zeroed(mix))
		on[on[FEATURE_hybrid] ? FEATURE_zero1 : FEATURE_zero3] =
			any(mix, FEATURE_hybrid, FEATURE_gather_step, FEATURE_prefetch);
	on[FEATURE_data] |= zeroed(mix) || on[FEATURE_micro_reduce] || on[FEATURE_gradient_wire];
	on[FEATURE_tensor] |= any(mix, FEATURE_replicate, FEATURE_split_rule, FEATURE_sequence) ||
			      on[FEATURE_partial_wire];
	on[FEATURE_interleaved] |= on[FEATURE_chunks] && !piped(mix);
	on[FEATURE_chunks] |= on[FEATURE_interleaved];
	on[FEATURE_one_f_one_b] |= !piped(mix) && any(mix, FEATURE_spread, FEATURE_layer_list,
						      FEATURE_recompute_stages);
	on[FEATURE_recompute_block] |= on[FEATURE_recompute_stages] && !recomputes(mix);
	on[FEATURE_fp32] |= !on[FEATURE_fp64] && !on[FEATURE_mixed_bf16] &&
			    !on[FEATURE_mixed_bf16_16b] && !on[FEATURE_pure_bf16];
}

/* ---- the text -------------------------------------------------------------------------------- */

static const char architecture[] =
	"architecture third {\n"
	"  size { layers, embed, heads, kv_heads, head = embed / heads, ffn, vocab, context }\n"
	"  option { dropout : share, tied_embeddings : bool }\n"
	"  tensor dims [heads, kv_heads, ffn, vocab]\n"
	"  x = lookup(tokens, vocab -> embed) as \"embed\"\n"
	"  repeat layers as \"layers.{layer}\" {\n"
	"    attention {\n"
	"      h = rmsnorm(x, eps = 1e-5) as \"norm1\"\n"
	"      q = linear(h, embed -> [heads, head]) as \"q\"\n"
	"      k = linear(h, embed -> [kv_heads, head]) as \"k\"\n"
	"      v = linear(h, embed -> [kv_heads, head]) as \"v\"\n"
	"      core { a = attend(q, k, v, mask = causal, dropout = dropout) }\n"
	"      o = linear(a, [heads, head] -> embed, init = residual) as \"o\"\n"
	"      x = x + dropout(o, rate = dropout)\n"
	"    }\n"
	"    mlp {\n"
	"      h = rmsnorm(x, eps = 1e-5) as \"norm2\"\n"
	"      u = linear(h, embed -> ffn) as \"up\"\n"
	"      x = x + linear(gelu(u), ffn -> embed, init = residual) as \"down\"\n"
	"    }\n"
	"  }\n"
	"  h = rmsnorm(x, eps = 1e-5) as \"norm\"\n"
	"  logits = linear(h, embed -> vocab) tied \"embed\" if tied_embeddings else\n"
	"           linear(h, embed -> vocab) as \"head\"\n"
	"  loss = cross_entropy(logits, targets)\n"
	"}\n";

/* "{ a = 1, b = 2 }" of what was added, or nothing. */
struct braces {
	struct text text;
};

static void body_add(struct braces *body, bool wanted, const char *setting)
{
	if (wanted)
		text_add(&body->text, "%s%s", body->text.length ? ", " : "", setting);
}

static const char *body_end(struct braces *body, struct arena *arena)
{
	return body->text.length ? arena_text(arena, " { %s }", body->text.at) : "";
}

static const struct axis_of {
	const char *name;
	int size;
	enum feature of;
} axes[] = {{"pp", 2, FEATURES},      {"rp", 2, FEATURE_hybrid},  {"dp", 2, FEATURE_data},
	    {"cp", 2, FEATURE_context}, {"ep", 2, FEATURE_expert}, {"tp", 2, FEATURE_tensor}};

/* Axes are there without their strategy too, where another one asks for it. */
static int axis_size(const struct mix *mix, const struct axis_of *axis)
{
	bool there = axis->of == FEATURES ? piped(mix) : mix->on[axis->of];

	there |= axis->of == FEATURE_data && zeroed(mix);
	there |= axis->of == FEATURE_tensor && mix->on[FEATURE_sequence];
	if (axis->of == FEATURE_tensor && there && mix->on[FEATURE_replicate])
		return 2 * axis->size;
	return there ? axis->size : 0;
}

static void add_mesh(const struct mix *mix, struct text *out)
{
	int devices = 1;
	const char *comma = "";

	for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
		devices *= axis_size(mix, &axes[i]) ? axis_size(mix, &axes[i]) : 1;
	text_add(out, "cluster one { node { devices = %d of %s } }\n", devices,
		 mix->on[FEATURE_gpu] ? "nvidia.a100_sxm_80g" : "cpu.core { memory = 8 GiB }");
	if (devices == 1)
		return;
	text_add(out, "mesh { ");
	for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
		int size = axis_size(mix, &axes[i]);

		if (size)
			text_add(out, "%s%s = %d within node", comma, axes[i].name, size);
		comma = size ? ", " : comma;
	}
	text_add(out, " }\n");
}

static void add_data(const struct mix *mix, struct text *out, struct arena *arena)
{
	struct braces data = {text_new(arena)}, zero = {text_new(arena)};
	const bool *on = mix->on;

	body_add(&data, on[FEATURE_micro_reduce], "reduce = micro_batch");
	body_add(&zero, on[FEATURE_gather_step], "gather = step");
	body_add(&zero, on[FEATURE_prefetch], "prefetch = 2");
	if (on[FEATURE_data])
		text_add(out, "  data over %sdp%s\n", on[FEATURE_hybrid] ? "rp * " : "",
			 body_end(&data, arena));
	for (int stage = 1; stage <= 3; stage++)
		if (on[FEATURE_zero1 + stage - 1])
			text_add(out, "  zero %d over dp%s\n", stage, body_end(&zero, arena));
}

static void add_pipeline(const struct mix *mix, struct text *out, struct arena *arena)
{
	struct braces body = {text_new(arena)};
	const bool *on = mix->on;

	body_add(&body, on[FEATURE_gpipe], "schedule = gpipe");
	body_add(&body, on[FEATURE_one_f_one_b], "schedule = 1f1b");
	body_add(&body, on[FEATURE_interleaved], "schedule = interleaved_1f1b");
	body_add(&body, on[FEATURE_chunks], "chunks = 2");
	body_add(&body, on[FEATURE_spread], "layers = spread");
	body_add(&body, on[FEATURE_layer_list],
		 on[FEATURE_chunks] ? "layers = [1, 3, 2, 2]" : "layers = [3, 5]");
	if (piped(mix))
		text_add(out, "  pipeline over pp%s\n", body_end(&body, arena));
}

static void add_split(const struct mix *mix, struct text *out, struct arena *arena)
{
	const bool *on = mix->on;

	text_add(out, "split {\n");
	add_data(mix, out, arena);
	if (on[FEATURE_tensor])
		text_add(out, "  tensor over tp%s\n",
			 on[FEATURE_replicate] ? " { kv_heads = replicate(2) }" : "");
	if (on[FEATURE_sequence])
		text_add(out, "  sequence over tp\n");
	if (on[FEATURE_split_rule])
		text_add(out, "  layer.down : ffn -> whole\n");
	if (on[FEATURE_context])
		text_add(out, "  context over cp\n");
	if (on[FEATURE_expert])
		text_add(out, "  expert over ep\n");
	add_pipeline(mix, out, arena);
	text_add(out, "}\n");
}

static const struct types_of {
	enum feature of;
	const char *name, *compute, *params, *gradients, *optimizer, *loss;
	const char *stochastic;
} types[] = {
#define PRESET(name, compute, params, gradients, optimizer, loss, stochastic)                      \
	{FEATURE_##name, #name, compute, params, gradients, optimizer, loss, #stochastic},
#include "plan/resolve/presets.def"
#undef PRESET
};

/* A wire of another type than what it carries. */
static const char *wire(const char *carried)
{
	return strcmp(carried, "fp32") ? "fp32" : "bf16";
}

static void add_precision(const struct mix *mix, struct text *out)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const struct types_of *t = &types[i];

		if (!mix->on[t->of])
			continue;
		if (!mix->on[FEATURE_gradient_wire] && !mix->on[FEATURE_partial_wire]) {
			text_add(out, "precision = %s\n", t->name);
			continue;
		}
		text_add(out, "precision {\n  compute = %s, params = %s, gradients = %s\n",
			 t->compute, t->params, t->gradients);
		text_add(out, "  optimizer = %s, loss = %s, stochastic_rounding = %s\n",
			 t->optimizer, t->loss, t->stochastic);
		if (mix->on[FEATURE_gradient_wire])
			text_add(out, "  gradient_wire = %s\n", wire(t->gradients));
		if (mix->on[FEATURE_partial_wire])
			text_add(out, "  partial_wire = %s\n", wire(t->compute));
		text_add(out, "}\n");
	}
}

static void add_memory(const struct mix *mix, struct text *out)
{
	const char *stage = mix->on[FEATURE_recompute_stages] ? " on stage 0..1" : "";

	text_add(out, "memory {\n");
	if (mix->on[FEATURE_recompute_block])
		text_add(out, "  recompute = block%s\n", stage);
	if (mix->on[FEATURE_recompute_selective])
		text_add(out, "  recompute = selective(mlp)%s\n", stage);
	if (mix->on[FEATURE_stored])
		text_add(out, "  attention = stored\n");
	text_add(out, "}\n");
}

static void add_model(const struct mix *mix, struct text *out)
{
	text_add(out, "model small : third {\n  layers = 8, embed = 16, heads = 4, kv_heads = 2\n"
		      "  ffn = 32, context = 16\n");
	text_add(out, "  vocab = %d, dropout = %d %%, tied_embeddings = %s\n",
		 mix->on[FEATURE_padding] ? 60 : 64, mix->on[FEATURE_dropout] ? 10 : 0,
		 mix->on[FEATURE_tied] ? "true" : "false");
	if (mix->on[FEATURE_padding])
		text_add(out, "  vocab_pad_to = 16\n");
	text_add(out, "}\n");
}

static void add_train(const struct mix *mix, struct text *out)
{
	text_add(out, "train {\n  seq_len = 16 tokens\n  global_batch = 32 seq\n"
		      "  micro_batch = 1 seq\n  steps = 2\n  seed = 1\n"
		      "  optimizer = adamw { lr = 1e-3, weight_decay = 0.1 }\n"
		      "  data = tokens(\"data.bin\")\n");
	if (mix->on[FEATURE_lanes])
		text_add(out, "  lanes = 8\n");
	if (mix->on[FEATURE_clip])
		text_add(out, "  clip = 1.0\n");
	if (mix->on[FEATURE_generated])
		text_add(out, "  kernels = generated\n");
	if (mix->on[FEATURE_validation])
		text_add(out, "  validate { every = 1, share = 10 %% }\n");
	text_add(out, "}\n");
	if (mix->on[FEATURE_checkpoint])
		text_add(out, "checkpoint { every = 1, dir = \"saved\" }\n");
}

static const char *plan_text(const struct mix *mix, struct arena *arena)
{
	struct text out = text_new(arena);

	text_add(&out, "plan pair\nedition 1\n\nallow W0506\n");
	text_add(&out, "import cpu from \"std/devices/cpu.plan\"\n"
		       "import nvidia from \"std/devices/nvidia.plan\"\n");
	text_add(&out, "%s", architecture);
	add_mesh(mix, &out);
	add_model(mix, &out);
	add_precision(mix, &out);
	add_split(mix, &out, arena);
	add_memory(mix, &out);
	add_train(mix, &out);
	return out.at;
}

/* ---- planc's answer -------------------------------------------------------------------------- */

static const struct source *no_import(void *self, const char *path, struct work *work)
{
	(void)self;
	(void)path;
	(void)work;
	return NULL;
}

struct said {
	bool good, noted, emitted;
	bool has[FEATURES];
	bool code[DIAG_CODES];
	const char *text; /* the diagnostics */
};

static void emit(struct compiled *c, struct work *work, struct said *said)
{
	struct artifacts artifacts = {0};

	work->check_only = false;
	said->emitted = emit_build(c->plan, &c->layout, &c->verdict, work, &artifacts);
}

static struct said compile_mix(const struct mix *mix, struct arena *keep)
{
	struct arena *scratch = arena_new();
	struct work work = {.keep = keep, .scratch = scratch, .check_only = true};
	struct plan_options options = {.read = no_import};
	struct compile_options how = {.verify = true};
	const char *text = plan_text(mix, keep);
	struct said said = {0};
	struct text messages = text_new(keep);
	struct compiled c;
	struct span where;

	work.names = names_new(keep);
	work.sources = sources_new(keep);
	work.diags = diags_new(keep, work.sources);
	said.good = compile(sources_add(work.sources, "pair.plan", text, strlen(text), false),
			    &options, &how, &c, &work);
	for (uint32_t i = 0; i < work.diags->all.n; i++)
		said.code[work.diags->all.at[i]->code] = true;
	for (enum feature f = 0; f < FEATURES; f++)
		said.has[f] = c.plan && feature_in(c.plan, f, &where);
	if (said.good && !said.code[N0901] && c.judged)
		emit(&c, &work, &said);
	diags_short(work.diags, (struct diag_style){false, 0}, &messages);
	said.text = messages.length ? messages.at : "";
	arena_delete(scratch);
	return said;
}

static void blame(const struct mix *mix, enum feature a, enum feature b, const char *what,
		  const struct said *said, struct arena *arena)
{
	fprintf(stderr, "%s with %s: %s\n%s", feature_written(a), feature_written(b), what,
		said->text);
	if (!check_failures)
		fprintf(stderr, "---- the plan\n%s----\n", plan_text(mix, arena));
	check_failures++;
}

/* The answer for a plan with both: the pair's, or that of the one that is not in this version. */
static struct combination expected(enum feature a, enum feature b)
{
	struct combination is = combination_of(a, b);
	enum feature alone[] = {a, b};

	for (int i = 0; i < 2; i++)
		if (is.answer == ANSWER_WORKS &&
		    combination_of(alone[i], alone[i]).answer == ANSWER_LATER)
			is = combination_of(alone[i], alone[i]);
	return is;
}

static void check_pair(enum feature a, enum feature b)
{
	struct arena *arena = arena_new();
	struct mix mix = {0};
	struct combination is = expected(a, b);
	struct said said;

	mix.on[b] = mix.on[a] = true;
	complete(&mix);
	said = compile_mix(&mix, arena);
	if (is.answer == ANSWER_EITHER && said.good && said.has[a] && said.has[b])
		blame(&mix, a, b, "a plan has both", &said, arena);
	if (is.answer != ANSWER_EITHER && !(said.has[a] && said.has[b]))
		blame(&mix, a, b, "the plan does not have them", &said, arena);
	if (is.answer == ANSWER_WORKS && !(said.good && said.emitted))
		blame(&mix, a, b, "does not work", &said, arena);
	if (is.answer == ANSWER_REFUSED && (said.good || !said.code[is.code]))
		blame(&mix, a, b, "is not refused as the table says", &said, arena);
	if (is.answer == ANSWER_LATER && !said.code[N0901] && !said.code[E0901])
		blame(&mix, a, b, "is not checked only", &said, arena);
	arena_delete(arena);
}

/* Without what it needs. */
static void check_need(enum feature a)
{
	struct arena *arena = arena_new();
	struct mix mix = {0};
	enum diag_code code;
	enum feature other = feature_needs(a, &code);
	struct said said;

	if (other != FEATURES) {
		mix.on[a] = true;
		complete(&mix);
		mix.on[other] = false;
		said = compile_mix(&mix, arena);
		if (said.good || !said.code[code])
			blame(&mix, a, other, "is not refused alone", &said, arena);
	}
	arena_delete(arena);
}

int main(void)
{
	int pairs = 0;

	for (enum feature a = 0; a < FEATURES; a++) {
		check_need(a);
		for (enum feature b = 0; b <= a; b++, pairs++)
			check_pair(a, b);
	}
	printf("%d pairs of %d features\n", pairs, (int)FEATURES);
	return check_done();
}
