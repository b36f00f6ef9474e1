/* SPDX-License-Identifier: Apache-2.0 */
/* test_formula [FILE...]: every item of the layout of every stage against the formula, in every
 * precision, to the byte: for plans of files, or, without any, for those of draws.c. */
#include "compiled.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "draws.h"
#include "formula.h"

static const char *const none[] = {NULL};

/* The text with another word after `precision =`. */
static char *in_precision(struct arena *arena, const char *text, const char *word)
{
	const char *line = strstr(text, "\nprecision = ");
	if (!line)
		return NULL;
	return arena_text(arena, "%.*s\nprecision = %s%s", (int)(line - text), text, word,
			  strchr(line + 1, '\n'));
}

static void check_item(const char *name, uint64_t got, uint64_t want)
{
	check_number(__FILE__, __LINE__, name, (long long)got, (long long)want);
}

static enum part part_of(const struct segment *segment)
{
	return segment->region == REGION_REPEAT	  ? LAYER
	       : segment->region == REGION_BEFORE ? BEFORE
						  : AFTER;
}

/* What lives between segments; buckets, in the fullest segment of the backward pass. */
static void check_stage(const struct layout *layout, const struct described *d,
			const struct types *types, uint64_t stage)
{
	struct bytes want = formula_stage(d, types, stage);
	const struct home *home = &layout->homes[0];
	const struct peak *update = &home->peak[PHASE_UPDATE];
	const struct peak *back = &home->peak[PHASE_BACKWARD];
	enum part part = part_of(&layout->program->segments[back->segment]);
	uint64_t bucket = formula_bucket(d, types, part);
	check_item("weights", update->items[ITEM_WEIGHTS], want.weights);
	check_item("gradients", update->items[ITEM_GRADIENTS], want.gradients);
	check_item("optimizer", update->items[ITEM_OPTIMIZER], want.optimizer);
	/* what is kept instead of activations stands under recompute */
	check_item("activations",
		   update->items[ITEM_ACTIVATIONS] + update->items[ITEM_RECOMPUTE],
		   want.activations);
	check_item("communication", update->items[ITEM_COMM], want.communication);
	check_item("data", update->items[ITEM_DATA], want.data);
	check_item("working set", update->items[ITEM_WORKING], want.adjoint);
	check_item("buckets", back->items[ITEM_GRADIENTS] - want.gradients, bucket);
	for (int phase = 0; phase < PHASES; phase++) {
		uint64_t sum = home->peak[phase].gaps;
		for (int item = 0; item < ITEMS; item++)
			sum += home->peak[phase].items[item];
		check_item("items and gaps", sum, home->peak[phase].total);
		CHECK(sum <= home->arena);
	}
}

static uint64_t tested;

static void check_precision(const char *name, const char *text, const struct types *types,
			    struct arena *arena)
{
	struct described d;
	const char *changed = in_precision(arena, text, types->name);
	struct compiled_plan *c = changed ? compiled_text(name, changed, none) : NULL;
	uint64_t stage = 0;
	CHECK(changed && described_read(changed, &d));
	CHECK(c != NULL);
	if (!c)
		return;
	for (const struct layout *at = &c->layout; at; at = at->next, stage++) {
		int before = check_failures;
		check_stage(at, &d, types, stage);
		if (check_failures > before)
			fprintf(stderr, "%s, %s, stage %d\n", name, types->name, (int)stage);
	}
	CHECK_INT(stage, d.pp);
	compiled_close(c);
	tested++;
}

static void check_plan(const char *name, const char *text)
{
	struct arena *arena = arena_new();
	int before = check_failures;
	for (int i = 0; i < ALL_TYPES && check_failures == before; i++)
		check_precision(name, text, &all_types[i], arena);
	if (check_failures > before)
		fprintf(stderr, "%s\n", text);
	arena_delete(arena);
}

static void check_files(int n, char **paths)
{
	struct arena *arena = arena_new();
	for (int i = 0; i < n; i++) {
		size_t length;
		char *text = text_read(arena, paths[i], &length);
		CHECK(text != NULL);
		if (text)
			check_plan(paths[i], text);
	}
	arena_delete(arena);
}

static void check_draws(void)
{
	struct arena *arena = arena_new();
	for (int i = 0; i < DRAWS; i++) {
		char *text = draw_text(arena, i);
		check_plan(arena_text(arena, "draw %d", i), text);
	}
	arena_delete(arena);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		check_files(argc - 1, argv + 1);
	else
		check_draws();
	printf("%d layouts\n", (int)tested);
	return check_done();
}
