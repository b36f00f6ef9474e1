/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and stages of a small plan. */
#include "driver/rehearse/small.h"

#include <string.h>

#include "plan/rules/plan_rules.h"

enum { KEPT_STAGES = 3, KEPT_DATA = 3, FEW = 2 };

/* Who uses an axis, in the order in which axes get their ranks. */
static const enum strategy_kind users[] = {STRATEGY_PIPELINE, STRATEGY_TENSOR, STRATEGY_ZERO,
					   STRATEGY_DATA, STRATEGY_CONTEXT, STRATEGY_EXPERT};
enum { USERS = sizeof users / sizeof *users };

static int user_of(const struct plan *plan, uint32_t axis)
{
	for (int k = 0; k < USERS; k++) {
		const struct strategy *strategy = plan_strategy(plan, users[k]);

		if (strategy && strategy_has_axis(strategy, axis))
			return k;
	}
	return USERS;
}

static bool used_by(const struct plan *plan, uint32_t axis, enum strategy_kind kind)
{
	int user = user_of(plan, axis);

	return user < USERS && users[user] == kind;
}

static bool splits_data(const struct plan *plan, uint32_t axis)
{
	return used_by(plan, axis, STRATEGY_ZERO) || used_by(plan, axis, STRATEGY_DATA);
}

static int64_t product(const struct plan *plan, const struct small *small)
{
	int64_t ranks = 1;

	for (uint32_t i = 0; i < plan->naxes; i++)
		ranks *= small->axes[i];
	return ranks;
}

static int64_t ranks_of(const struct plan *plan, const struct small *small,
			enum strategy_kind kind)
{
	const struct strategy *strategy = plan_strategy(plan, kind);
	int64_t ranks = 1;

	for (uint32_t i = 0; strategy && i < strategy->naxes; i++)
		ranks *= small->axes[strategy->axes[i]];
	return ranks;
}

/* --- stages ----------------------------------------------------------------------------- */

uint64_t small_full_layers(const struct plan *plan, uint64_t chunk)
{
	uint64_t parts = (uint64_t)(plan->stages * plan->pipeline.chunks.i);
	uint64_t layers = plan->model->layers;

	if (plan->nlayer_list)
		return (uint64_t)plan->layer_list[chunk].i;
	return layers / parts + (chunk < layers % parts);
}

const struct recompute *small_recompute(const struct plan *plan, int64_t stage)
{
	for (uint32_t i = 0; i < plan->nrecompute; i++) {
		const struct recompute *recompute = &plan->recompute[i];

		if (recompute->first_stage < 0 ||
		    (recompute->first_stage <= stage && stage <= recompute->last_stage))
			return recompute;
	}
	return NULL;
}

/* True if two stages, neither the first nor the last, do the same: layers a chunk, recompute. */
static bool alike(const struct plan *plan, int64_t a, int64_t b)
{
	for (int64_t chunk = 0; chunk < plan->pipeline.chunks.i; chunk++)
		if (small_full_layers(plan, (uint64_t)(chunk * plan->stages + a)) !=
		    small_full_layers(plan, (uint64_t)(chunk * plan->stages + b)))
			return false;
	return small_recompute(plan, a) == small_recompute(plan, b);
}

/* The first stage between the outer ones that is unlike the second; 0: all are alike. */
static int64_t other_kind(const struct plan *plan)
{
	for (int64_t stage = 2; stage + 1 < plan->stages; stage++)
		if (!alike(plan, 1, stage))
			return stage;
	return 0;
}

/* First, middle, last; two in the middle where there are two kinds of them. */
static int64_t stages_kept(const struct plan *plan)
{
	if (plan->stages <= KEPT_STAGES)
		return plan->stages;
	return KEPT_STAGES + (other_kind(plan) != 0);
}

static void map_stages(const struct plan *plan, struct small *out)
{
	int64_t other = other_kind(plan), last = out->stages - 1;

	for (int64_t i = 0; i < out->stages; i++)
		out->stage_of[i] = last ? i * (plan->stages - 1) / last : 0;
	if (out->stages > FEW)
		out->stage_of[1] = 1;
	if (out->stages > KEPT_STAGES && other)
		out->stage_of[2] = other;
}

/* --- axes ------------------------------------------------------------------------------- */

/* An axis that has all stages keeps their kinds; where several share them, each is two. */
static void set_axes(const struct plan *plan, struct small *out)
{
	const struct strategy *pipeline = plan_strategy(plan, STRATEGY_PIPELINE);

	for (uint32_t i = 0; i < plan->naxes; i++)
		out->axes[i] = plan->axes[i].size > FEW ? FEW : plan->axes[i].size;
	for (uint32_t i = 0; pipeline && i < pipeline->naxes; i++)
		if (plan->axes[pipeline->axes[i]].size == plan->stages)
			out->axes[pipeline->axes[i]] = stages_kept(plan);
}

/* Ranks that share key/value heads stay as many as they are while there is room for them. */
static void set_copies(const struct plan *plan, struct small *out)
{
	const struct strategy *tensor = plan_strategy(plan, STRATEGY_TENSOR);
	int64_t whole, cut, others, copies;

	out->copies = 1;
	if (!tensor || tensor->replicate <= 1)
		return;
	whole = ranks_of(plan, out, STRATEGY_TENSOR);
	cut = plan_ranks(plan, tensor) / tensor->replicate > 1 ? FEW : 1;
	out->copies = whole / cut > 1 ? whole / cut : FEW;
	if (tensor->naxes > 1)
		return;
	others = product(plan, out) / whole;
	copies = tensor->replicate;
	while (copies > FEW && (others * cut * copies > SMALL_RANKS || tensor->replicate % copies))
		copies--;
	out->copies = copies;
	out->axes[tensor->axes[0]] = cut * copies;
}

/* Three data ranks where there is room: their sums are no balanced tree, slices do not divide. */
static void set_third(const struct plan *plan, struct small *out)
{
	int64_t ranks = product(plan, out);

	for (int k = 0; k < USERS; k++)
		for (uint32_t i = 0; i < plan->naxes; i++)
			if (user_of(plan, i) == k && splits_data(plan, i) &&
			    plan->axes[i].size >= KEPT_DATA &&
			    ranks / out->axes[i] * KEPT_DATA <= SMALL_RANKS) {
				out->axes[i] = KEPT_DATA;
				return;
			}
}

static char *mesh_text(const struct plan *plan, const struct small *small, struct work *work)
{
	struct text text = text_new(work->keep);

	for (uint32_t i = 0; i < plan->naxes; i++)
		text_add(&text, "%s%s %lld", i ? ", " : "", plan->axes[i].name->text,
			 (long long)small->axes[i]);
	return text.at;
}

/* The first axis, in the order of users, with which there are too many ranks. */
static bool check_ranks(const struct plan *plan, const struct small *small, struct work *work)
{
	int64_t ranks = 1;

	for (int k = 0; k <= USERS; k++)
		for (uint32_t i = 0; i < plan->naxes; i++) {
			struct diag *diag;

			if (user_of(plan, i) != k)
				continue;
			ranks *= small->axes[i];
			if (ranks <= SMALL_RANKS)
				continue;
			diag = diag_add(work->diags, E0340, plan->axes[i].span,
					"a rehearsal has at most %d ranks, this plan needs %lld",
					SMALL_RANKS, (long long)product(plan, small));
			diag_at(diag, "axis `%s` would be left out", plan->axes[i].name->text);
			diag_note(diag, "its small mesh is %s", mesh_text(plan, small, work));
			return false;
		}
	return true;
}

/* A node holds what has to stay within one; where nothing has, the last axis if it did. */
static void set_nodes(const struct plan *plan, struct small *out)
{
	int64_t inside = 1, first = plan->naxes;

	for (uint32_t i = plan->naxes; i-- > 0;)
		if (plan->axes[i].within)
			first = i;
	if (first == plan->naxes && first > 0 && plan->cluster.devices.i > 1)
		first--;
	for (int64_t i = first; i < plan->naxes; i++)
		inside *= out->axes[i];
	out->devices = plan->cluster.nodes.i > 1 ? inside : out->ranks;
	out->nodes = out->ranks / out->devices;
}

bool small_mesh(const struct plan *plan, struct small *out, struct work *work)
{
	*out = (struct small){.axes = ARENA_ARRAY(work->keep, int64_t, plan->naxes + 1)};
	set_axes(plan, out);
	set_copies(plan, out);
	set_third(plan, out);
	out->ranks = product(plan, out);
	out->tensor = ranks_of(plan, out, STRATEGY_TENSOR);
	out->data = ranks_of(plan, out, STRATEGY_DATA);
	out->stages = ranks_of(plan, out, STRATEGY_PIPELINE);
	if (!check_ranks(plan, out, work))
		return false;
	map_stages(plan, out);
	set_nodes(plan, out);
	return true;
}
