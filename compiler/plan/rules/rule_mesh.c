/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on the mesh: its product, where axes lie, axes nobody uses. */
#include "plan/rules/plan_rules.h"

bool rule_mesh_known(const struct plan *plan, struct work *work)
{
	(void)work;
	if (plan->mesh_poisoned)
		return false;
	for (uint32_t i = 0; i < plan->naxes; i++)
		if (plan->axes[i].poisoned || plan->axes[i].size <= 0)
			return false;
	return true;
}

/* "16 * 16 * 8 = 2048" */
static char *product_text(const struct plan *plan, uint64_t product, struct arena *arena)
{
	char *text = arena_text(arena, "%s", "");

	for (uint32_t i = 0; i < plan->naxes; i++)
		text = arena_text(arena, "%s%s%lld", text, i ? " * " : "",
				  (long long)plan->axes[i].size);
	return plan->naxes > 1 ? arena_text(arena, "%s = %llu", text, (unsigned long long)product)
			       : text;
}

/* The axis whose change alone makes the product right, as a note. */
static void note_fitting(struct diag *diag, const struct plan *plan, uint64_t product,
			 uint64_t devices)
{
	for (uint32_t i = 0; i < plan->naxes; i++) {
		const struct axis *axis = &plan->axes[i];
		uint64_t others = product / (uint64_t)axis->size;

		if (devices % others == 0)
			diag_note(diag, "with `%s` = %llu the product is %llu", axis->name->text,
				  (unsigned long long)(devices / others),
				  (unsigned long long)devices);
	}
}

/* Groups are walked rank by rank where bytes between ranks are counted. */
static bool check_many(const struct plan *plan, uint64_t ranks, struct work *work)
{
	enum { RANKS_MAX = 1 << 20 };
	struct diag *diag;

	if (ranks <= RANKS_MAX)
		return true;
	diag = diag_add(work->diags, E0115, plan->mesh_span, "a mesh of %llu places is too large",
			(unsigned long long)ranks);
	diag_at(diag, "at most %d", RANKS_MAX);
	return false;
}

bool rule_mesh_product(const struct plan *plan, struct work *work)
{
	const struct value *nodes = &plan->cluster.nodes, *each = &plan->cluster.devices;
	struct num product = num_from(1), devices;
	struct diag *diag;

	if (!value_known(nodes) || !value_known(each) || nodes->i <= 0 || each->i <= 0)
		return false;
	for (uint32_t i = 0; i < plan->naxes; i++)
		product = num_times(product, (uint64_t)plan->axes[i].size);
	devices = num_times(num_from((uint64_t)nodes->i), (uint64_t)each->i);
	if (product.overflow || devices.overflow)
		return false;
	if (product.value == devices.value)
		return check_many(plan, product.value, work);
	if (!plan->naxes && plan->poisoned)
		return false;
	diag = diag_add(work->diags, E0301, plan->naxes ? plan->mesh_span : each->span,
			"the mesh has %llu place%s, the cluster has %llu device%s",
			(unsigned long long)product.value, product.value == 1 ? "" : "s",
			(unsigned long long)devices.value, devices.value == 1 ? "" : "s");
	if (plan->naxes)
		diag_at(diag, "%s", product_text(plan, product.value, work->keep));
	else
		diag_note(diag, "a plan without a mesh runs on one device");
	diag_label(diag, nodes->span, "%lld node%s", (long long)nodes->i, nodes->i == 1 ? "" : "s");
	if (plan->naxes)
		diag_label(diag, each->span, "%lld devices each: %llu", (long long)each->i,
			   (unsigned long long)devices.value);
	note_fitting(diag, plan, product.value, devices.value);
	return false;
}

/* Ranks are numbered with the last axis fastest: an axis spans blocks of `stride * size` ranks,
 * which stay in a node if they divide it. */
static bool place_holds(const struct plan *plan, uint32_t at, struct work *work)
{
	const struct axis *axis = &plan->axes[at];
	int64_t each = plan->cluster.devices.i;
	struct num span = num_from(1);
	struct diag *diag;

	for (uint32_t i = at; i < plan->naxes; i++)
		span = num_times(span, (uint64_t)plan->axes[i].size);
	if (plan->cluster.nodes.i == 1 || (!span.overflow && (uint64_t)each % span.value == 0))
		return true;
	diag = diag_add(work->diags, E0302, axis->size_span, "axis `%s` does not fit in a node",
			axis->name->text);
	if (axis->size > each)
		diag_at(diag, "%lld ranks cannot share one node", (long long)axis->size);
	else
		diag_at(diag, "its ranks lie in blocks of %llu", (unsigned long long)span.value);
	diag_label(diag, plan->cluster.devices.span, "a node has %lld devices", (long long)each);
	if (axis->size <= each && at + 1 < plan->naxes)
		diag_note(diag,
			  "the last axis is numbered fastest: one that stays in a node is last");
	else
		diag_note(diag, "an axis within a node has a size of %s",
			  num_divisors(work->keep, (uint64_t)each, (uint64_t)each));
	return false;
}

bool rule_axis_place(const struct plan *plan, struct work *work)
{
	bool good = true;

	if (!value_known(&plan->cluster.devices) || !value_known(&plan->cluster.nodes) ||
	    plan->cluster.devices.i <= 0)
		return false;
	for (uint32_t i = 0; i < plan->naxes; i++)
		if (plan->axes[i].within && name_is(plan->axes[i].place, "node"))
			good &= place_holds(plan, i, work);
	return good;
}

static bool axis_used(const struct plan *plan, uint32_t axis)
{
	for (uint32_t i = 0; i < plan->nstrategies; i++)
		if (strategy_has_axis(&plan->strategies[i], axis))
			return true;
	return false;
}

bool rule_axis_idle(const struct plan *plan, struct work *work)
{
	struct diag *diag;
	bool good = true;

	for (uint32_t i = 0; i < plan->naxes; i++) {
		const struct axis *axis = &plan->axes[i];

		if (axis->size <= 1 || axis_used(plan, i))
			continue;
		good = false;
		/* a faulty `split` may have named it */
		if (plan->poisoned)
			continue;
		diag = diag_add(work->diags, E0304, axis->span, "axis `%s` is used by no strategy",
				axis->name->text);
		diag_note(diag, "its %lld ranks would all do the same", (long long)axis->size);
		if (!plan->nstrategies)
			diag_note(diag, "`split { data over %s }` gives each a share of the batch",
				  axis->name->text);
	}
	return good;
}
