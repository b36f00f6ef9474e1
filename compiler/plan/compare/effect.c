/* SPDX-License-Identifier: Apache-2.0 */
/* What a difference between two plans does to the trained result. */
#include "plan/effect.h"

#include <string.h>

#include "plan/rules/plan_rules.h"

struct pair {
	const struct plan *a, *b;
	struct work *work;
	const char **why; /* a row may say more than the table */
};

static bool texts_differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

static bool words_differ(const struct value *a, const struct value *b)
{
	return texts_differ(a->word ? a->word->text : NULL, b->word ? b->word->text : NULL);
}

static bool power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool dims_differ(const struct model *x, const struct dims *a, const struct model *y,
			const struct dims *b)
{
	bool differ = a->n != b->n;

	for (uint32_t i = 0; !differ && i < a->n; i++) {
		const struct dim *p = &x->dims[a->at[i]], *q = &y->dims[b->at[i]];

		differ = texts_differ(p->name->text, q->name->text);
		if (a->at[i] != x->batch && a->at[i] != x->tokens)
			differ |= p->size != q->size;
	}
	return differ;
}

/* True if two weights lie elsewhere in files. */
static bool names_differ(const struct model_name *a, const struct model_name *b)
{
	if (!a || !b)
		return a != b;
	return a->piece != b->piece || texts_differ(a->stored, b->stored);
}

static bool calls_differ(const struct model *x, const struct model_call *a, const struct model *y,
			 const struct model_call *b)
{
	if (a->op != b->op || a->region != b->region || a->noperands != b->noperands ||
	    memcmp(a->operands, b->operands, a->noperands * sizeof *a->operands) != 0 ||
	    a->result != b->result)
		return true;
	if (a->bias != b->bias || a->causal != b->causal || a->init != b->init ||
	    a->eps != b->eps || a->rate != b->rate || a->base != b->base ||
	    memcmp(a->scaling, b->scaling, sizeof a->scaling) != 0)
		return true;
	return dims_differ(x, &a->from, y, &b->from) || dims_differ(x, &a->to, y, &b->to) ||
	       names_differ(a->as, b->as) || names_differ(a->tied, b->tied);
}

/* Where the texts of two calls differ, not a size in them. */
static void name_calls(const struct pair *pair, const struct model_call *a,
		       const struct model_call *b)
{
	struct sources *sources = pair->work->sources;
	struct arena *keep = pair->work->keep;
	struct position x = sources_position(sources, a->span.lo);
	struct position y = sources_position(sources, b->span.lo);

	if (texts_differ(sources_text(sources, keep, a->span),
			 sources_text(sources, keep, b->span)))
		*pair->why = arena_text(keep, "another model: %s:%u, %s:%u", x.source->path, x.line,
					y.source->path, y.line);
}

static bool effect_model(const struct pair *pair)
{
	const struct model *x = rule_model(pair->a), *y = rule_model(pair->b);

	if (!x || !y)
		return x != y;
	for (uint32_t i = 0; i < x->ncalls && i < y->ncalls; i++) {
		const struct model_call *a = &x->calls[i], *b = &y->calls[i];

		if (!calls_differ(x, a, y, b))
			continue;
		name_calls(pair, a, b);
		return true;
	}
	return x->layers != y->layers || x->ncalls != y->ncalls;
}

static bool effect_padding(const struct pair *pair)
{
	const struct model *x = rule_model(pair->a), *y = rule_model(pair->b);

	if (!x || !y || x->vocab == NO_ID || y->vocab == NO_ID)
		return false;
	return x->dims[x->vocab].padded != y->dims[y->vocab].padded;
}

/* ---- data ------------------------------------------------------------------------------------ */

static bool effect_batch(const struct pair *pair)
{
	return pair->a->train.global_batch.i != pair->b->train.global_batch.i;
}

static bool effect_data(const struct pair *pair)
{
	const struct plan_train *a = &pair->a->train, *b = &pair->b->train;

	return words_differ(&a->data_kind, &b->data_kind) ||
	       words_differ(&a->data_glob, &b->data_glob);
}

static double held_out_share(const struct plan *plan)
{
	bool given = plan->validate.every.origin != ORIGIN_UNSET &&
		     plan->validate.share.origin != ORIGIN_UNSET;

	return given ? plan->validate.share.f : 0;
}

static bool effect_held_out(const struct pair *pair)
{
	double a = held_out_share(pair->a), b = held_out_share(pair->b);

	return a < b || a > b;
}

/* ---- the order of sums over micro-batches and data ranks ------------------------------------- */

static bool reduces_each(const struct plan *plan)
{
	return plan->data_ranks > 1 && name_is(plan->data.reduce.word, "micro_batch");
}

static bool is_bf16(const struct value *type)
{
	return name_is(type->word, "bf16");
}

/* Sums of lanes are rounded on their way to the sum of all, or terms are that one rank alone does
 * not send. */
static bool rounds_lanes(const struct plan *plan)
{
	const struct plan_precision *p = &plan->precision;

	if (is_bf16(&p->gradients))
		return plan->train.lanes.i > 2;
	return is_bf16(&p->gradient_wire);
}

static bool effect_data_ranks(const struct pair *pair)
{
	const struct plan *a = pair->a, *b = pair->b;

	if (a->data_ranks == b->data_ranks)
		return false;
	return rounds_lanes(a) || rounds_lanes(b) || !power_of_two(a->data_ranks) ||
	       !power_of_two(b->data_ranks) || !power_of_two(a->train.lanes.i) ||
	       a->train.lanes.i != b->train.lanes.i || reduces_each(a) || reduces_each(b);
}

static bool effect_lanes(const struct pair *pair)
{
	return pair->a->train.lanes.i != pair->b->train.lanes.i;
}

static bool effect_reduce(const struct pair *pair)
{
	return reduces_each(pair->a) != reduces_each(pair->b) &&
	       (pair->a->micro_batches > 1 || pair->b->micro_batches > 1);
}

/* The shape of sums over replicas of slices: "" where slices lie over all data ranks, or over
 * whole subtrees of them whose sums are not rounded. Else sizes of the axes of `data`, those of the
 * slices marked. */
static const char *replicas_of(const struct plan *plan, struct arena *arena)
{
	const struct strategy *data = plan_strategy(plan, STRATEGY_DATA);
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);
	int64_t slices = plan_ranks(plan, zero);
	bool inner = !is_bf16(&plan->precision.gradient_wire), ended = false;
	const char *text = "";

	if (!data || !zero || slices <= 1 || slices == plan->data_ranks)
		return "";
	for (uint32_t i = plan->naxes; i-- > 0;) {
		bool sliced = strategy_has_axis(zero, i);

		if (!strategy_has_axis(data, i) || plan->axes[i].size == 1)
			continue;
		inner &= !(sliced && ended);
		ended |= !sliced;
		text = arena_text(arena, "%s %s%lld", text, sliced ? "/" : "",
				  (long long)plan->axes[i].size);
	}
	return inner && power_of_two(slices) ? "" : text;
}

static bool effect_replicas(const struct pair *pair)
{
	return texts_differ(replicas_of(pair->a, pair->work->keep),
			    replicas_of(pair->b, pair->work->keep));
}

/* ---- sums inside a layer --------------------------------------------------------------------- */

static const char *rules_text(const struct plan *plan, struct arena *arena)
{
	const char *text = "";

	for (uint32_t i = 0; i < plan->nrules; i++) {
		const struct split_rule *rule = &plan->rules[i];
		long long size = rule->axis == NO_ID ? 1 : (long long)plan->axes[rule->axis].size;

		text = arena_text(arena, "%s; %s %s %lld", text, rule->param->path,
				  plan->model->dims[rule->dim].name->text, size);
	}
	return text;
}

/* Sizes of the axes, dims in their order, copies, lines that except a weight; "" without a cut. */
static const char *tensor_of(const struct plan *plan, struct arena *arena)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const char *text = "";

	if (!tensor || plan_ranks(plan, tensor) <= 1)
		return "";
	for (uint32_t i = 0; i < plan->naxes; i++)
		if (strategy_has_axis(tensor, i) && plan->axes[i].size > 1)
			text = arena_text(arena, "%s %lld", text, (long long)plan->axes[i].size);
	if (tensor->replicate > 1)
		text = arena_text(arena, "%s, %lld copies of %s", text,
				  (long long)tensor->replicate,
				  plan->model->dims[tensor->replicate_dim].name->text);
	return arena_text(arena, "%s %s%s", text,
			  model_dims_text(plan->model, &tensor->dims, arena),
			  rules_text(plan, arena));
}

static bool effect_tensor(const struct pair *pair)
{
	return texts_differ(tensor_of(pair->a, pair->work->keep),
			    tensor_of(pair->b, pair->work->keep));
}

static bool effect_sequence(const struct pair *pair)
{
	return (plan_ranks(pair->a, plan_strategy(pair->a, STRATEGY_SEQUENCE)) > 1) !=
	       (plan_ranks(pair->b, plan_strategy(pair->b, STRATEGY_SEQUENCE)) > 1);
}

static const struct value *wire(const struct value *wire, const struct value *carried)
{
	return wire->origin == ORIGIN_UNSET ? carried : wire;
}

static int64_t tensor_ranks(const struct plan *plan)
{
	return plan_ranks(plan, plan_strategy(plan, STRATEGY_TENSOR));
}

/* A wire that nothing is sent over rounds nothing. */
static bool effect_wires(const struct pair *pair)
{
	const struct plan_precision *p = &pair->a->precision, *q = &pair->b->precision;
	bool data = pair->a->data_ranks > 1 || pair->b->data_ranks > 1;
	bool tensor = tensor_ranks(pair->a) > 1 || tensor_ranks(pair->b) > 1;

	return (data && words_differ(wire(&p->gradient_wire, &p->gradients),
				     wire(&q->gradient_wire, &q->gradients))) ||
	       (tensor && words_differ(wire(&p->partial_wire, &p->compute),
				       wire(&q->partial_wire, &q->compute)));
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool effect_device(const struct pair *pair)
{
	return texts_differ(pair->a->device_name, pair->b->device_name) ||
	       pair->a->device.cores.i != pair->b->device.cores.i;
}

static bool effect_reserved(const struct pair *pair)
{
	static const enum strategy_kind kinds[] = {STRATEGY_CONTEXT, STRATEGY_EXPERT};
	bool differ = false;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		differ |= plan_ranks(pair->a, plan_strategy(pair->a, kinds[i])) !=
			  plan_ranks(pair->b, plan_strategy(pair->b, kinds[i]));
	return differ;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct effect_row {
	const char *name;
	enum effect effect;
	const char *settings, *why;
	bool (*differs)(const struct pair *pair);
} rows[] = {
#define EFFECT(name, effect, settings, why) {#name, EFFECT_##effect, settings, why, effect_##name},
#include "plan/effects.def"
#undef EFFECT
};

enum { ROWS = sizeof rows / sizeof *rows };

/* True if a row of the table judges this setting. */
static bool by_row(const char *path)
{
	size_t length = strlen(path);

	for (int i = 0; i < ROWS; i++)
		for (const char *at = rows[i].settings; *at;) {
			size_t word = strcspn(at, " ");

			if (word == length && !strncmp(at, path, word))
				return true;
			at += word + (at[word] == ' ');
		}
	return false;
}

/* Of a block's value in a plan. */
static const struct value *value_in(const void *block, const struct setting_row *row)
{
	return (const struct value *)(const void *)((const char *)block + row->offset);
}

static bool values_differ(const struct value *a, const struct value *b, struct arena *arena)
{
	bool x = a->origin != ORIGIN_UNSET, y = b->origin != ORIGIN_UNSET;

	return x != y || (x && texts_differ(value_text(a, arena), value_text(b, arena)));
}

struct compared {
	struct plan_cause *at;
	uint32_t n, room;
};

static void compare_block(enum block_id id, const void *a, const void *b, struct compared *out,
			  struct arena *arena)
{
	const struct block_row *block = schema_block(id);

	for (uint32_t i = 0; i < block->nsettings; i++) {
		const struct setting_row *row = &block->settings[i];
		const char *path = arena_text(arena, "%s.%s", block->name, row->name);

		if (row->effect == EFFECT_NONE || row->type == TYPE_NONE || by_row(path) ||
		    !values_differ(value_in(a, row), value_in(b, row), arena))
			continue;
		vec_push(arena, out, (struct plan_cause){path, row->effect, row->doc});
	}
}

/* The blocks that training reads; what a plan leaves out has its defaults there. */
static void compare_blocks(const struct plan *a, const struct plan *b, struct compared *out,
			   struct arena *arena)
{
	static const struct {
		enum block_id id;
		size_t offset;
	} blocks[] = {
		{BLOCK_precision, offsetof(struct plan, precision)},
		{BLOCK_memory, offsetof(struct plan, memory)},
		{BLOCK_train, offsetof(struct plan, train)},
		{BLOCK_optimizer, offsetof(struct plan, optimizer)},
		{BLOCK_schedule, offsetof(struct plan, schedule)},
	};

	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		compare_block(blocks[i].id, (const char *)a + blocks[i].offset,
			      (const char *)b + blocks[i].offset, out, arena);
}

void plan_compare(const struct plan *a, const struct plan *b, struct plan_effect *out,
		  struct work *work)
{
	struct compared causes = {0};

	compare_blocks(a, b, &causes, work->keep);
	for (int i = 0; i < ROWS; i++) {
		const char *why = rows[i].why;
		struct pair pair = {a, b, work, &why};

		if (rows[i].differs(&pair))
			vec_push(work->keep, &causes,
				 (struct plan_cause){rows[i].name, rows[i].effect, why});
	}
	*out = (struct plan_effect){.causes = causes.at, .ncauses = causes.n};
	for (uint32_t i = 0; i < causes.n; i++)
		if (causes.at[i].effect > out->effect)
			out->effect = causes.at[i].effect;
}
