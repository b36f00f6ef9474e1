/* SPDX-License-Identifier: Apache-2.0 */
/* combine SEED COUNT: random combinations of every strategy with every other, with sizes that fit
 * and sizes that do not: 1, primes, near 2^63. Half of the plans keep all sizes in step but one,
 * half ("wild") draw several alone. Each is checked: no crash, no second of work, every error at a
 * place in the plan, three at most where one thing is wrong. What is accepted is a program: all
 * representations verified, and C. */
#include "../mutate/whole.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "base/bug.h"

enum { MOST_ERRORS = 3, SHOWN = 5 };

static uint64_t state;

static uint32_t below(uint32_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

#define PICK(list) ((list)[below(sizeof(list) / sizeof *(list))])

/* ---- knobs --------------------------------------------------------------------------------- */

enum knob {
	DP, REPLICAS, TP, PP, LAYERS, CHUNKS, HEADS, KV_HEADS, FFN, VOCAB, PAD, COPIES, TOKENS,
	MICRO, BATCHES, LANES, STAGE, PREFETCH, DEVICES, KNOBS
};

struct mix {
	long long at[KNOBS];
	enum family { GPT, LLAMA, RING, FAMILIES } family;
	bool zero, sequence, pipeline, swapped;
	const char *zero_over, *schedule, *layers, *reduce, *gather, *dims, *rule, *recompute,
		*attention, *precision;
};

static const long long odd_sizes[] = {
	0,  1,	2,    3,	  5,	      7,	  16,	      17,	  -1,
	64, 1009, 1000000007, 2147483647, 2147483648, 4294967295, 4294967296,
	4611686018427387904, 9223372036854775807};

static void draw_sizes(struct mix *m)
{
	static const int small[] = {1, 1, 2, 2, 2, 3, 4};
	static const int stages[] = {1, 2, 2, 3, 4};
	static const int tiny[] = {1, 1, 2, 3, 5};
	long long *at = m->at;

	at[DP] = PICK(small);
	at[REPLICAS] = one_in(3) ? 2 : 1;
	at[TP] = PICK(small);
	at[PP] = m->pipeline ? PICK(stages) : 1;
	at[CHUNKS] = at[PP] > 1 && one_in(3) ? 2 : 1;
	at[LAYERS] = at[PP] * at[CHUNKS] * PICK(tiny);
	at[HEADS] = at[TP] * PICK(small);
	at[COPIES] = m->family == LLAMA && at[TP] % 2 == 0 && one_in(3) ? 2 : 1;
	at[KV_HEADS] = at[COPIES] > 1 ? at[TP] / at[COPIES] : at[HEADS];
	if (at[COPIES] > 1 && at[HEADS] == at[KV_HEADS])
		at[HEADS] *= 2;
	at[FFN] = at[TP] * PICK(tiny);
	at[VOCAB] = 256 + below(4);
	at[PAD] = at[TP] * PICK(small);
	at[TOKENS] = at[TP] * PICK(tiny) + at[TP];
	at[MICRO] = PICK(tiny);
	at[BATCHES] = PICK(small) * PICK(small);
	at[LANES] = at[DP] * at[REPLICAS] * (at[BATCHES] % 2 == 0 && one_in(3) ? 2 : 1);
	at[STAGE] = 1 + below(3);
	at[PREFETCH] = below(4);
	at[DEVICES] = at[DP] * at[REPLICAS] * at[TP] * at[PP];
}

static void draw_words(struct mix *m)
{
	static const char *const over[] = {"dp", "dp * replicas", "dp"};
	static const char *const reduce[] = {"", "reduce = step", "reduce = micro_batch"};
	static const char *const gather[] = {"", "gather = use,", "gather = step,"};
	static const char *const dims[FAMILIES][4] = {
		{"", "", " dims [heads, ffn]", " dims [vocab]"},
		{"", "", "", " dims [heads, kv_heads, ffn]"},
		{"", "", " dims [b]", " dims [d, v]"}};
	static const char *const rules[FAMILIES][4] = {
		{"", "", "", "layer.mlp.c_proj : ffn -> whole"},
		{"", "", "layer.mlp.up_proj : ffn -> whole", "model.embed_tokens : vocab -> whole"},
		{"", "", "layer.down : d -> whole", "gate : d -> whole"}};
	static const char *const recompute[] = {"none", "block", "selective(mlp)",
						"selective(attention.core, mlp)",
						"block on stage 0", "none on stage 0"};
	static const char *const precision[] = {
		"precision = fp32", "precision = fp64", "precision = mixed_bf16",
		"precision = mixed_bf16_16b", "precision = pure_bf16",
		"precision {\n  compute = bf16, params = bf16, gradients = fp32\n"
		"  gradient_wire = bf16, partial_wire = fp32, optimizer = fp32, loss = fp32\n}"};

	m->zero_over = PICK(over);
	m->schedule = m->at[CHUNKS] > 1 ? "interleaved_1f1b" : one_in(2) ? "1f1b" : "gpipe";
	m->layers = one_in(2) ? "even" : "spread";
	m->reduce = PICK(reduce);
	m->gather = PICK(gather);
	m->dims = PICK(dims[m->family]);
	m->rule = m->dims[0] ? "" : PICK(rules[m->family]);
	if (m->dims[0] && m->at[COPIES] > 1)
		m->dims = "";
	m->recompute = PICK(recompute);
	m->attention = one_in(2) ? "tiled" : "stored";
	m->precision = PICK(precision);
}

/* What follows from the axes. */
static void settle(struct mix *m)
{
	long long ranks, devices;

	if (__builtin_mul_overflow(m->at[DP], m->at[REPLICAS], &ranks) || m->at[LANES] == 0)
		return;
	m->at[LANES] = ranks;
	if (!__builtin_mul_overflow(ranks, m->at[TP], &devices) &&
	    !__builtin_mul_overflow(devices, m->at[PP], &devices))
		m->at[DEVICES] = devices;
}

static struct mix draw(bool wild)
{
	struct mix m = {.zero = one_in(2), .pipeline = one_in(2)};

	m.family = (enum family)below(FAMILIES);
	m.swapped = one_in(3);
	draw_sizes(&m);
	m.sequence = m.at[TP] > 1 && one_in(2);
	draw_words(&m);
	for (int knob = 0; wild && knob < KNOBS; knob++)
		if (one_in(6))
			m.at[knob] = PICK(odd_sizes);
	if (!wild && !one_in(4))
		m.at[below(KNOBS)] = PICK(odd_sizes);
	if (one_in(2))
		settle(&m);
	if (wild && one_in(4))
		m.zero_over = one_in(2) ? "tp" : "pp * dp";
	if (wild && one_in(4))
		m.layers = one_in(2) ? "[1, 2]" : "[1, 1, 1]";
	if (wild && one_in(4))
		m.schedule = one_in(2) ? "interleaved_1f1b" : "gpipe";
	if (wild && one_in(4))
		m.recompute = one_in(2) ? "block on stage 1..7" : "selective(nothing)";
	return m;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Of no known family: tensors pass by its layers, a table is used twice. */
static const char ring[] =
	"architecture ring {\n"
	"  size { n, a, b, c = a / b, d, v }\n"
	"  tensor dims [b, d, v]\n"
	"  e = lookup(tokens, v -> a) as \"table\"\n"
	"  s = rmsnorm(e, eps = 1e-5) as \"first_norm\"\n"
	"  g = linear(s, a -> d) as \"gate\"\n"
	"  x = e\n"
	"  repeat n as \"ring.{layer}\" {\n"
	"    attention {\n"
	"      h = rmsnorm(x, eps = 1e-5) as \"norm\"\n"
	"      q = linear(h, a -> [b, c]) as \"ask\"\n"
	"      k = linear(h, a -> [b, c]) as \"offer\"\n"
	"      t = linear(h, a -> [b, c], bias = true) as \"hand\"\n"
	"      core { o = attend(q, k, t, mask = causal) }\n"
	"      x = x + linear(o, [b, c] -> a) as \"join\"\n"
	"    }\n"
	"    mlp { x = x + linear(gelu(linear(x, a -> d) as \"up\"), d -> a) as \"down\" }\n"
	"  }\n"
	"  x    = x * s + e + linear(silu(g), d -> a) as \"skip\"\n"
	"  loss = cross_entropy(linear(x, a -> v) tied \"table\", targets)\n"
	"}\n";

static void put_ring(struct text *out, const struct mix *m)
{
	const long long *at = m->at;

	text_add(out, "%smodel m : ring {\n  n = %lld\n  a = 4 * %lld\n  b = %lld\n", ring,
		 at[LAYERS], at[HEADS], at[HEADS]);
	text_add(out, "  d = %lld\n  v = %lld\n  vocab_pad_to = %lld\n}\n", at[FFN], at[VOCAB],
		 at[PAD]);
}

static void put_known(struct text *out, const struct mix *m)
{
	const long long *at = m->at;

	text_add(out, "model m : arch.%s {\n  layers = %lld\n", m->family == GPT ? "gpt" : "llama",
		 at[LAYERS]);
	text_add(out, "  embed = 4 * %lld\n  heads = %lld\n  ffn = %lld\n", at[HEADS], at[HEADS],
		 at[FFN]);
	text_add(out, "  vocab = %lld\n  vocab_pad_to = %lld\n  context = 64, norm_eps = 1e-5\n",
		 at[VOCAB], at[PAD]);
	if (m->family == GPT)
		text_add(out, "  dropout = 0 %%\n");
	else
		text_add(out, "  kv_heads = %lld, rope_base = 10_000\n", at[KV_HEADS]);
	text_add(out, "  tied_embeddings = %s\n}\n", m->swapped ? "true" : "false");
}

static void put_split(struct text *out, const struct mix *m)
{
	const long long *at = m->at;

	text_add(out, "split {\n  data over dp * replicas { %s }\n", m->reduce);
	if (m->zero)
		text_add(out, "  zero %lld over %s { %s prefetch = %lld }\n", at[STAGE],
			 m->zero_over, m->gather, at[PREFETCH]);
	text_add(out, "  tensor over tp%s", m->dims);
	if (m->family == LLAMA && at[COPIES] != 1)
		text_add(out, " { kv_heads = replicate(%lld) }", at[COPIES]);
	text_add(out, "\n");
	if (m->sequence)
		text_add(out, "  sequence over tp\n");
	if (m->pipeline)
		text_add(out, "  pipeline over pp { schedule = %s, chunks = %lld, layers = %s }\n",
			 m->schedule, at[CHUNKS], m->layers);
	if (m->rule[0])
		text_add(out, "  %s\n", m->rule);
	text_add(out, "}\n");
}

static void put(struct text *out, const struct mix *m)
{
	const long long *at = m->at;

	text_add(out, "plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		      "import arch from \"std/architectures.plan\"\nallow W0506\n"
		      "cluster c { node { devices = %lld of cpu.core { memory = 4096 TiB } } }\n",
		 at[DEVICES]);
	if (m->swapped)
		text_add(out, "mesh { dp = %lld, tp = %lld, pp = %lld, replicas = %lld }\n",
			 at[DP], at[TP], at[PP], at[REPLICAS]);
	else
		text_add(out, "mesh { pp = %lld, dp = %lld, replicas = %lld, tp = %lld }\n",
			 at[PP], at[DP], at[REPLICAS], at[TP]);
	if (m->family == RING)
		put_ring(out, m);
	else
		put_known(out, m);
	text_add(out, "%s\n", m->precision);
	put_split(out, m);
	text_add(out, "memory { recompute = %s, attention = %s }\n", m->recompute, m->attention);
	text_add(out, "train {\n  seq_len = %lld tokens\n  micro_batch = %lld seq\n"
		      "  micro_batches = %lld\n  lanes = %lld\n  steps = 2, seed = 1\n"
		      "  optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n"
		      "  data = bytes(\"x\")\n}\n",
		 at[TOKENS], at[MICRO], at[BATCHES], at[LANES]);
}

/* ---- judging ------------------------------------------------------------------------------- */

static struct whole whole;
static const char *now;

static void say_now(void)
{
	fputs(now, stderr);
}

static bool has(enum diag_code code)
{
	const struct diags *diags = whole.work.diags;

	for (uint32_t i = 0; i < diags->all.n; i++)
		if (diags->all.at[i]->code == code)
			return true;
	return false;
}

static bool placed(void)
{
	const struct diags *diags = whole.work.diags;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		const struct diag *diag = diags->all.at[i];
		const struct source *in = sources_find(whole.work.sources, diag->span.lo);

		if (diag->level != LEVEL_NOTE && (!diag->span.lo || !in || in->built_in))
			return false;
	}
	return true;
}

static const char *fault_of(bool wild, double seconds)
{
	const struct diags *diags = whole.work.diags;

	if (seconds > 1)
		return "more than a second";
	if (!placed())
		return "a message without a place in the plan";
	if (!wild && diags->errors > MOST_ERRORS)
		return "too many errors for one mistake";
	if (!diags->errors && !has(N0901) && !whole.compiled.judged)
		return "accepted, and not worked out to its end";
	if (!diags->errors && has(N0901))
		return "accepted by `check` alone";
	return NULL;
}

static struct {
	uint32_t tried, accepted, codes[DIAG_CODES];
	double slowest;
} tally;

static void count(double seconds)
{
	const struct diags *diags = whole.work.diags;

	tally.tried++;
	tally.accepted += !diags->errors;
	for (uint32_t i = 0; i < diags->all.n; i++)
		tally.codes[diags->all.at[i]->code]++;
	if (seconds > tally.slowest)
		tally.slowest = seconds;
}

static void try_one(uint64_t seed)
{
	struct arena *arena = arena_new();
	struct text text = text_new(arena);
	bool wild = seed % 2;
	struct mix mix;
	clock_t start;
	double seconds;
	const char *fault;

	state = seed;
	mix = draw(wild);
	put(&text, &mix);
	now = text.at;
	alarm(60);
	start = clock();
	whole_check(&whole, "p.plan", text.at, text.length);
	seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	alarm(0);
	count(seconds);
	fault = fault_of(wild, seconds);
	if (fault && check_failures++ < SHOWN)
		fprintf(stderr, "seed %llu: %s (%.2f s)\n%s\n%s\n", (unsigned long long)seed, fault,
			seconds, text.at, whole_messages(&whole));
	arena_delete(arena);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (!n) {
		fputs("usage: combine SEED COUNT\n", stderr);
		return 2;
	}
	bug_hook(say_now);
	whole_open(&whole);
	for (uint64_t i = 0; i < n; i++)
		try_one(seed + i);
	printf("%u plans, %u accepted, slowest %.3f s\n", tally.tried, tally.accepted,
	       tally.slowest);
	for (int code = 0; code < DIAG_CODES; code++)
		if (tally.codes[code])
			printf("%s %u\n", diag_row((enum diag_code)code)->code, tally.codes[code]);
	CHECK(tally.accepted * 5 >= tally.tried);
	whole_close(&whole);
	return check_done();
}
