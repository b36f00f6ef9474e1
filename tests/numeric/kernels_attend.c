/* SPDX-License-Identifier: Apache-2.0 */
/* Attention against the plain formula, and its gradients against differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_rand.h"
#include "device/cpu/cpu_kernels.h"
#include "harness.h"

enum { Q, K, V, OUT, LSE, DOUT, DQ, DK, DV, ARRAYS };

struct attention {
	int64_t batch, tokens, heads, kv_heads, head;
	bool causal;
	double dropout;
	int64_t first_head, all_heads;
	struct array array[ARRAYS], control;
};

static void attention_start(struct attention *a)
{
	int64_t q = a->batch * a->tokens * a->heads * a->head;
	int64_t kv = a->batch * a->tokens * a->kv_heads * a->head;
	int64_t lse = a->batch * a->heads * a->tokens;
	int64_t counts[ARRAYS] = {q, kv, kv, q, lse, q, q, kv, kv};
	for (int i = 0; i < ARRAYS; i++)
		a->array[i] = array_random(counts[i]);
	for (int64_t i = 0; i < q; i++)
		a->array[Q].value[i] *= 4;
	a->array[LSE].kind = KIND_S;
	a->control = array_control();
}

static void attention_free(struct attention *a)
{
	for (int i = 0; i < ARRAYS; i++) {
		free(a->array[i].value);
		free(a->array[i].start);
	}
	free(a->control.value);
	free(a->control.start);
}

struct typed {
	void *array[ARRAYS];
	double *control;
	struct rt_attend_backward args;
};

static void typed_start(struct typed *t, const struct attention *a, enum rt_type type)
{
	for (int i = 0; i < ARRAYS; i++)
		t->array[i] = array_pack(&a->array[i], type, a->array[i].value);
	t->control = array_pack(&a->control, type, a->control.value);
	t->args = (struct rt_attend_backward){
		.forward =
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
				.q = t->array[Q],
				.k = t->array[K],
				.v = t->array[V],
				.control = t->control,
				.out = t->array[OUT],
				.lse = t->array[LSE],
				.first_head = a->first_head,
				.all_heads = a->all_heads,
			},
		.dout = t->array[DOUT],
		.dq = t->array[DQ],
		.dk = t->array[DK],
		.dv = t->array[DV],
	};
}

static void typed_free(struct typed *t)
{
	for (int i = 0; i < ARRAYS; i++)
		free(t->array[i]);
	free(t->control);
}

/* Forward, and backward too if `both`; the results are left in the arrays. */
static void attention_run(struct attention *a, enum rt_type type, struct rt_device *device,
			  bool both)
{
	struct typed t;
	typed_start(&t, a, type);
	if (device->ops->attend_forward(device, 0, &t.args.forward) != 0 ||
	    (both && device->ops->attend_backward(device, 0, &t.args) != 0))
		fail("attend: %s", device->fault);
	for (int i = OUT; i < (both ? ARRAYS : DOUT); i++) {
		if (i != DOUT)
			array_unpack(&a->array[i], type, t.array[i]);
	}
	typed_free(&t);
}

static bool kept(const struct attention *a, int64_t b, int64_t head, int64_t query, int64_t key)
{
	struct rt_rand from = {7, RT_RANDOM_DROPOUT, 5, 4};
	int64_t element = (((3 + b) * a->heads + head) * a->tokens + query) * a->tokens + key;
	return a->dropout == 0 ||
	       rt_rand_word(&from, (uint64_t)element) >= (uint32_t)(a->dropout * 0x1p32);
}

/* One query: its row of out, and its log-sum. */
static double plain_query(const struct attention *a, int64_t b, int64_t head, int64_t query,
			  double *out)
{
	int64_t keys = a->causal ? query + 1 : a->tokens;
	int64_t kv_head = head / (a->heads / a->kv_heads);
	const double *q = a->array[Q].value + ((b * a->tokens + query) * a->heads + head) * a->head;
	double scores[256], sum = 0;
	memset(out, 0, (size_t)a->head * sizeof(double));
	for (int64_t key = 0; key < keys; key++) {
		int64_t at = ((b * a->tokens + key) * a->kv_heads + kv_head) * a->head;
		double dot = 0;
		for (int64_t d = 0; d < a->head; d++)
			dot += q[d] * a->array[K].value[at + d];
		scores[key] = exp(dot / sqrt((double)a->head));
		sum += scores[key];
	}
	for (int64_t key = 0; key < keys; key++) {
		int64_t at = ((b * a->tokens + key) * a->kv_heads + kv_head) * a->head;
		double weight =
			kept(a, b, head, query, key) ? scores[key] / sum / (1 - a->dropout) : 0;
		for (int64_t d = 0; d < a->head; d++)
			out[d] += weight * a->array[V].value[at + d];
	}
	return log(sum);
}

static void check_plain(const struct attention *a, double tolerance)
{
	for (int64_t i = 0; i < a->batch * a->heads * a->tokens; i++) {
		int64_t b = i / a->heads / a->tokens, head = i / a->tokens % a->heads;
		int64_t query = i % a->tokens;
		double out[256], lse = plain_query(a, b, head, query, out);
		int64_t at = ((b * a->tokens + query) * a->heads + head) * a->head;
		compare("attend out", a->head, a->array[OUT].value + at, out, tolerance);
		compare("attend lse", 1, a->array[LSE].value + i, &lse, tolerance);
	}
}

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
		for (int i = OUT; i < ARRAYS; i++) {
			if (memcmp(first[i], a->array[i].value,
				   (size_t)a->array[i].count * sizeof(double)) != 0)
				fail("attend: other bits of array %d with other threads or "
				     "instructions",
				     i);
		}
	}
	cpu_isa_limit(CPU_ISA_AVX512);
	for (int i = OUT; i < ARRAYS; i++)
		free(first[i]);
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
	{.batch = 1, .tokens = 130, .heads = 1, .kv_heads = 1, .head = 64, .causal = true},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

/* Heads 2 and 3 of 4 drop what they drop within the whole. */
static void check_part_of_heads(void)
{
	struct attention whole = {.batch = 2,
				  .tokens = 19,
				  .heads = 4,
				  .kv_heads = 2,
				  .head = 8,
				  .causal = true,
				  .dropout = 0.3};
	struct attention part = whole;
	part.heads = part.first_head = 2;
	part.kv_heads = 1;
	part.all_heads = 4;
	attention_start(&whole);
	attention_start(&part);
	for (int i = Q; i <= V; i++) {
		int64_t wide = (i == Q ? whole.heads : whole.kv_heads) * whole.head;
		for (int64_t j = 0; j < part.array[i].count; j++)
			part.array[i].value[j] =
				whole.array[i]
					.value[j / (wide / 2) * wide + wide / 2 + j % (wide / 2)];
	}
	attention_run(&whole, RT_F32, devices[0], false);
	attention_run(&part, RT_F32, devices[0], false);
	for (int64_t j = 0; j < part.array[OUT].count; j++)
		if (part.array[OUT].value[j] != whole.array[OUT].value[j / 16 * 32 + 16 + j % 16])
			fail("attend: element %lld differs in a part of the heads", (long long)j);
	attention_free(&whole);
	attention_free(&part);
}

void test_attend_forward(void)
{
	check_part_of_heads();
	for (int i = 0; i < CASES; i++) {
		struct attention a = cases[i];
		attention_start(&a);
		attention_run(&a, RT_F32, devices[1], false);
		check_plain(&a, 5e-6);
		attention_run(&a, RT_F64, devices[1], false);
		check_plain(&a, 1e-12);
		attention_free(&a);
	}
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
		compare(by == Q	  ? "attend dq"
			: by == K ? "attend dk"
				  : "attend dv",
			1, &got, &want, 1e-7);
	}
}

/* f32 against f64. */
static void check_narrow(struct attention *a)
{
	double *wide[ARRAYS];
	for (int i = DQ; i < ARRAYS; i++) {
		wide[i] = malloc((size_t)a->array[i].count * sizeof(double));
		memcpy(wide[i], a->array[i].value, (size_t)a->array[i].count * sizeof(double));
	}
	attention_run(a, RT_F32, devices[2], true);
	for (int i = DQ; i < ARRAYS; i++) {
		compare("attend_backward_f32", a->array[i].count, a->array[i].value, wide[i], 1e-5);
		free(wide[i]);
	}
}

/* bf16 against f32 on the same inputs: out and dv are those of f32, rounded once; backward reads an
 * `out` that was rounded, which moves dq and dk by little more than that rounding. */
static void check_bf16(struct attention *a)
{
	double *wide[ARRAYS];
	for (int i = Q; i < ARRAYS; i++) {
		wide[i] = malloc((size_t)a->array[i].count * sizeof(double));
		for (int64_t j = 0; i != LSE && j < a->array[i].count; j++)
			a->array[i].value[j] = round_bf16(a->array[i].value[j]);
	}
	attention_run(a, RT_F32, devices[0], true);
	for (int i = OUT; i < ARRAYS; i++)
		memcpy(wide[i], a->array[i].value, (size_t)a->array[i].count * sizeof(double));
	attention_run(a, RT_BF16, devices[2], true);
	for (int i = OUT; i < ARRAYS; i++) {
		for (int64_t j = 0; i != LSE && j < a->array[i].count; j++)
			wide[i][j] = round_bf16(wide[i][j]);
	}
	compare("attend_forward_bf16 out", a->array[OUT].count, a->array[OUT].value, wide[OUT], 0);
	compare("attend_forward_bf16 lse", a->array[LSE].count, a->array[LSE].value, wide[LSE], 0);
	for (int i = DQ; i < ARRAYS; i++)
		compare("attend_backward_bf16", a->array[i].count, a->array[i].value, wide[i],
			i == DV ? 0 : 0x1p-5);
	for (int i = Q; i < ARRAYS; i++)
		free(wide[i]);
}

void test_attend_backward(void)
{
	for (int i = 0; i < CASES; i++) {
		struct attention a = cases[i];
		attention_start(&a);
		check_bits(&a, RT_F32);
		check_bits(&a, RT_F64);
		check_difference(&a, Q, DQ);
		check_difference(&a, K, DK);
		check_difference(&a, V, DV);
		check_narrow(&a);
		check_bits(&a, RT_BF16);
		check_bf16(&a);
		attention_free(&a);
	}
}
