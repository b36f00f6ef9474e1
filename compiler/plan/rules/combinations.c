/* SPDX-License-Identifier: Apache-2.0 */
/* The table of combinations: which features a plan has, and what is said of two of them. */
#include "plan/combinations.h"

#include <string.h>

#include "plan/rules/plan_rules.h"

/* ---- features that are no strategy, word or number ------------------------------------------- */

static bool pipelined(const struct plan *plan)
{
	return plan_strategy(plan, STRATEGY_PIPELINE) != NULL;
}

static bool scheduled(const struct plan *plan, const char *word, struct span *where)
{
	*where = plan->pipeline.schedule.span;
	return pipelined(plan) && value_known(&plan->pipeline.schedule) &&
	       name_is(plan->pipeline.schedule.word, word);
}

static bool has_gpipe(const struct plan *plan, struct span *where)
{
	return scheduled(plan, "gpipe", where);
}

static bool has_one_f_one_b(const struct plan *plan, struct span *where)
{
	return scheduled(plan, "1f1b", where);
}

static bool has_interleaved(const struct plan *plan, struct span *where)
{
	return scheduled(plan, "interleaved_1f1b", where);
}

static bool has_layer_list(const struct plan *plan, struct span *where)
{
	*where = plan->pipeline.layers.span;
	return plan->nlayer_list > 0;
}

static bool has_hybrid(const struct plan *plan, struct span *where)
{
	const struct strategy *zero = plan_strategy(plan, STRATEGY_ZERO);

	if (zero)
		*where = zero->span;
	return zero && plan_ranks(plan, zero) < plan->data_ranks;
}

static bool has_lanes(const struct plan *plan, struct span *where)
{
	*where = plan->train.lanes.span;
	return value_known(&plan->train.lanes) && plan->train.lanes.i > plan->data_ranks;
}

static bool has_replicate(const struct plan *plan, struct span *where)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);

	if (tensor)
		*where = tensor->span;
	return tensor && tensor->replicate > 1;
}

static bool has_split_rule(const struct plan *plan, struct span *where)
{
	if (plan->nrules)
		*where = plan->rules[0].span;
	return plan->nrules > 0;
}

static bool written(const struct value *value, struct span *where)
{
	*where = value->span;
	return value->origin == ORIGIN_FILE || value->origin == ORIGIN_COMMAND;
}

static bool has_gather_step(const struct plan *plan, struct span *where)
{
	return plan_strategy(plan, STRATEGY_ZERO) && written(&plan->zero.gather, where) &&
	       name_is(plan->zero.gather.word, "step");
}

static bool has_prefetch(const struct plan *plan, struct span *where)
{
	return plan_strategy(plan, STRATEGY_ZERO) && written(&plan->zero.prefetch, where);
}

/* By what the preset stands for, however it is written. */
static bool typed(const struct plan *plan, struct span *where, const char *const words[5],
		  bool stochastic)
{
	const struct plan_precision *p = &plan->precision;

	*where = plan->precision_span;
	return name_is(p->compute.word, words[0]) && name_is(p->params.word, words[1]) &&
	       name_is(p->gradients.word, words[2]) && name_is(p->optimizer.word, words[3]) &&
	       name_is(p->loss.word, words[4]) && (p->stochastic_rounding.i != 0) == stochastic;
}

#define PRESET(name, compute, params, gradients, optimizer, loss, stochastic)                      \
	static bool has_##name(const struct plan *plan, struct span *where)                        \
	{                                                                                          \
		static const char *const words[] = {compute, params, gradients, optimizer, loss};  \
                                                                                                   \
		return typed(plan, where, words, stochastic);                                      \
	}
#include "plan/resolve/presets.def"
#undef PRESET

/* A wire of another type than what it carries. */
static bool wired(const struct value *wire, const struct value *carried, struct span *where)
{
	return written(wire, where) && wire->word != carried->word;
}

static bool has_gradient_wire(const struct plan *plan, struct span *where)
{
	return wired(&plan->precision.gradient_wire, &plan->precision.gradients, where);
}

static bool has_partial_wire(const struct plan *plan, struct span *where)
{
	return wired(&plan->precision.partial_wire, &plan->precision.compute, where);
}

static bool recomputes(const struct plan *plan, int kind, struct span *where)
{
	for (uint32_t i = 0; i < plan->nrecompute; i++) {
		*where = plan->recompute[i].span;
		if ((int)plan->recompute[i].kind == kind)
			return true;
	}
	return false;
}

static bool has_recompute_block(const struct plan *plan, struct span *where)
{
	return recomputes(plan, RECOMPUTE_BLOCK, where);
}

static bool has_recompute_selective(const struct plan *plan, struct span *where)
{
	return recomputes(plan, RECOMPUTE_SELECTIVE, where);
}

static bool has_recompute_stages(const struct plan *plan, struct span *where)
{
	for (uint32_t i = 0; i < plan->nrecompute; i++) {
		*where = plan->recompute[i].span;
		if (plan->recompute[i].first_stage >= 0)
			return true;
	}
	return false;
}

static bool has_dropout(const struct plan *plan, struct span *where)
{
	const struct model *model = rule_model(plan);

	for (uint32_t i = 0; model && i < model->ncalls; i++) {
		*where = model->calls[i].span;
		if (model->calls[i].rate > 0)
			return true;
	}
	return false;
}

static bool has_tied(const struct plan *plan, struct span *where)
{
	const struct model *model = rule_model(plan);

	for (uint32_t i = 0; model && i < model->ncalls; i++) {
		*where = model->calls[i].span;
		if (model->calls[i].tied)
			return true;
	}
	return false;
}

static bool has_clip(const struct plan *plan, struct span *where)
{
	return written(&plan->train.clip, where);
}

static bool has_validation(const struct plan *plan, struct span *where)
{
	return written(&plan->validate.every, where);
}

static bool has_checkpoint(const struct plan *plan, struct span *where)
{
	*where = plan->checkpoint.every.span;
	return plan->has_checkpoint;
}

static bool has_gpu(const struct plan *plan, struct span *where)
{
	*where = plan->device_span;
	return value_known(&plan->device.cores) && plan->device.cores.i == 0;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static const struct feature_row {
	const char *name, *kind, *written;
	bool (*ask)(const struct plan *plan, struct span *where); /* NULL: the rest says it */
	bool by_strategy;
	enum strategy_kind strategy;
	int64_t stage;    /* of zero; 0: any */
	size_t offset;    /* of a value in struct plan */
	const char *word; /* NULL: a number above `above` */
	int64_t above;
} features[FEATURES] = {
#define STRATEGY(is, number) .by_strategy = true, .strategy = STRATEGY_##is, .stage = number
#define WORD(value, is) .offset = offsetof(struct plan, value), .word = is
#define ABOVE(value, number) .offset = offsetof(struct plan, value), .above = number
#define ASK(function) .ask = has_##function
#define FEATURE(id, group, how, text) {.name = #id, .kind = group, .written = text, how},
#define NEEDS(feature, other, code)
#define REFUSED(feature, other, code, why)
#define LATER(feature, other, what)
#include "plan/combinations.def"
#undef STRATEGY
#undef WORD
#undef ABOVE
#undef ASK
#undef FEATURE
#undef NEEDS
#undef REFUSED
#undef LATER
};

static const struct pair_row {
	enum feature a, b;
	struct combination is;
} pairs[] = {
#define FEATURE(id, kind, how, written)
#define NEEDS(feature, other, code)
#define REFUSED(feature, other, code, why)                                                         \
	{FEATURE_##feature, FEATURE_##other, {ANSWER_REFUSED, code, why}},
#define LATER(feature, other, what)                                                                \
	{FEATURE_##feature, FEATURE_##other, {ANSWER_LATER, E0901, what}},
#include "plan/combinations.def"
#undef FEATURE
#undef NEEDS
#undef REFUSED
#undef LATER
};

static const struct need_row {
	enum feature feature, other;
	enum diag_code code;
} needs[] = {
#define FEATURE(id, kind, how, written)
#define NEEDS(feature, other, code) {FEATURE_##feature, FEATURE_##other, code},
#define REFUSED(feature, other, code, why)
#define LATER(feature, other, what)
#include "plan/combinations.def"
#undef FEATURE
#undef NEEDS
#undef REFUSED
#undef LATER
};

const char *feature_name(enum feature feature)
{
	return features[feature].name;
}

const char *feature_written(enum feature feature)
{
	return features[feature].written;
}

static bool strategy_in(const struct plan *plan, const struct feature_row *row, struct span *where)
{
	const struct strategy *strategy = plan_strategy(plan, row->strategy);

	if (strategy)
		*where = strategy->span;
	return strategy && (!row->stage || row->stage == strategy->stage) &&
	       plan_ranks(plan, strategy) > 1;
}

bool feature_in(const struct plan *plan, enum feature feature, struct span *where)
{
	const struct feature_row *row = &features[feature];
	const struct value *value = (const struct value *)(const void *)((const char *)plan +
									 row->offset);

	*where = (struct span){0};
	if (row->ask)
		return row->ask(plan, where);
	if (row->by_strategy)
		return strategy_in(plan, row, where);
	*where = value->span;
	if (row->word)
		return value_known(value) && name_is(value->word, row->word);
	return value_known(value) && value->i > row->above;
}

struct combination combination_of(enum feature a, enum feature b)
{
	const char *kind = features[a].kind;

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if ((pairs[i].a == a && pairs[i].b == b) || (pairs[i].a == b && pairs[i].b == a))
			return pairs[i].is;
	if (a != b && *kind && !strcmp(kind, features[b].kind))
		return (struct combination){.answer = ANSWER_EITHER};
	return (struct combination){.answer = ANSWER_WORKS};
}

enum feature feature_needs(enum feature feature, enum diag_code *code)
{
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (needs[i].feature == feature) {
			*code = needs[i].code;
			return needs[i].other;
		}
	return FEATURES;
}

enum feature feature_clash(const struct plan *plan, enum feature feature)
{
	struct span where;

	for (enum feature other = 0; other < FEATURES; other++)
		if (combination_of(feature, other).answer == ANSWER_REFUSED &&
		    feature_in(plan, feature, &where) && feature_in(plan, other, &where))
			return other;
	return FEATURES;
}
