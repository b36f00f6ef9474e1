/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on strategies: which go together, over which axes, and lines that except a weight. */
#include "plan/rules/plan_rules.h"

/* What a strategy asks of the ranks of its axis. zero and sequence lie over the axes of data and
 * tensor, which rule needs_strategy sees to: they clash where those do. */
static const char *const demands[STRATEGIES] = {
	[STRATEGY_DATA] = "gives each rank other sequences",
	[STRATEGY_TENSOR] = "needs every rank to see the same sequences",
	[STRATEGY_PIPELINE] = "gives each rank other layers",
	[STRATEGY_CONTEXT] = "gives each rank other tokens",
	[STRATEGY_EXPERT] = "gives each rank other experts",
};

static void note_free_axes(struct diag *diag, const struct plan *plan)
{
	for (uint32_t axis = 0; axis < plan->naxes; axis++) {
		bool used = false;

		for (uint32_t i = 0; i < plan->nstrategies; i++)
			used |= strategy_has_axis(&plan->strategies[i], axis);
		if (!used)
			diag_note(diag, "axis `%s` is used by no strategy",
				  plan->axes[axis].name->text);
	}
}

static bool check_pair(const struct plan *plan, const struct strategy *a, const struct strategy *b,
		       struct work *work)
{
	for (uint32_t i = 0; i < b->naxes; i++) {
		struct diag *diag;

		if (!strategy_has_axis(a, b->axes[i]))
			continue;
		diag = diag_add(work->diags, E0303, b->axes_span,
				"`%s` and `%s` cannot both use axis `%s`", strategy_word(a->kind),
				strategy_word(b->kind), plan->axes[b->axes[i]].name->text);
		diag_at(diag, "`%s` %s", strategy_word(b->kind), demands[b->kind]);
		diag_label(diag, a->axes_span, "`%s` %s", strategy_word(a->kind), demands[a->kind]);
		note_free_axes(diag, plan);
		return false;
	}
	return true;
}

bool rule_axis_shared(const struct plan *plan, struct work *work)
{
	bool good = true;

	for (uint32_t j = 1; j < plan->nstrategies; j++)
		for (uint32_t i = 0; i < j; i++) {
			const struct strategy *a = &plan->strategies[i], *b = &plan->strategies[j];

			if (!demands[a->kind] || !demands[b->kind] || check_pair(plan, a, b, work))
				continue;
			good = false;
			break;
		}
	return good;
}

static bool same_axes(const struct strategy *a, const struct strategy *b)
{
	if (a->naxes != b->naxes)
		return false;
	for (uint32_t i = 0; i < a->naxes; i++)
		if (!strategy_has_axis(b, a->axes[i]))
			return false;
	return true;
}

static bool check_beside(const struct plan *plan, enum strategy_kind kind, enum strategy_kind other,
			 const char *why, struct work *work)
{
	const struct strategy *strategy = plan_strategy(plan, kind);
	const struct strategy *beside = plan_strategy(plan, other);
	struct diag *diag;

	if (!strategy || (beside && same_axes(strategy, beside)))
		return true;
	/* an unknown axis, or a strategy that was misspelt */
	if (!strategy->naxes || (beside ? !beside->naxes : plan->poisoned))
		return false;
	/* `zero over a` beside `data over a * b` is a slice within groups; it needs no other rank
	 */
	if (beside && kind == STRATEGY_ZERO) {
		bool part = true;

		for (uint32_t i = 0; i < strategy->naxes; i++)
			part &= strategy_has_axis(beside, strategy->axes[i]);
		if (part)
			return true;
	}
	diag = diag_add(work->diags, E0312, strategy->span, "`%s` works only next to `%s`",
			strategy_word(kind), strategy_word(other));
	diag_at(diag, "%s", why);
	for (uint32_t i = 0; i < plan->nstrategies; i++)
		if (plan->strategies[i].kind != kind && strategy->naxes &&
		    strategy_has_axis(&plan->strategies[i], strategy->axes[0]))
			diag_label(diag, plan->strategies[i].span, "axis %s is used by `%s`",
				   strategy_axes(plan, strategy, work->keep),
				   strategy_word(plan->strategies[i].kind));
	if (beside)
		diag_label(diag, beside->axes_span, "`%s` is over %s", strategy_word(other),
			   strategy_axes(plan, beside, work->keep));
	return false;
}

bool rule_needs_strategy(const struct plan *plan, struct work *work)
{
	bool zero = check_beside(plan, STRATEGY_ZERO, STRATEGY_DATA,
				 "slices what the ranks of `data` hold alike, over the same axis",
				 work);
	bool sequence = check_beside(
		plan, STRATEGY_SEQUENCE, STRATEGY_TENSOR,
		"splits the tokens between the norms, over the axis of `tensor`", work);

	return zero && sequence;
}

bool rule_axis_of_one(const struct plan *plan, struct work *work)
{
	bool good = true;

	for (uint32_t i = 0; i < plan->nstrategies; i++) {
		const struct strategy *strategy = &plan->strategies[i];
		bool helper =
			strategy->kind == STRATEGY_ZERO || strategy->kind == STRATEGY_SEQUENCE;

		if (!helper || plan_ranks(plan, strategy) != 1)
			continue;
		good = false;
		label_axes(diag_add(work->diags, W0505, strategy->span,
				    "`%s` over an axis of size 1 does nothing",
				    strategy_word(strategy->kind)),
			   plan, strategy);
	}
	return good;
}

/* Weight of a rule line, or NULL. */
static const struct model_call *rule_call(const struct model *model, const struct model_name *name)
{
	for (uint32_t i = 0; i < model->ncalls; i++)
		if (model->calls[i].as == name)
			return &model->calls[i];
	return NULL;
}

static bool check_split_rule(const struct plan *plan, const struct split_rule *rule,
			     struct work *work)
{
	const struct model *model = rule_model(plan);
	const struct model_call *call = rule_call(model, rule->param);
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	const char *dim = model->dims[rule->dim].name->text;
	struct diag *diag;

	if (!call)
		return true;
	if (!dims_have(&call->from, rule->dim) && !dims_have(&call->to, rule->dim)) {
		diag = diag_add(work->diags, E0306, rule->span, "weight `%s` has no dim `%s`",
				rule->param->path, dim);
		diag_note(diag, "it has %s and %s", model_dims_text(model, &call->to, work->keep),
			  model_dims_text(model, &call->from, work->keep));
		return false;
	}
	if (tensor && dims_have(&tensor->dims, rule->dim) &&
	    (rule->axis == NO_ID || strategy_has_axis(tensor, rule->axis)))
		return true;
	diag = diag_add(work->diags, E0306, rule->span,
			rule->axis == NO_ID ? "dim `%s` of `%s` is whole already"
					    : "a rule cannot cut dim `%s` of `%s`",
			dim, rule->param->path);
	if (tensor)
		diag_label(diag, tensor->dims_given ? tensor->dims_span : tensor->span,
			   "cuts %s over %s", model_dims_text(model, &tensor->dims, work->keep),
			   strategy_axes(plan, tensor, work->keep));
	diag_note(diag, "a rule makes a weight less split than the strategies do, never more");
	return false;
}

bool rule_split_rules(const struct plan *plan, struct work *work)
{
	uint32_t faulty = 0; /* place of the line reported last: it may stand for several pieces */
	bool good = true;

	if (!rule_model(plan))
		return false;
	for (uint32_t i = 0; i < plan->nrules; i++) {
		const struct split_rule *rule = &plan->rules[i];

		if (!rule->param || rule->dim == NO_ID || rule->span.lo == faulty ||
		    check_split_rule(plan, rule, work))
			continue;
		faulty = rule->span.lo;
		good = false;
	}
	return good;
}
