/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that work on a rank's part of a tensor, against the plain formula; and parts joined against
 * the row that works on the whole. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { WIDTH = 17, TOKENS = 150 };

static double *zeros(int64_t count)
{
	return calloc((size_t)(count + 1), sizeof(double));
}

static void array_free(struct array *array)
{
	free(array->value);
	free(array->start);
}

/* A table, its indices and gradients; in parts of `here` rows, the last one padded. */
struct table {
	int64_t vocab, here, parts;
	struct array index, weight, dy;
};

static struct table table_start(int64_t vocab, int64_t parts)
{
	struct table t = {.vocab = vocab, .parts = parts, .here = (vocab + parts - 1) / parts};
	t.index = array_index(TOKENS, vocab);
	t.weight = array_random(t.here * parts * WIDTH);
	t.dy = array_random(TOKENS * WIDTH);
	return t;
}

static void table_free(struct table *t)
{
	array_free(&t->index);
	array_free(&t->weight);
	array_free(&t->dy);
}

static struct call lookup_part_call(const struct table *t, int64_t part)
{
	struct call call = CALL(lookup_part);
	const int64_t size[] = {WIDTH, t->vocab, t->here, part * t->here};
	call.rows = TOKENS;
	memcpy(call.size, size, sizeof(size));
	call.in[0] = array_like(&t->index);
	call.in[1] = array_random(t->here * WIDTH);
	memcpy(call.in[1].value, t->weight.value + part * t->here * WIDTH,
	       (size_t)(t->here * WIDTH) * sizeof(double));
	call.out[0] = array_filled(KIND_T, TOKENS * WIDTH, 9);
	return call;
}

static void check_index(struct call *call, double index)
{
	call->in[0].value[40] = index;
	if (call_run(call, RT_F32) == 0)
		fail("%s: index %g passes", call->name, index);
	else if (!strstr(devices[0]->fault, call->name) || !strstr(devices[0]->fault, "row 40"))
		fail("%s: the message is \"%s\"", call->name, devices[0]->fault);
}

static void check_lookup(int64_t vocab, int64_t parts)
{
	struct table t = table_start(vocab, parts);
	double *sum = zeros(TOKENS * WIDTH), *want = zeros(TOKENS * WIDTH);
	double *const list[RT_MAX_OUT] = {want};
	for (int64_t part = 0; part < parts; part++) {
		struct call call = lookup_part_call(&t, part);
		for (int64_t i = 0; i < TOKENS * WIDTH; i++) {
			int64_t index = (int64_t)t.index.value[i / WIDTH];
			want[i] = index / t.here == part ? t.weight.value[index * WIDTH + i % WIDTH]
							 : 0;
		}
		call_check(&call, list, 0);
		for (int64_t i = 0; i < TOKENS * WIDTH; i++)
			sum[i] += call.out[0].value[i];
		check_index(&call, (double)vocab);
		check_index(&call, -1);
		call_free(&call);
	}
	for (int64_t i = 0; i < TOKENS * WIDTH; i++)
		want[i] = t.weight.value[(int64_t)t.index.value[i / WIDTH] * WIDTH + i % WIDTH];
	compare("lookup_part, joined", TOKENS * WIDTH, sum, want, 0);
	table_free(&t);
	free(sum);
	free(want);
}

void test_lookup_part(void)
{
	check_lookup(33, 1);
	check_lookup(33, 2);
	check_lookup(100, 3);
}

/* Whole gradient, from lookup_backward. */
static double *table_gradient(const struct table *t, enum rt_type type)
{
	struct call call = CALL(lookup_backward);
	call.rows = t->vocab;
	call.size[0] = WIDTH;
	call.size[1] = TOKENS;
	call.in[0] = array_like(&t->index);
	call.in[1] = array_like(&t->dy);
	call.out[0] = array_filled(KIND_T, t->vocab * WIDTH, 0.5);
	call_run(&call, type);
	double *whole = zeros(t->vocab * WIDTH);
	memcpy(whole, call.out[0].value, (size_t)(t->vocab * WIDTH) * sizeof(double));
	call_free(&call);
	return whole;
}

/* One part, into dweight filled with 0.5: the padding keeps that. */
static void check_lookup_slope(const struct table *t, int64_t part, const double *whole)
{
	struct call call = CALL_MIXED(lookup_part_backward);
	const int64_t size[] = {WIDTH, TOKENS, t->vocab, part * t->here};
	double *want[RT_MAX_OUT] = {zeros(t->here * WIDTH)};
	call.rows = t->here;
	memcpy(call.size, size, sizeof(size));
	call.in[0] = array_like(&t->index);
	call.in[1] = array_like(&t->dy);
	call.out[0] = array_filled(KIND_G, t->here * WIDTH, 0.5);
	for (int64_t i = 0; i < t->here * WIDTH; i++) {
		int64_t row = part * t->here + i / WIDTH;
		want[0][i] = row < t->vocab ? whole[row * WIDTH + i % WIDTH] : 0.5;
	}
	call_check(&call, want, 1e-6);
	if (memcmp(call.out[0].value, want[0], (size_t)(t->here * WIDTH) * sizeof(double)) != 0)
		fail("lookup_part_backward: other bits than lookup_backward");
	struct call forward = lookup_part_call(t, part);
	double *got = zeros(t->here * WIDTH);
	for (int64_t i = 0; i < t->here * WIDTH; i++)
		got[i] = call.out[0].value[i] - 0.5;
	call_gradient(&forward, t->dy.value, 1, got);
	call_free(&forward);
	call_free(&call);
	free(want[0]);
	free(got);
}

void test_lookup_part_backward(void)
{
	static const int64_t vocabs[] = {33, 45, 100};
	for (int64_t parts = 1; parts < 4; parts++) {
		struct table t = table_start(vocabs[parts - 1], parts);
		double *whole = table_gradient(&t, RT_F64);
		for (int64_t part = 0; part < parts; part++)
			check_lookup_slope(&t, part, whole);
		table_free(&t);
		free(whole);
	}
}

/* x [rows, all]; the parts are columns [0, 5), [5, 38), [38, 101), of rows [0, 30) and [30, 37). */
void test_dropout_part(void)
{
	enum { ROWS = 37, BLOCK = 30, ALL = 101, SAMPLE = 3 * ALL };
	static const int64_t first[] = {0, 5, 38, ALL};
	struct call whole = CALL(dropout);
	whole.rows = ROWS * ALL;
	whole.size[0] = 9;
	whole.size[1] = SAMPLE;
	whole.scalar[0] = 0.3;
	whole.in[0] = array_random(ROWS * ALL);
	whole.in[1] = array_control();
	whole.out[0] = array_filled(KIND_T, ROWS * ALL, 0);
	call_run(&whole, RT_F64);
	for (int part = 0; part < 6; part++) {
		struct call call = CALL(dropout_part);
		int64_t start = first[part % 3], here = first[part % 3 + 1] - start;
		int64_t before = part / 3 * BLOCK * ALL;
		const int64_t size[] = {9, SAMPLE, here, ALL, start, before};
		call.rows = (part < 3 ? BLOCK : ROWS - BLOCK) * here;
		double *want[RT_MAX_OUT] = {zeros(call.rows)};
		memcpy(call.size, size, sizeof(size));
		call.scalar[0] = 0.3;
		call.in[0] = array_random(call.rows);
		call.in[1] = array_control();
		call.out[0] = array_filled(KIND_T, call.rows, 0);
		for (int64_t i = 0; i < call.rows; i++) {
			int64_t at = before + i / here * ALL + start + i % here;
			call.in[0].value[i] = whole.in[0].value[at];
			want[0][i] = whole.out[0].value[at];
		}
		call_check(&call, want, 1e-6);
		if (memcmp(call.out[0].value, want[0], (size_t)call.rows * sizeof(double)) != 0)
			fail("dropout_part: another mask than dropout");
		call.in[1].value[RT_CONTROL_TRAINING] = 0;
		double *const same[RT_MAX_OUT] = {call.in[0].value};
		call_check(&call, same, 0);
		call_free(&call);
		free(want[0]);
	}
	call_free(&whole);
}

/* ---- cross-entropy in parts ------------------------------------------------------------------ */

enum { PARTS = 3 };

struct parted {
	int64_t rows, vocab, columns, parts; /* columns of a part */
	struct array logits[PARTS], target;
	struct array max, sum, label, lse, loss; /* joined over the parts */
};

static struct parted parted_start(int64_t rows, int64_t vocab, int64_t columns, int64_t parts)
{
	struct parted p = {.rows = rows, .vocab = vocab, .columns = columns, .parts = parts};
	for (int64_t part = 0; part < parts; part++) {
		p.logits[part] = array_random(rows * columns);
		for (int64_t i = 0; i < rows * columns; i++) {
			double *x = p.logits[part].value + i;
			*x = part * columns + i % columns < vocab ? (float)(20 * *x) : 1000;
		}
	}
	p.target = array_index(rows, vocab);
	for (int64_t i = 1; i < rows; i += 3)
		p.target.value[i] = -1;
	p.max = array_filled(KIND_F64, rows, -INFINITY);
	p.sum = array_filled(KIND_F64, rows, 0);
	p.label = array_filled(KIND_F64, rows, 0);
	p.lse = array_filled(KIND_F64, rows, 0);
	p.loss = array_filled(KIND_F64, rows, 0);
	return p;
}

static void parted_free(struct parted *p)
{
	for (int64_t part = 0; part < p->parts; part++)
		array_free(&p->logits[part]);
	array_free(&p->target);
	array_free(&p->max);
	array_free(&p->sum);
	array_free(&p->label);
	array_free(&p->lse);
	array_free(&p->loss);
}

static void set_sizes(struct call *call, const struct parted *p, int64_t part)
{
	const int64_t size[] = {p->columns, p->vocab, part * p->columns};
	call->rows = p->rows;
	memcpy(call->size, size, sizeof(size));
	call->in[0] = array_like(&p->logits[part]);
}

static int64_t real_columns(const struct parted *p, int64_t part)
{
	int64_t real = p->vocab - part * p->columns;
	return real < 0 ? 0 : real < p->columns ? real : p->columns;
}

static struct call max_call(const struct parted *p, int64_t part)
{
	struct call call = CALL(vocab_max);
	set_sizes(&call, p, part);
	call.out[0] = array_filled(KIND_F64, p->rows, 0);
	return call;
}

static struct call sum_call(const struct parted *p, int64_t part)
{
	struct call call = CALL(vocab_sum);
	set_sizes(&call, p, part);
	call.in[1] = array_like(&p->max);
	call.in[2] = array_like(&p->target);
	call.out[0] = array_filled(KIND_F64, p->rows, 0);
	call.out[1] = array_filled(KIND_F64, p->rows, 0);
	return call;
}

static struct call loss_call(const struct parted *p)
{
	struct call call = CALL(vocab_loss);
	call.rows = p->rows;
	call.in[0] = array_like(&p->max);
	call.in[1] = array_like(&p->sum);
	call.in[2] = array_like(&p->label);
	call.in[3] = array_like(&p->target);
	call.out[0] = array_filled(KIND_F64, p->rows, 0);
	call.out[1] = array_filled(KIND_F64, p->rows, 0);
	return call;
}

/* What the ranks of a group do, one after another: max, joined by max; sums, joined by sum. */
static void parted_run(struct parted *p, enum rt_type type)
{
	for (int64_t i = 0; i < p->rows; i++) {
		p->max.value[i] = -INFINITY;
		p->sum.value[i] = p->label.value[i] = 0;
	}
	for (int64_t part = 0; part < p->parts; part++) {
		struct call call = max_call(p, part);
		call_run(&call, type);
		for (int64_t i = 0; i < p->rows; i++)
			p->max.value[i] = fmax(p->max.value[i], call.out[0].value[i]);
		call_free(&call);
	}
	for (int64_t part = 0; part < p->parts; part++) {
		struct call call = sum_call(p, part);
		call_run(&call, type);
		for (int64_t i = 0; i < p->rows; i++) {
			p->sum.value[i] += call.out[0].value[i];
			p->label.value[i] += call.out[1].value[i];
		}
		call_free(&call);
	}
	struct call call = loss_call(p);
	call_run(&call, type);
	memcpy(p->lse.value, call.out[0].value, (size_t)p->rows * sizeof(double));
	memcpy(p->loss.value, call.out[1].value, (size_t)p->rows * sizeof(double));
	call_free(&call);
}

/* The same rows whole, through cross_entropy: [rows, parts * columns]. */
static struct call whole_call(const struct parted *p)
{
	struct call call = CALL(cross_entropy);
	int64_t width = p->parts * p->columns;
	call.rows = p->rows;
	call.size[0] = width;
	call.size[1] = p->vocab;
	call.in[0] = array_random(p->rows * width);
	for (int64_t i = 0; i < p->rows * width; i++) {
		int64_t column = i % width;
		call.in[0].value[i] = p->logits[column / p->columns]
					      .value[i / width * p->columns + column % p->columns];
	}
	call.in[1] = array_like(&p->target);
	call.out[0] = array_filled(KIND_F64, p->rows, 0);
	call.out[1] = array_filled(KIND_F64, p->rows, 0);
	return call;
}

/* One part of up to a tile: the arithmetic is that of cross_entropy, so are the bits. */
static void check_whole(struct parted *p)
{
	static const enum rt_type types[] = {RT_F32, RT_F64};
	struct call whole = whole_call(p);
	for (int t = 0; t < 2; t++) {
		bool bits = p->parts == 1 && p->columns <= 512;
		double near = bits ? 0 : t == 0 ? 2e-7 : 1e-14;
		call_run(&whole, types[t]);
		parted_run(p, types[t]);
		compare("vocab_loss, joined lse", p->rows, p->lse.value, whole.out[0].value, near);
		compare("vocab_loss, joined loss", p->rows, p->loss.value, whole.out[1].value,
			near);
	}
	call_free(&whole);
}

static const struct {
	int64_t rows, vocab, columns, parts;
} splits[] = {{1, 1, 1, 1},	  {17, 63, 64, 1}, {3, 1200, 1216, 1}, {9, 33, 17, 2},
	      {17, 1201, 608, 2}, {5, 40, 21, 3},  {6, 40, 40, 3} /* parts of padding only */};

#define FOR_SPLITS(p)                                                                              \
	for (size_t s_ = 0; s_ < sizeof(splits) / sizeof(*splits); s_++)                           \
		for (struct parted p = parted_start(splits[s_].rows, splits[s_].vocab,             \
						    splits[s_].columns, splits[s_].parts);         \
		     p.rows > 0; parted_free(&p), p.rows = 0)

void test_vocab_max(void)
{
	FOR_SPLITS(p)
	{
		for (int64_t part = 0; part < p.parts; part++) {
			struct call call = max_call(&p, part);
			double *want[RT_MAX_OUT] = {zeros(p.rows)};
			for (int64_t row = 0; row < p.rows; row++) {
				want[0][row] = -INFINITY;
				for (int64_t i = 0; i < real_columns(&p, part); i++)
					want[0][row] = fmax(want[0][row],
							    call.in[0].value[row * p.columns + i]);
			}
			call_check(&call, want, 0);
			call_free(&call);
			free(want[0]);
		}
	}
}

static void check_sum(const struct parted *p, int64_t part)
{
	struct call call = sum_call(p, part);
	double *want[RT_MAX_OUT] = {zeros(p->rows), zeros(p->rows)};
	for (int64_t row = 0; row < p->rows; row++) {
		const double *x = call.in[0].value + row * p->columns;
		int64_t at = (int64_t)p->target.value[row] - part * p->columns;
		for (int64_t i = 0; i < real_columns(p, part); i++)
			want[0][row] += exp(x[i] - p->max.value[row]);
		if (p->target.value[row] >= 0 && at >= 0 && at < p->columns)
			want[1][row] = x[at];
	}
	call_check(&call, want, 1e-6);
	call.in[2].value[0] = (double)p->vocab;
	if (call_run(&call, RT_F32) == 0 || !strstr(devices[0]->fault, "vocab_sum"))
		fail("vocab_sum: a target of %lld passes", (long long)p->vocab);
	call_free(&call);
	free(want[0]);
	free(want[1]);
}

void test_vocab_sum(void)
{
	FOR_SPLITS(p)
	{
		parted_run(&p, RT_F64);
		for (int64_t part = 0; part < p.parts; part++)
			check_sum(&p, part);
	}
}

/* Logits 0 1 2 3 over two ranks, label 3 (an average of the ranks' losses would be 1.1333369). */
static void check_known_loss(void)
{
	struct parted p = parted_start(1, 4, 2, 2);
	double want = 0.4401896985611953;
	for (int i = 0; i < 4; i++)
		p.logits[i / 2].value[i % 2] = i;
	p.target.value[0] = 3;
	parted_run(&p, RT_F64);
	compare("vocab_loss of 0 1 2 3", 1, p.loss.value, &want, 1e-15);
	parted_run(&p, RT_F32);
	compare("vocab_loss of 0 1 2 3", 1, p.loss.value, &want, 1e-7);
	parted_free(&p);
}

void test_vocab_loss(void)
{
	check_known_loss();
	FOR_SPLITS(p)
	{
		check_whole(&p);
		struct call call = loss_call(&p);
		double *want[RT_MAX_OUT] = {zeros(p.rows), zeros(p.rows)};
		for (int64_t i = 0; i < p.rows; i++) {
			want[0][i] = p.max.value[i] + log(p.sum.value[i]);
			want[1][i] = p.target.value[i] < 0 ? 0 : want[0][i] - p.label.value[i];
		}
		call_check(&call, want, 1e-15);
		call_free(&call);
		free(want[0]);
		free(want[1]);
	}
}

static struct call slope_call(const struct parted *p, int64_t part)
{
	struct call call = CALL(vocab_backward);
	set_sizes(&call, p, part);
	call.in[1] = array_like(&p->target);
	call.in[2] = array_like(&p->lse);
	call.out[0] = array_random(p->rows * p->columns);
	return call;
}

/* Against differences of the joined loss, in f64; p is left as parted_run(p, RT_F64) leaves it. */
static void check_slope(struct parted *p, int64_t part, const double *got)
{
	struct array *x = &p->logits[part];
	for (int64_t i = 0; i < x->count; i++) {
		double here = x->value[i], loss[2] = {0, 0};
		for (int side = 0; side < 2; side++) {
			x->value[i] = here + (side ? 1e-5 : -1e-5);
			parted_run(p, RT_F64);
			for (int64_t row = 0; row < p->rows; row++)
				loss[side] += p->loss.value[row];
		}
		x->value[i] = here;
		double want = (loss[1] - loss[0]) / 2e-5;
		compare("gradient of vocab_loss", 1, &got[i], &want, 1e-7);
	}
	parted_run(p, RT_F64);
}

void test_vocab_backward(void)
{
	FOR_SPLITS(p)
	{
		struct call whole = CALL(cross_entropy_backward), forward = whole_call(&p);
		parted_run(&p, RT_F64);
		whole.rows = p.rows;
		memcpy(whole.size, forward.size, sizeof(whole.size));
		whole.in[0] = array_like(&forward.in[0]);
		whole.in[1] = array_like(&p.target);
		whole.in[2] = array_like(&p.lse);
		whole.out[0] = array_random(forward.in[0].count);
		call_run(&whole, RT_F64);
		for (int64_t part = 0; part < p.parts; part++) {
			struct call call = slope_call(&p, part);
			double *want[RT_MAX_OUT] = {zeros(call.out[0].count)};
			for (int64_t i = 0; i < call.out[0].count; i++)
				want[0][i] = whole.out[0].value[i / p.columns * whole.size[0] +
								part * p.columns + i % p.columns];
			call_check(&call, want, 2e-6);
			compare("vocab_backward, bits", call.out[0].count, call.out[0].value,
				want[0], 0);
			if (p.vocab < 100)
				check_slope(&p, part, want[0]);
			call_free(&call);
			free(want[0]);
		}
		call_free(&whole);
		call_free(&forward);
	}
}
