/* SPDX-License-Identifier: Apache-2.0 */
/* Random plans and their twins, each from its seed alone.
 *
 *	plan_gen SEED THIRD DIR       writes plans and prints what was drawn
 *		DIR/layout.plan       a model over at most 8 ranks
 *		DIR/bits.plan         its twin with equal bits
 *		DIR/one.plan          its twin on one rank, equal within bounds
 *		DIR/layout64.plan     where it is not in fp64: itself in fp64,
 *		DIR/one64.plan        and its twin on one rank
 *	plan_gen select MODELS EACH FIRST
 *		seeds of EACH layouts of MODELS models, from model FIRST on: those that together
 *		show the most pairs of features
 *	plan_gen table                reads seeds, prints how many of them show each feature
 *
 * THIRD is the plan that holds the architecture of no known family. `table` fails where a feature
 * is shown by none. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_draw.h"
#include "plan_text.h"

enum { POOL_MODELS = 32, POOL_LAYOUTS = 200 };

static bool seen[FEATURES_MOST][FEATURES_MOST];

/* Pairs of features that were not seen before; one that was never seen counts for more than all
 * others. */
static int fresh(const bool *has, int n, bool take)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; has[i] && k <= i; k++) {
			if (!has[k] || seen[i][k])
				continue;
			count += i == k ? 1000 : 1;
			seen[i][k] = take;
		}
	return count;
}

static uint64_t best_layout(const struct base *base, uint64_t number, const bool *taken)
{
	int best = -1;
	uint64_t found = 0;
	for (uint64_t i = 0; i < POOL_LAYOUTS; i++) {
		bool has[FEATURES_MOST];
		struct layout layout = draw_layout(base, number * LAYOUTS_A_MODEL + i);
		int n = features(base, &layout, has), count = fresh(has, n, false);
		if (taken[i] || count <= best)
			continue;
		best = count;
		found = i;
	}
	return found;
}

/* The layouts of a model, best first: EACH of them. Returns how much they show. */
static int pick_layouts(uint64_t number, int each, uint64_t *seeds)
{
	bool taken[POOL_LAYOUTS] = {false}, has[FEATURES_MOST];
	struct base base = draw_base(number);
	int shown = 0;
	for (int k = 0; k < each; k++) {
		uint64_t i = best_layout(&base, number, taken);
		struct layout layout = draw_layout(&base, number * LAYOUTS_A_MODEL + i);
		int n = features(&base, &layout, has);
		shown += fresh(has, n, true);
		taken[i] = true;
		seeds[k] = number * LAYOUTS_A_MODEL + i;
	}
	return shown;
}

/* The model whose layouts show most: one in four trains for 20 steps, by its number. */
static uint64_t best_model(uint64_t first, int slot, int each, const bool *taken)
{
	static bool before[FEATURES_MOST][FEATURES_MOST];
	uint64_t found = 0, seeds[POOL_LAYOUTS];
	int best = -1;
	memcpy(before, seen, sizeof seen);
	for (uint64_t i = (uint64_t)slot % 4; i < POOL_MODELS; i += 4) {
		if (taken[i])
			continue;
		int shown = pick_layouts(first + i, each, seeds);
		memcpy(seen, before, sizeof seen);
		if (shown <= best)
			continue;
		best = shown;
		found = i;
	}
	return found;
}

static int select_seeds(int models, int each, uint64_t first)
{
	bool taken[POOL_MODELS] = {false};
	uint64_t seeds[POOL_LAYOUTS];
	for (int slot = 0; slot < models; slot++) {
		if (slot % POOL_MODELS == 0) {
			memset(taken, 0, sizeof taken);
			first += slot != 0 ? POOL_MODELS : 0;
		}
		uint64_t i = best_model(first, slot, each, taken);
		taken[i] = true;
		pick_layouts(first + i, each, seeds);
		for (int k = 0; k < each; k++)
			printf("%" PRIu64 "\n", seeds[k]);
	}
	return 0;
}

static int table(void)
{
	int counts[FEATURES_MOST] = {0}, missing = 0;
	uint64_t seed;
	while (scanf("%" SCNu64, &seed) == 1) {
		bool has[FEATURES_MOST];
		struct base base = draw_base(seed / LAYOUTS_A_MODEL);
		struct layout layout = draw_layout(&base, seed);
		int n = features(&base, &layout, has);
		for (int i = 0; i < n; i++)
			counts[i] += has[i];
	}
	for (int i = 0; i < nfeatures(); i++) {
		printf("%4d  %-9s  %s\n", counts[i], feature_kind(i), feature_text(i));
		missing += counts[i] == 0;
	}
	if (missing > 0)
		printf("%d shown by no layout\n", missing);
	return missing > 0;
}

static int write_plans(uint64_t seed, const char *third, const char *folder)
{
	struct base base = draw_base(seed / LAYOUTS_A_MODEL);
	struct layout layout = draw_layout(&base, seed), bits = layout_twin(&base, &layout),
		      one = layout_alone(&base);
	put_plan(folder, "layout", &base, &layout, third);
	put_plan(folder, "bits", &base, &bits, third);
	put_plan(folder, "one", &base, &one, third);
	put_summary(&base, &layout);
	if (strcmp(ways[base.way[PRECISION]].text, "precision = fp64") == 0)
		return 0;
	while (strcmp(ways[base.way[PRECISION]].text, "precision = fp64") != 0)
		base.way[PRECISION]--;
	put_plan(folder, "layout64", &base, &layout, third);
	put_plan(folder, "one64", &base, &one, third);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "table") == 0)
		return table();
	if (argc == 5 && strcmp(argv[1], "select") == 0 && atoi(argv[3]) <= POOL_LAYOUTS)
		return select_seeds(atoi(argv[2]), atoi(argv[3]), strtoull(argv[4], NULL, 10));
	if (argc == 4)
		return write_plans(strtoull(argv[1], NULL, 10), argv[2], argv[3]);
	fputs("usage: plan_gen SEED THIRD DIR, plan_gen select MODELS EACH FIRST, plan_gen table\n",
	      stderr);
	return 2;
}
