/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a small model. Sizes that differ stay different, none becomes 1, none grows; what is cut
 * divides as in the plan; heads come in the same groups, `embed` stays heads times head. */
#include "driver/rehearse/small.h"

#include "plan/rules/plan_rules.h"

enum { EMBED = 64, HEAD = 4, GROUP = 8, TOKENS = 16, VOCAB = 192, PADDING = 13, NOT_YET = 0 };
enum { SIZE_KEPT = 256, TOKENS_KEPT = 32, BATCH_KEPT = 8 }; /* of models that are small already */

struct shrink {
	const struct plan *plan;
	const struct model *model;
	struct small *out;
	uint64_t wide, narrow; /* a size of the plan and what became of it: the scale of others */
};

static uint64_t full_size(const struct shrink *s, uint32_t dim)
{
	return s->model->dims[dim].size;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Ranks that cut a dim in the small plan. */
static uint64_t cut(const struct shrink *s, uint32_t dim)
{
	const struct strategy *tensor = plan_strategy(s->plan, STRATEGY_TENSOR);

	if (!tensor || !dims_have(&tensor->dims, dim))
		return 1;
	if (tensor->replicate > 1 && tensor->replicate_dim == dim)
		return (uint64_t)(s->out->tensor / s->out->copies);
	return (uint64_t)s->out->tensor;
}

/* True if no dim of another size in the plan has this one already. */
static bool unlike(const struct shrink *s, uint64_t full, uint64_t size)
{
	for (uint32_t i = 0; i < s->model->ndims; i++)
		if (s->out->dims[i] == size && full_size(s, i) != full)
			return false;
	return true;
}

static bool fits(const struct shrink *s, uint32_t dim, uint64_t size)
{
	uint64_t full = full_size(s, dim);

	return size <= full && (size > 1 || full == 1) && size % cut(s, dim) == 0 &&
	       unlike(s, full, size);
}

/* The first of `from`, `from` + step, ... that fits, else the first that divides. */
static uint64_t next_size(const struct shrink *s, uint32_t dim, uint64_t from, uint64_t step)
{
	uint64_t full = full_size(s, dim), unit = cut(s, dim);
	uint64_t last = at_most(from + 64 * step, full);

	for (uint64_t size = from; size <= last; size += step)
		if (fits(s, dim, size))
			return size;
	for (uint64_t size = from; size > 1; size--)
		if (fits(s, dim, size))
			return size;
	from = at_most(from, full);
	return from > unit ? from / unit * unit : unit;
}

/* --- attention -------------------------------------------------------------------------- */

/* Heads of a rank: one to three as they are, else two or three. */
static uint64_t heads_a_rank(uint64_t heads, uint64_t ranks)
{
	uint64_t own = heads / ranks;

	return own > 3 ? 2 + own % 2 : own;
}

static bool rotates(const struct model *model, uint32_t dim)
{
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct dims *x = &model->value_dims[model->calls[i].operands[0]];

		if (model->calls[i].op == OPERATOR_rope && x->at[x->n - 1] == dim)
			return true;
	}
	return false;
}

/* The dim that a `linear` makes of heads times head, or of which it makes them; NO_ID: none. */
static uint32_t product_of(const struct model *model, uint32_t heads, uint32_t head)
{
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		const struct dims *two = call->to.n == 2 ? &call->to : &call->from;
		const struct dims *one = call->to.n == 2 ? &call->from : &call->to;

		if (call->op == OPERATOR_linear && two->n == 2 && one->n == 1 &&
		    two->at[0] == heads && two->at[1] == head &&
		    model->dims[one->at[0]].size ==
			    model->dims[heads].size * model->dims[head].size)
			return one->at[0];
	}
	return NO_ID;
}

/* Heads of keys and values, then groups of as many heads as in the plan, up to eight. */
static void set_heads(struct shrink *s, uint32_t heads, uint32_t shared)
{
	uint64_t *sizes = s->out->dims, ranks = (uint64_t)tensor_cut(s->plan, shared), group;

	if (sizes[shared] == NOT_YET) {
		group = heads_a_rank(full_size(s, shared), ranks) * cut(s, shared);
		sizes[shared] = next_size(s, shared, group, cut(s, shared));
	}
	if (sizes[heads] != NOT_YET)
		return;
	group = full_size(s, heads) / full_size(s, shared);
	group = group > GROUP ? GROUP - group % 2 : group;
	while (sizes[shared] * group % cut(s, heads) ||
	       !unlike(s, full_size(s, heads), sizes[shared] * group))
		group++;
	sizes[heads] = sizes[shared] * group;
}

/* The smallest head with which `embed`, if it is heads times head, is not too narrow. */
static void set_head(struct shrink *s, uint32_t heads, uint32_t head)
{
	uint64_t *sizes = s->out->dims, full = full_size(s, head), step = 2, size;
	uint32_t embed = product_of(s->model, heads, head);

	if (sizes[head] != NOT_YET)
		return;
	if (full < HEAD || (full % 2 && rotates(s->model, head)))
		step = 1;
	size = full < HEAD ? full : HEAD - full % 2;
	for (uint64_t most = full; size < most; size += step) {
		bool wide = embed == NO_ID || sizes[embed] != NOT_YET ||
			    (sizes[heads] * size >= at_most(EMBED, full_size(s, embed)) &&
			     fits(s, embed, sizes[heads] * size));

		if (wide && fits(s, head, size))
			break;
	}
	sizes[head] = size;
	if (embed != NO_ID && sizes[embed] == NOT_YET)
		sizes[embed] = sizes[heads] * size;
}

static void set_attention(struct shrink *s)
{
	const struct model *model = s->model;

	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		const struct dims *q, *k;

		if (call->op != OPERATOR_attend)
			continue;
		q = &model->value_dims[call->operands[0]];
		k = &model->value_dims[call->operands[1]];
		set_heads(s, q->at[q->n - 2], k->at[k->n - 2]);
		set_head(s, q->at[q->n - 2], q->at[q->n - 1]);
	}
}

/* --- the others ------------------------------------------------------------------------- */

/* Positions with weights are at least as many as tokens of a sample. */
static bool is_context(const struct model *model, uint32_t dim)
{
	bool used = false;

	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];

		used |= dims_have(&call->from, dim) || dims_have(&call->to, dim);
		if (call->op == OPERATOR_lookup && call->operands[0] == GIVEN_POSITION &&
		    call->from.at[0] == dim)
			return true;
	}
	return !used && model->dims[dim].size >= model->dims[model->tokens].size;
}

/* Two samples or so; as many as `sequence` has ranks, if there are so many, so that any number of
 * tokens will do. */
static void set_batch(struct shrink *s)
{
	uint32_t batch = s->model->batch;
	uint64_t ranks = plan_strategy(s->plan, STRATEGY_SEQUENCE) ? (uint64_t)s->out->tensor : 1;
	uint64_t step = full_size(s, batch) >= ranks ? ranks : 1;

	s->out->dims[batch] = 1;
	if (full_size(s, batch) > 1)
		s->out->dims[batch] = next_size(s, batch, step > 1 ? step : 2, step);
}

/* About as many as TOKENS, odd if they are; `sequence` cuts the rows of a micro-batch. */
static void set_tokens(struct shrink *s)
{
	const struct strategy *sequence = plan_strategy(s->plan, STRATEGY_SEQUENCE);
	uint64_t ranks = sequence ? (uint64_t)s->out->tensor : 1;
	uint64_t batch = s->out->dims[s->model->batch], full = full_size(s, s->model->tokens);
	uint64_t from = at_most(full, TOKENS + full % 2);

	s->out->dims[s->model->tokens] = from;
	for (uint64_t size = from; size <= at_most(full, 4 * TOKENS); size++)
		if (fits(s, s->model->tokens, size) && size * batch % ranks == 0 &&
		    (size % 2 == full % 2 || full < TOKENS)) {
			s->out->dims[s->model->tokens] = size;
			return;
		}
	for (uint64_t size = from; size > 1; size--)
		if (size * batch % ranks == 0) {
			s->out->dims[s->model->tokens] = size;
			return;
		}
}

static void set_context(struct shrink *s, uint32_t dim)
{
	uint64_t tokens = s->out->dims[s->model->tokens];

	if (full_size(s, dim) == full_size(s, s->model->tokens))
		s->out->dims[dim] = tokens;
	else
		s->out->dims[dim] = next_size(s, dim, tokens + cut(s, dim), cut(s, dim));
}

/* Scaled as the width of the model was. */
static void set_scaled(struct shrink *s, uint32_t dim)
{
	uint64_t full = full_size(s, dim), unit = cut(s, dim), size = full;

	if (full / s->wide > 64)
		size = 64 * s->narrow;
	else if (full > s->narrow)
		size = (full % s->wide * s->narrow + s->wide / 2) / s->wide +
		       full / s->wide * s->narrow;
	size = (size + unit / 2) / unit * unit;
	if (size <= 2 * unit)
		size = at_most(2 * unit, full);
	s->out->dims[dim] = next_size(s, dim, size, unit);
}

/* The scale: a width that is settled, else the largest that is not. */
static void set_scale(struct shrink *s)
{
	const struct model *model = s->model;
	uint32_t widest = NO_ID;

	for (uint32_t i = 0; i < model->batch; i++) {
		if (i == model->vocab || i == model->layers_dim || is_context(model, i))
			continue;
		if (widest == NO_ID || (s->out->dims[i] && !s->out->dims[widest]) ||
		    (!s->out->dims[i] == !s->out->dims[widest] &&
		     full_size(s, i) > full_size(s, widest)))
			widest = i;
	}
	s->wide = s->narrow = 1;
	if (widest == NO_ID)
		return;
	s->wide = full_size(s, widest);
	s->narrow = s->out->dims[widest] ? s->out->dims[widest] : at_most(EMBED, s->wide);
}

/* --- the vocabulary --------------------------------------------------------------------- */

/* Unpadded, with or without a `vocab_pad_to` that changes nothing. */
static void set_whole_vocab(struct shrink *s, uint32_t vocab)
{
	uint64_t full = full_size(s, vocab), unit = cut(s, vocab);
	uint64_t most = at_most(full, VOCAB - 2 + full % 2), size = most / unit * unit;

	while (size > 2 * unit && !fits(s, vocab, size))
		size -= unit > 1 ? unit : 2;
	s->out->dims[vocab] = size;
	s->out->pad = s->plan->model_block.vocab_pad_to.i > 1 ? (int64_t)unit : 1;
}

/* Padding in the block of the last rank alone, or more than that block where the plan has so. */
static void set_padded_vocab(struct shrink *s, uint32_t vocab)
{
	const struct dim *dim = &s->model->dims[vocab];
	uint64_t ranks = cut(s, vocab), full = (uint64_t)tensor_cut(s->plan, vocab);
	bool more = ranks > 1 && dim->padded - dim->size >= dim->padded / full;

	for (uint64_t block = VOCAB / ranks; block > 1; block--) {
		uint64_t rows = block * ranks;
		uint64_t missing = more ? block + 1 : at_most(PADDING, block - 1);

		s->out->pad = (int64_t)rows;
		s->out->dims[vocab] = rows - missing;
		if (rows - missing > 1 && rows - missing <= dim->size &&
		    unlike(s, dim->size, rows - missing))
			return;
	}
}

static void set_vocab(struct shrink *s)
{
	uint32_t vocab = s->model->vocab;

	s->out->pad = 1;
	if (vocab == NO_ID || s->out->dims[vocab] != NOT_YET)
		return;
	if (s->model->dims[vocab].padded == s->model->dims[vocab].size)
		set_whole_vocab(s, vocab);
	else
		set_padded_vocab(s, vocab);
}

/* --- all -------------------------------------------------------------------------------- */

static bool kept(const struct shrink *s, uint32_t dim)
{
	const struct model *model = s->model;
	uint64_t most = dim == model->batch ? BATCH_KEPT : SIZE_KEPT;

	if (dim == model->tokens)
		most = TOKENS_KEPT;
	return full_size(s, dim) <= most && model->dims[dim].padded % cut(s, dim) == 0 &&
	       unlike(s, full_size(s, dim), full_size(s, dim));
}

/* A model that is small already stays as it is, but for its layers, if everything still divides. */
static bool keep(struct shrink *s)
{
	const struct model *model = s->model;
	bool sequence = plan_strategy(s->plan, STRATEGY_SEQUENCE) != NULL;
	uint64_t rows = full_size(s, model->batch) * full_size(s, model->tokens);
	bool good = !sequence || rows % (uint64_t)s->out->tensor == 0;

	for (uint32_t i = 0; i < model->ndims && good; i++)
		good = i == model->layers_dim || kept(s, i);
	for (uint32_t i = 0; i < model->ndims && good; i++)
		if (i != model->layers_dim)
			s->out->dims[i] = full_size(s, i);
	s->out->pad = s->plan->model_block.vocab_pad_to.i;
	return good;
}

static void choose(struct shrink *s)
{
	const struct model *model = s->model;
	uint64_t *sizes = s->out->dims;

	set_batch(s);
	set_attention(s);
	set_tokens(s);
	set_scale(s);
	for (uint32_t i = 0; i < model->batch; i++)
		if (sizes[i] == NOT_YET && i != model->vocab && is_context(model, i))
			set_context(s, i);
	for (uint32_t i = 0; i < model->batch; i++)
		if (sizes[i] == NOT_YET && i != model->vocab)
			set_scaled(s, i);
	set_vocab(s);
}

void small_model(const struct plan *plan, struct small *out, struct work *work)
{
	struct shrink s = {.plan = plan, .model = plan->model, .out = out};
	const struct model *model = plan->model;

	out->dims = ARENA_ARRAY(work->keep, uint64_t, model->ndims);
	if (model->layers_dim != NO_ID)
		out->dims[model->layers_dim] = (uint64_t)out->layers;
	if (!keep(&s))
		choose(&s);
	out->global_batch = (int64_t)out->dims[model->batch] * out->micro_batches * out->data;
}

bool small_choose(const struct plan *plan, struct small *out, struct work *work)
{
	if (!small_mesh(plan, out, work))
		return false;
	small_layers(plan, out, work);
	small_batches(plan, out);
	small_model(plan, out, work);
	return true;
}
