/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on dims: sizes, what `tensor` and `sequence` cut, weights cut twice or kept whole. */
#include "plan/rules/plan_rules.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* At least the factor by which padded rows make any tensor larger. */
static uint64_t padding(const struct model *model)
{
	const struct dim *vocab = model->vocab == NO_ID ? NULL : &model->dims[model->vocab];

	if (!vocab || !vocab->size || vocab->padded == vocab->size)
		return 1;
	return vocab->padded / vocab->size + 1;
}

/* Elements that a call makes: its result, and the scores where attention keeps them. */
static bool made(const struct plan *plan, const struct model_call *call, uint64_t *out)
{
	const struct model *model = plan->model;
	struct dims dims = model->value_dims[call->result];
	const struct value *attention = &plan->memory.attention;
	struct num scores;

	if (call->op != OPERATOR_attend || !value_known(attention) ||
	    !name_is(attention->word, "stored"))
		return model_elements(model, &dims, out);
	dims.n--;
	if (!model_elements(model, &dims, out))
		return false;
	scores = num_times(num_from(*out), model->dims[model->tokens].size);
	scores = num_plus(scores, num_times(num_from(*out), model->dims[dims.at[dims.n]].size));
	*out = scores.value;
	return !scores.overflow;
}

/* Bytes of weights with their optimizer state, and of every activation of a step kept at once, fit
 * 64 bits: no later size can overflow. */
bool rule_sizes(const struct plan *plan, struct work *work)
{
	enum { STATE_BYTES = 32, ELEMENT_BYTES = 64 };
	const struct model *model = rule_model(plan);
	struct num total = num_from(0);
	uint64_t count;
	bool good;

	if (!model)
		return false;
	good = model_params(model, &count);
	total = num_times(num_from(count), STATE_BYTES);
	for (uint32_t i = 0; i < model->ncalls && good; i++) {
		uint64_t copies = model->calls[i].region == REGION_REPEAT ? model->layers : 1;
		struct num bytes;

		good = made(plan, &model->calls[i], &count);
		bytes = num_times(num_times(num_from(count), copies), ELEMENT_BYTES);
		total = num_plus(total, bytes);
	}
	total = num_times(total, padding(model));
	if (good && !total.overflow && total.value <= INT64_MAX)
		return true;
	diag_at(diag_add(work->diags, E0114, model->span,
			 "the sizes of model `%s` do not fit 64 bits",
			 model->name ? model->name->text : "?"),
		"its weights and activations have too many bytes");
	return false;
}

bool rule_tensor_dims(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	bool good = true;

	if (!model)
		return false;
	for (uint32_t i = 0; tensor && i < tensor->dims.n; i++) {
		uint32_t dim = tensor->dims.at[i];

		if (dims_have(&model->tensor_dims, dim))
			continue;
		good = false;
		diag_note(diag_add(work->diags, E0306, tensor->dims_span,
				   "architecture `%s` does not let `tensor` cut dim `%s`",
				   model->architecture->text, model->dims[dim].name->text),
			  "it can cut %s", model_dims_text(model, &model->tensor_dims, work->keep));
	}
	return good;
}

/* True for the key/value heads of an attention with fewer of them than heads. */
static bool grouped(const struct model *model, uint32_t dim)
{
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		const struct dims *q, *k;

		if (call->op != OPERATOR_attend)
			continue;
		q = &model->value_dims[call->operands[0]];
		k = &model->value_dims[call->operands[1]];
		if (k->at[k->n - 2] == dim && q->at[q->n - 2] != dim)
			return true;
	}
	return false;
}

static bool copies_divide(const struct plan *plan, const struct strategy *tensor)
{
	for (uint32_t i = 0; i < tensor->naxes; i++)
		if (plan_copies(plan, tensor, tensor->axes[i]) == 0)
			return false;
	return true;
}

/* One axis goes by divisors; of several not each of them fits. */
static void note_copies(struct diag *diag, const struct plan *plan, const struct strategy *tensor,
			struct work *work)
{
	enum { MOST = 64 };
	int64_t ranks = plan_ranks(plan, tensor);
	struct strategy other = *tensor;
	const char *list = "1";

	for (int64_t next = 2; next <= ranks && next <= MOST; next++) {
		other.replicate = next;
		if (ranks % next != 0 || !copies_divide(plan, &other))
			continue;
		list = arena_text(work->keep, "%s%s%lld", list, next == ranks ? " or " : ", ",
				  (long long)next);
	}
	diag_note(diag, "numbers of copies that divide it: %s", list);
}

/* Copies are of key/value heads, and their number divides the axis. */
bool rule_replicate(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	int64_t ranks = plan_ranks(plan, tensor);
	struct diag *diag;

	if (!tensor || tensor->replicate <= 1 || tensor->replicate_dim == NO_ID)
		return true;
	if (!grouped(model, tensor->replicate_dim)) {
		diag_note(diag_add(work->diags, E0306, tensor->span,
				   "`%s` cannot be kept in copies",
				   model->dims[tensor->replicate_dim].name->text),
			  "only key/value heads, of which there are fewer than heads, can");
		return false;
	}
	if (ranks % tensor->replicate == 0 && copies_divide(plan, tensor))
		return true;
	diag = diag_add(work->diags, E0310, tensor->span,
			"%lld copies of `%s` do not divide axis %s (%lld)",
			(long long)tensor->replicate, model->dims[tensor->replicate_dim].name->text,
			strategy_axes(plan, tensor, work->keep), (long long)ranks);
	label_axes(diag, plan, tensor);
	note_copies(diag, plan, tensor, work);
	return false;
}

/* Axis sizes that divide all dims of the strategy but the vocabulary. */
static uint64_t common_divisor(const struct model *model, const struct strategy *tensor)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < tensor->dims.n; i++)
		if (tensor->dims.at[i] != model->vocab)
			all = gcd(all, model->dims[tensor->dims.at[i]].size);
	return all;
}

static void report_dim(const struct plan *plan, uint32_t dim, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	int64_t ranks = plan_ranks(plan, tensor);
	uint64_t size = model->dims[dim].size, common = common_divisor(model, tensor);
	struct span span = tensor->dims_given ? tensor->dims_span : tensor->span;
	struct diag *diag = diag_add(work->diags, E0310, span,
				     "dimension `%s` (%llu) cannot be split over axis %s (%lld)",
				     model->dims[dim].name->text, (unsigned long long)size,
				     strategy_axes(plan, tensor, work->keep), (long long)ranks);

	diag_at(diag, "splits %s", model_dims_text(model, &tensor->dims, work->keep));
	label_axes(diag, plan, tensor);
	diag_label(diag, model->dims[dim].span, "%llu `%s`", (unsigned long long)size,
		   model->dims[dim].name->text);
	if (common)
		diag_note(diag, "these dimensions allow an axis of %s",
			  num_divisors(work->keep, common, common < 4096 ? common : 4096));
	diag_note(diag, "other ranks can be those of `data` or `pipeline`, which cut no dim of a "
			"weight");
	if ((uint64_t)ranks > size && (uint64_t)ranks % size == 0 && grouped(model, dim))
		diag_note(diag, "`%s = replicate(%llu)` in the strategy keeps %llu copies of each",
			  model->dims[dim].name->text, (unsigned long long)((uint64_t)ranks / size),
			  (unsigned long long)((uint64_t)ranks / size));
}

bool rule_dims_divide(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);

	/* the first one is enough: its notes speak of all */
	for (uint32_t i = 0; tensor && i < tensor->dims.n; i++) {
		uint32_t dim = tensor->dims.at[i];

		if (dim == model->vocab ||
		    model->dims[dim].size % (uint64_t)tensor_cut(plan, dim) == 0)
			continue;
		report_dim(plan, dim, work);
		return false;
	}
	return true;
}

/* The heads of a rank read the key/value heads of the same place, so both are cut alike; or the cut
 * leaves one key/value head, which all heads of several ranks read. */
static bool parted(const struct plan *plan, const struct model *model,
		   const struct model_call *call)
{
	const struct dims *q = &model->value_dims[call->operands[0]];
	const struct dims *k = &model->value_dims[call->operands[1]];
	uint32_t heads = q->at[q->n - 2], shared = k->at[k->n - 2];
	int64_t ranks = tensor_cut(plan, heads), parts = tensor_cut(plan, shared);

	return heads != shared && ranks != parts &&
	       (parts > ranks || model->dims[shared].size != (uint64_t)parts);
}

static void report_heads(const struct plan *plan, const struct model_call *call,
			 struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	const struct dims *q = &model->value_dims[call->operands[0]];
	const struct dims *k = &model->value_dims[call->operands[1]];
	uint32_t heads = q->at[q->n - 2], shared = k->at[k->n - 2];
	const char *name = model->dims[shared].name->text;
	uint64_t size = model->dims[shared].size, ranks = (uint64_t)plan_ranks(plan, tensor);
	struct diag *diag = diag_add(work->diags, E0310,
				     tensor->dims_given ? tensor->dims_span : tensor->span,
				     "dimension `%s` over %lld ranks does not go with `%s` over "
				     "%lld",
				     model->dims[heads].name->text,
				     (long long)tensor_cut(plan, heads), name,
				     (long long)tensor_cut(plan, shared));

	diag_label(diag, call->span, "heads share %llu `%s` here", (unsigned long long)size, name);
	if (size % ranks == 0)
		diag_note(diag, "`dims` with both, and no copies, cuts them alike");
	else if (ranks % size == 0)
		diag_note(diag,
			  "`dims` with both, and `%s = replicate(%llu)`, leaves one on a rank",
			  name, (unsigned long long)(ranks / size));
	else
		diag_note(diag, "numbers of ranks that cut both alike: %s",
			  num_divisors(work->keep, size, size));
}

bool rule_heads_together(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);

	for (uint32_t i = 0; tensor && i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];

		if (call->op != OPERATOR_attend || !parted(plan, model, call))
			continue;
		report_heads(plan, call, work);
		return false;
	}
	return true;
}

bool rule_vocab_divides(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	const struct dim *vocab = model->vocab != NO_ID ? &model->dims[model->vocab] : NULL;
	uint64_t ranks, step, rows;
	struct diag *diag;

	if (!tensor || !vocab || !dims_have(&tensor->dims, model->vocab))
		return true;
	ranks = (uint64_t)plan_ranks(plan, tensor);
	if (vocab->padded % ranks == 0)
		return true;
	diag = diag_add(work->diags, E0311, tensor->dims_given ? tensor->dims_span : tensor->span,
			"dimension `%s` (%llu) cannot be split over axis %s (%llu)",
			vocab->name->text, (unsigned long long)vocab->padded,
			strategy_axes(plan, tensor, work->keep), (unsigned long long)ranks);
	diag_at(diag, "asked for here");
	diag_label(diag, vocab->span, "%llu * %llu + %llu", (unsigned long long)ranks,
		   (unsigned long long)(vocab->size / ranks),
		   (unsigned long long)(vocab->size % ranks));
	label_axes(diag, plan, tensor);
	if (num_mul(ranks, 128, &step) && num_align(vocab->size, step, &rows))
		diag_note(diag,
			  "`vocab_pad_to = %llu` in the model pads it to %llu rows, %llu unused",
			  (unsigned long long)step, (unsigned long long)rows,
			  (unsigned long long)(rows - vocab->size));
	return false;
}

/* `sequence` cuts the rows of a micro-batch, batch times position. */
bool rule_sequence_divides(const struct plan *plan, struct work *work)
{
	const struct strategy *sequence = plan_strategy(plan, STRATEGY_SEQUENCE);
	const struct value *batch = &plan->train.micro_batch, *length = &plan->train.seq_len;
	struct num rows;
	int64_t ranks;
	struct diag *diag;

	if (!sequence || !value_known(batch) || !value_known(length) || batch->i <= 0 ||
	    length->i <= 0)
		return true;
	ranks = plan_ranks(plan, sequence);
	rows = num_times(num_from((uint64_t)batch->i), (uint64_t)length->i);
	if (rows.overflow || rows.value % (uint64_t)ranks == 0)
		return true;
	diag = diag_add(work->diags, E0310, sequence->span,
			"the %llu tokens of a micro-batch cannot be split over axis %s (%lld)",
			(unsigned long long)rows.value, strategy_axes(plan, sequence, work->keep),
			(long long)ranks);
	label_axes(diag, plan, sequence);
	diag_label(diag, length->span, "%lld tokens a sequence", (long long)length->i);
	diag_label(diag, batch->span, "%lld at once", (long long)batch->i);
	return false;
}

/* Rows are cut as one run of batch times position: a rank has tokens of one sample that it lacks of
 * another, and no block of such a weight is that of its tokens. */
bool rule_sequence_weights(const struct plan *plan, struct work *work)
{
	const struct strategy *sequence = plan_strategy(plan, STRATEGY_SEQUENCE);
	const struct model *model = rule_model(plan);
	bool good = true;

	if (!sequence || !model || plan_ranks(plan, sequence) < 2)
		return true;
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];

		if (!dims_have(&call->from, model->tokens) && !dims_have(&call->to, model->tokens))
			continue;
		good = false;
		diag_label(diag_add(work->diags, E0315, sequence->span,
				    "`sequence` cuts the tokens, and `%s` has weights over them",
				    operator_row(call->op)->name),
			   call->span, "over `tokens`");
	}
	return good;
}

/* True if `tensor` cuts the dim of this weight: a rule may have made it whole. */
static bool weight_cut(const struct plan *plan, const struct model_call *call, uint32_t dim)
{
	for (uint32_t i = 0; i < plan->nrules; i++) {
		const struct split_rule *rule = &plan->rules[i];

		if (rule->param == (call->as ? call->as : call->tied) && rule->dim == dim &&
		    rule->axis == NO_ID)
			return false;
	}
	return tensor_cut(plan, dim) > 1;
}

static uint32_t cut_side(const struct plan *plan, const struct model_call *call,
			 const struct dims *dims)
{
	for (uint32_t i = 0; i < dims->n; i++)
		if (weight_cut(plan, call, dims->at[i]))
			return dims->at[i];
	return NO_ID;
}

bool rule_weight_sides(const struct plan *plan, struct work *work)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	bool good = true;

	for (uint32_t i = 0; tensor && i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		uint32_t from, to;

		if (!operator_row(call->op)->arrow)
			continue;
		from = cut_side(plan, call, &call->from);
		to = cut_side(plan, call, &call->to);
		if (from == NO_ID || to == NO_ID)
			continue;
		good = false;
		diag_label(diag_add(work->diags, E0314,
				    tensor->dims_given ? tensor->dims_span : tensor->span,
				    "axis %s would cut both `%s` and `%s` of weight `%s`",
				    strategy_axes(plan, tensor, work->keep),
				    model->dims[to].name->text, model->dims[from].name->text,
				    (call->as ? call->as : call->tied)->path),
			   call->span, "the weight is made here");
	}
	return good;
}

static uint64_t type_bytes(const struct value *type)
{
	if (name_is(type->word, "bf16"))
		return 2;
	return name_is(type->word, "fp64") ? 8 : 4;
}

/* A vocabulary that `dims [...]` leaves whole, if its table is large. */
bool rule_kept_whole(const struct plan *plan, struct work *work)
{
	enum { LARGE = 64 << 20 };
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const struct model *model = rule_model(plan);
	int64_t ranks = plan_ranks(plan, tensor);
	bool good = true;

	if (!tensor || ranks <= 1 || !tensor->dims_given || model->vocab == NO_ID ||
	    !dims_have(&model->tensor_dims, model->vocab) ||
	    dims_have(&tensor->dims, model->vocab) || !value_known(&plan->precision.params))
		return true;
	for (uint32_t i = 0; i < model->ncalls; i++) {
		const struct model_call *call = &model->calls[i];
		uint64_t count;

		if (!call->as ||
		    (!dims_have(&call->from, model->vocab) && !dims_have(&call->to, model->vocab)))
			continue;
		if (!model_call_params(model, call, &count) ||
		    count < LARGE / type_bytes(&plan->precision.params))
			continue;
		good = false;
		diag_at(diag_add(work->diags, W0501, tensor->dims_span,
				 "`%s` (%s) is kept whole on all %lld ranks of axis %s",
				 call->as->path,
				 num_bytes(work->keep, count * type_bytes(&plan->precision.params),
					   2),
				 (long long)ranks, strategy_axes(plan, tensor, work->keep)),
			"`%s` is not split", model->dims[model->vocab].name->text);
	}
	return good;
}
