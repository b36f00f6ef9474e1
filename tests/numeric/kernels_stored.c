/* SPDX-License-Identifier: Apache-2.0 */
/* Attention that stores its probabilities: each stage against the plain formula on what the stage
 * before it left, gradients against differences, all against attention that stores nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_rand.h"
#include "device/cpu/cpu_kernels.h"
#include "harness.h"

enum { Q, K, V, OUT, SCORES, PROBABILITIES, DROPPED, DOUT, DQ, DK, DV, ARRAYS };

struct attention {
	int64_t batch, tokens, heads, kv_heads, head;
	bool causal;
	double dropout;
	struct array array[ARRAYS], control;
	uint8_t *mask;
	int64_t squares; /* elements of probabilities */
};

static void attention_start(struct attention *a)
{
	int64_t q = a->batch * a->tokens * a->heads * a->head;
	int64_t kv = a->batch * a->tokens * a->kv_heads * a->head;
	int64_t s = a->squares = a->batch * a->tokens * a->heads * a->tokens;
	int64_t counts[ARRAYS] = {q, kv, kv, q, s, s, s, q, q, kv, kv};
	for (int i = 0; i < ARRAYS; i++)
		a->array[i] = array_random(counts[i]);
	for (int64_t i = 0; i < q; i++)
		a->array[Q].value[i] *= 4;
	a->control = array_control();
	a->mask = malloc((size_t)s);
}

static void attention_free(struct attention *a)
{
	for (int i = 0; i < ARRAYS; i++) {
		free(a->array[i].value);
		free(a->array[i].start);
	}
	free(a->control.value);
	free(a->control.start);
	free(a->mask);
}

static struct rt_attend_stored_backward arguments(const struct attention *a, enum rt_type type,
						  void *const *at, const double *control)
{
	return (struct rt_attend_stored_backward){
		.forward =
			{
				.attend =
					{
						.type = type,
						.batch = a->batch,
						.tokens = a->tokens,
						.heads = a->heads,
						.kv_heads = a->kv_heads,
						.head = a->head,
						.scale = 1 / sqrt((double)a->head),
						.dropout = a->dropout,
						.stream_id = 4,
						.causal = a->causal,
						.q = at[Q],
						.k = at[K],
						.v = at[V],
						.control = control,
						.out = at[OUT],
					},
				.scores = at[SCORES],
				.probabilities = at[PROBABILITIES],
				.dropped = a->dropout > 0 ? at[DROPPED] : NULL,
				.mask = a->dropout > 0 ? a->mask : NULL,
			},
		.dout = at[DOUT],
		.dq = at[DQ],
		.dk = at[DK],
		.dv = at[DV],
	};
}

/* Forward, and backward too if `both`; the results are left in the arrays. */
static void attention_run(struct attention *a, enum rt_type type, struct rt_device *device,
			  bool both)
{
	void *at[ARRAYS];
	double *control = array_pack(&a->control, type, a->control.value);
	for (int i = 0; i < ARRAYS; i++)
		at[i] = array_pack(&a->array[i], type, a->array[i].value);
	memset(a->mask, 0xff, (size_t)a->squares);
	struct rt_attend_stored_backward args = arguments(a, type, at, control);
	if (device->ops->attend_stored_forward(device, 0, &args.forward) != 0)
		fail("attend_stored: %s", device->fault);
	args.forward.scores = NULL;
	if (both && device->ops->attend_stored_backward(device, 0, &args) != 0)
		fail("attend_stored: %s", device->fault);
	for (int i = OUT; i < ARRAYS; i++)
		if (i != DOUT && (both || i < DOUT))
			array_unpack(&a->array[i], type, at[i]);
	for (int i = 0; i < ARRAYS; i++)
		free(at[i]);
	free(control);
}

/* ---- stages --------------------------------------------------------------------------------- */

struct row {
	const struct attention *a;
	int64_t sample, query, head, kv_head;
	int64_t keys, at; /* keys that the query sees; first element of the row of probabilities */
};

static struct row row_of(const struct attention *a, int64_t i)
{
	struct row r = {.a = a, .head = i % a->heads, .query = i / a->heads % a->tokens};
	r.sample = i / a->heads / a->tokens;
	r.kv_head = r.head / (a->heads / a->kv_heads);
	r.keys = a->causal ? r.query + 1 : a->tokens;
	r.at = i * a->tokens;
	return r;
}

static const double *key_of(const struct row *r, int which, int64_t key)
{
	const struct attention *a = r->a;
	return a->array[which].value +
	       ((r->sample * a->tokens + key) * a->kv_heads + r->kv_head) * a->head;
}

static bool kept(const struct row *r, int64_t key)
{
	struct rt_rand from = {7, RT_RANDOM_DROPOUT, 5, 4};
	const struct attention *a = r->a;
	int64_t head = (3 + r->sample) * a->heads + r->head;
	int64_t element = (head * a->tokens + r->query) * a->tokens + key;
	return rt_rand_word(&from, (uint64_t)element) >= (uint32_t)(a->dropout * 0x1p32);
}

static void check_scores(const struct row *r, double tolerance)
{
	const struct attention *a = r->a;
	const double *q = a->array[Q].value + r->at / a->tokens * a->head;
	for (int64_t key = 0; key < a->tokens; key++) {
		double dot = key < r->keys ? 0 : -INFINITY;
		for (int64_t d = 0; key < r->keys && d < a->head; d++)
			dot += q[d] * key_of(r, K, key)[d];
		dot /= sqrt((double)a->head);
		compare("scores", 1, a->array[SCORES].value + r->at + key, &dot, tolerance);
	}
}

static void check_probabilities(const struct row *r, double tolerance)
{
	const struct attention *a = r->a;
	const double *scores = a->array[SCORES].value + r->at;
	double most = -INFINITY, sum = 0;
	for (int64_t key = 0; key < r->keys; key++)
		most = fmax(most, scores[key]);
	for (int64_t key = 0; key < r->keys; key++)
		sum += exp(scores[key] - most);
	for (int64_t key = 0; key < a->tokens; key++) {
		double want = key < r->keys ? exp(scores[key] - most) / sum : 0;
		compare("probabilities", 1, a->array[PROBABILITIES].value + r->at + key, &want,
			key < r->keys ? tolerance : 0);
	}
}

static void check_dropped(const struct row *r, double tolerance)
{
	const struct attention *a = r->a;
	for (int64_t key = 0; a->dropout > 0 && key < a->tokens; key++) {
		bool keep = key < r->keys && kept(r, key);
		double want = keep ? a->array[PROBABILITIES].value[r->at + key] / (1 - a->dropout)
				   : 0;
		compare("dropped", 1, a->array[DROPPED].value + r->at + key, &want,
			keep ? tolerance : 0);
		if (a->mask[r->at + key] != keep)
			fail("attend_stored: mask %d of query %lld, key %lld",
			     a->mask[r->at + key], (long long)r->query, (long long)key);
	}
}

static void check_out(const struct row *r, double tolerance)
{
	const struct attention *a = r->a;
	const double *weights =
		a->array[a->dropout > 0 ? DROPPED : PROBABILITIES].value + r->at;
	for (int64_t d = 0; d < a->head; d++) {
		double sum = 0;
		for (int64_t key = 0; key < r->keys; key++)
			sum += weights[key] * key_of(r, V, key)[d];
		compare("out", 1, a->array[OUT].value + r->at / a->tokens * a->head + d, &sum,
			tolerance);
	}
}

/* Numbers that the type can hold. */
static void round_inputs(struct attention *a)
{
	for (int i = Q; i < ARRAYS; i++)
		for (int64_t j = 0; j < a->array[i].count; j++)
			a->array[i].value[j] = round_bf16(a->array[i].value[j]);
}

static const struct attention cases[] = {
	{.batch = 1, .tokens = 1, .heads = 1, .kv_heads = 1, .head = 1, .causal = true},
	{.batch = 2, .tokens = 17, .heads = 4, .kv_heads = 2, .head = 5, .causal = true},
	{.batch = 1, .tokens = 65, .heads = 3, .kv_heads = 1, .head = 32, .causal = true},
	{.batch = 1, .tokens = 70, .heads = 2, .kv_heads = 2, .head = 17, .causal = false},
	{.batch = 2,
	 .tokens = 33,
	 .heads = 2,
	 .kv_heads = 1,
	 .head = 8,
	 .causal = true,
	 .dropout = 0.3},
	{.batch = 1, .tokens = 40, .heads = 2, .kv_heads = 2, .head = 6, .dropout = 0.5},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

static void check_stages(struct attention *a, enum rt_type type, double tolerance)
{
	attention_run(a, type, devices[1], false);
	for (int64_t i = 0; i < a->batch * a->tokens * a->heads; i++) {
		struct row r = row_of(a, i);
		check_scores(&r, tolerance);
		check_probabilities(&r, tolerance);
		check_dropped(&r, tolerance);
		check_out(&r, tolerance);
	}
}

/* Nothing is dropped outside training. */
static void check_whole(struct attention *a)
{
	a->control.value[RT_CONTROL_TRAINING] = 0;
	attention_run(a, RT_F64, devices[0], false);
	for (int64_t i = 0; a->dropout > 0 && i < a->squares; i++)
		if (a->array[DROPPED].value[i] != a->array[PROBABILITIES].value[i])
			fail("attend_stored: element %lld is dropped outside training",
			     (long long)i);
	a->control.value[RT_CONTROL_TRAINING] = 1;
}

void test_attend_stored_forward(void)
{
	for (int i = 0; i < CASES; i++) {
		struct attention a = cases[i];
		attention_start(&a);
		check_stages(&a, RT_F32, 5e-6);
		check_stages(&a, RT_F64, 1e-12);
		check_whole(&a);
		round_inputs(&a);
		check_stages(&a, RT_BF16, 0x1p-8);
		attention_free(&a);
	}
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* All results, bit for bit, with any threads and instructions. */
static void check_bits(struct attention *a, enum rt_type type)
{
	double *first[ARRAYS];
	attention_run(a, type, devices[0], true);
	for (int i = OUT; i < ARRAYS; i++) {
		first[i] = malloc((size_t)a->array[i].count * sizeof(double));
		memcpy(first[i], a->array[i].value, (size_t)a->array[i].count * sizeof(double));
	}
	for (int d = 0; d < DEVICES; d++) {
		cpu_isa_limit((enum cpu_isa)d);
		attention_run(a, type, devices[d], true);
		for (int i = OUT; i < ARRAYS; i++)
			if (memcmp(first[i], a->array[i].value,
				   (size_t)a->array[i].count * sizeof(double)) != 0)
				fail("attend_stored: other bits of array %d with other threads or "
				     "instructions",
				     i);
	}
	cpu_isa_limit(CPU_ISA_AVX512);
	for (int i = OUT; i < ARRAYS; i++)
		free(first[i]);
}

static double weighted(struct attention *a)
{
	double sum = 0;
	attention_run(a, RT_F64, devices[0], false);
	for (int64_t i = 0; i < a->array[OUT].count; i++)
		sum += a->array[OUT].value[i] * a->array[DOUT].value[i];
	return sum;
}

/* Up to 40 elements of a gradient, spread over it. */
static void check_difference(struct attention *a, int by, int gradient)
{
	struct array *x = &a->array[by];
	int64_t stride = x->count / 40 + 1;
	for (int64_t i = 0; i < x->count; i += stride) {
		double here = x->value[i], high, low, got = a->array[gradient].value[i];
		x->value[i] = here + 1e-5;
		high = weighted(a);
		x->value[i] = here - 1e-5;
		low = weighted(a);
		x->value[i] = here;
		double want = (high - low) / 2e-5;
		compare(by == Q	  ? "attend_stored dq"
			: by == K ? "attend_stored dk"
				  : "attend_stored dv",
			1, &got, &want, 1e-7);
	}
}

/* Results of a narrower type near those of fp64 on the same inputs. */
static void check_narrow(struct attention *a, enum rt_type type, double tolerance)
{
	double *wide[ARRAYS];
	attention_run(a, RT_F64, devices[0], true);
	for (int i = DQ; i < ARRAYS; i++) {
		wide[i] = malloc((size_t)a->array[i].count * sizeof(double));
		memcpy(wide[i], a->array[i].value, (size_t)a->array[i].count * sizeof(double));
	}
	attention_run(a, type, devices[2], true);
	for (int i = DQ; i < ARRAYS; i++) {
		compare("attend_stored_backward", a->array[i].count, a->array[i].value, wide[i],
			tolerance);
		free(wide[i]);
	}
}

/* The same function as attention that stores nothing. */
static void check_tiled(struct attention *a)
{
	void *at[ARRAYS];
	double *control = array_pack(&a->control, RT_F64, a->control.value);
	double *lse = malloc((size_t)(a->batch * a->heads * a->tokens) * sizeof(double));
	attention_run(a, RT_F64, devices[0], true);
	for (int i = 0; i < ARRAYS; i++)
		at[i] = array_pack(&a->array[i], RT_F64, a->array[i].value);
	struct rt_attend_stored_backward stored = arguments(a, RT_F64, at, control);
	struct rt_attend_backward tiled = {.forward = stored.forward.attend,
					   .dout = stored.dout,
					   .dq = stored.dq,
					   .dk = stored.dk,
					   .dv = stored.dv};
	tiled.forward.lse = lse;
	if (devices[0]->ops->attend_forward(devices[0], 0, &tiled.forward) != 0 ||
	    devices[0]->ops->attend_backward(devices[0], 0, &tiled) != 0)
		fail("attend: %s", devices[0]->fault);
	for (int i = OUT; i < ARRAYS; i++)
		if (i == OUT || i >= DQ)
			compare("stored and tiled", a->array[i].count, a->array[i].value, at[i],
				1e-12);
	for (int i = 0; i < ARRAYS; i++)
		free(at[i]);
	free(control);
	free(lse);
}

void test_attend_stored_backward(void)
{
	for (int i = 0; i < CASES; i++) {
		struct attention a = cases[i];
		attention_start(&a);
		check_bits(&a, RT_F32);
		check_bits(&a, RT_F64);
		check_difference(&a, Q, DQ);
		check_difference(&a, K, DK);
		check_difference(&a, V, DV);
		check_tiled(&a);
		check_narrow(&a, RT_F32, 1e-5);
		round_inputs(&a);
		check_bits(&a, RT_BF16);
		check_narrow(&a, RT_BF16, 0x1p-4);
		attention_free(&a);
	}
}
