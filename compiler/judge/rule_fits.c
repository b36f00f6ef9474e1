/* SPDX-License-Identifier: Apache-2.0 */
/* E0401: the table, where the peak is, and the bytes a weight. */
#include "judge/table_lines.h"
#include "judge/rules.h"
#include "judge/table.h"

#include <string.h>

#include "base/num.h"

enum { MOST_DIGITS = 6 };

/* Both numbers with as many decimals as it takes to tell them apart, at last in bytes. */
static void tell_apart(const struct verdict *verdict, struct arena *arena, const char **peak,
		       const char **limit)
{
	int digits = 1;

	do {
		*peak = num_bytes(arena, verdict->peak, digits);
		*limit = num_bytes(arena, verdict->limit, digits);
	} while (!strcmp(*peak, *limit) && ++digits <= MOST_DIGITS);
	if (strcmp(*peak, *limit) != 0)
		return;
	*peak = arena_text(arena, "%s bytes", num_grouped(arena, verdict->peak));
	*limit = arena_text(arena, "%s", num_grouped(arena, verdict->limit));
}

static struct diag *add_title(const struct verdict *verdict, struct work *work, struct span span)
{
	const struct plan *plan = verdict->plan;
	const char *device = plan->device_name, *peak, *limit;

	tell_apart(verdict, work->scratch, &peak, &limit);
	return diag_add(work->diags, E0401, span, "the plan needs %s %s, %s %s %s %s", peak,
			rules_where(plan), rules_article(device), device,
			verdict->limit < verdict->capacity ? "leaves" : "has", limit);
}

/* Bytes a weight: "16", or two decimals where it is no whole number. */
static const char *each(uint64_t bytes, uint64_t params, struct arena *arena)
{
	unsigned __int128 hundredths = ((unsigned __int128)bytes * 200 + params) / 2 / params;

	if (bytes % params == 0)
		return arena_text(arena, "%llu", (unsigned long long)(bytes / params));
	return arena_text(arena, "%llu.%02llu", (unsigned long long)(hundredths / 100),
			  (unsigned long long)(hundredths % 100));
}

/* "112.0", in units of `unit`. */
static const char *tenths(uint64_t value, uint64_t unit, struct arena *arena)
{
	unsigned __int128 scaled = ((unsigned __int128)value * 20 + unit) / 2 / unit;

	return arena_text(arena, "%llu.%llu", (unsigned long long)(scaled / 10),
			  (unsigned long long)(scaled % 10));
}

/* "112.0 GB" */
static const char *decimal_bytes(uint64_t bytes, struct arena *arena)
{
	const uint64_t giga = 1000000000;

	if (bytes >= giga)
		return arena_text(arena, "%s GB", tenths(bytes, giga, arena));
	return arena_text(arena, "%s MB", tenths(bytes, giga / 1000, arena));
}

/* "7.0e9": exponents are multiples of 3. */
static const char *engineering(uint64_t value, struct arena *arena)
{
	uint64_t unit = 1;
	int exponent = 0;

	for (; value / unit >= 1000 && exponent < 18; unit *= 1000)
		exponent += 3;
	if (!exponent)
		return arena_text(arena, "%llu", (unsigned long long)value);
	return arena_text(arena, "%se%d", tenths(value, unit, arena), exponent);
}

/* Bytes that each weight brings, in the order of the note. */
enum share { SHARE_WEIGHT, SHARE_GRADIENT, SHARE_MASTER, SHARE_MOMENTS, SHARES };

static uint64_t shares_of(const struct program *program, uint64_t shares[SHARES])
{
	uint64_t sum = 0;

	for (uint32_t i = 0; program->params && i < program->graph->nparams; i++) {
		const struct param_buffers *buffers = &program->params[i];

		shares[SHARE_WEIGHT] += lines_bytes(program, buffers->weight);
		shares[SHARE_MASTER] += lines_bytes(program, buffers->master);
		shares[SHARE_MOMENTS] += lines_bytes(program, buffers->moment1) +
					 lines_bytes(program, buffers->moment2);
		for (uint32_t k = 0; k < program->graph->params[i].sites; k++)
			shares[SHARE_GRADIENT] += lines_bytes(program, buffers->gradient[k]);
	}
	for (int i = 0; i < SHARES; i++)
		sum += shares[i];
	return sum;
}

/* "16 bytes = 2 weight + 2 gradient + 4 master + 8 moments" */
static void note_shares(struct diag *diag, const struct verdict *verdict, uint64_t state,
			struct work *work)
{
	static const char *const names[] = {"weight", "gradient", "master", "moments"};
	uint64_t shares[SHARES] = {0};
	const char *text = "";

	if (shares_of(verdict->layout->program, shares) != state)
		return;
	for (int i = 0; i < SHARES; i++)
		if (shares[i])
			text = arena_text(work->scratch, "%s%s%s %s", text, *text ? " + " : "",
					  each(shares[i], verdict->params, work->scratch),
					  names[i]);
	diag_note(diag, "%s bytes = %s", each(state, verdict->params, work->scratch), text);
}

static void note_state(struct diag *diag, const struct verdict *verdict, struct work *work)
{
	const uint64_t *items = verdict->at.items;
	uint64_t state = items[ITEM_WEIGHTS] + items[ITEM_GRADIENTS] + items[ITEM_OPTIMIZER];

	if (!state || !verdict->params)
		return;
	diag_note(diag, "%s = %s bytes x %s weights", decimal_bytes(state, work->scratch),
		  each(state, verdict->params, work->scratch),
		  engineering(verdict->params, work->scratch));
	note_shares(diag, verdict, state, work);
}

/* "peak on rank 0 (all 8 ranks are alike), " */
static const char *ranks_text(const struct verdict *verdict, struct arena *arena)
{
	const struct program *program = verdict->layout->program;
	long long devices = verdict->plan->devices;

	if (program->nroles > 1 || program->stages > 1)
		return arena_text(arena, "peak on the ranks of %s, ",
				  program->roles[verdict->role].name->text);
	if (devices < 2)
		return "peak in the ";
	if (devices == 2)
		return "peak on rank 0 (both ranks are alike), ";
	return arena_text(arena, "peak on rank 0 (all %lld ranks are alike), ", devices);
}

/* "forward pass, `head_forward` step 3 of 12"; steps count from 1. */
static const char *instant_text(const struct verdict *verdict, struct arena *arena)
{
	static const char *const names[PHASES] = {[PHASE_INIT] = "setup",
						  [PHASE_FORWARD] = "forward pass",
						  [PHASE_BACKWARD] = "backward pass",
						  [PHASE_UPDATE] = "update"};
	const char *phase = names[verdict->phase];
	const struct segment *segment;

	if (verdict->at.segment == NO_ID)
		return phase;
	segment = &verdict->layout->program->segments[verdict->at.segment];
	return arena_text(arena, "%s, `%s` step %u of %u", phase, segment->name->text,
			  verdict->at.step + 1, segment->nsteps);
}

static struct span primary_of(const struct plan *plan)
{
	if (plan->nrecompute && plan->recompute[0].span.hi)
		return plan->recompute[0].span;
	return plan->model->span;
}

static void add_labels(struct diag *diag, const struct verdict *verdict, struct work *work)
{
	static const char *const kept[] = {[RECOMPUTE_NONE] = "all activations are kept",
					   [RECOMPUTE_BLOCK] = "one tensor a layer is kept",
					   [RECOMPUTE_SELECTIVE] = "the others are kept"};
	const struct plan *plan = verdict->plan;
	const struct value *micro = &plan->train.micro_batch;
	uint64_t mib = verdict->capacity >> 20;

	if (plan->nrecompute && plan->recompute[0].span.hi)
		diag_at(diag, "%s", kept[plan->recompute[0].kind]);
	else
		diag_at(diag, "%s weights", num_grouped(work->scratch, verdict->params));
	diag_label(diag, plan->device_span, "%s MiB = %s", num_grouped(work->scratch, mib),
		   num_gib(work->scratch, verdict->capacity, mib < 1024 ? 3 : 1));
	if (micro->span.hi)
		diag_label(diag, micro->span, "%lld sequence%s at once", (long long)micro->i,
			   micro->i == 1 ? "" : "s");
}

bool rule_fits(const struct verdict *verdict, struct work *work)
{
	struct diag *diag;

	if (verdict->peak <= verdict->limit)
		return true;
	diag = add_title(verdict, work, primary_of(verdict->plan));
	add_labels(diag, verdict, work);
	diag_table(diag, arena_text(work->scratch, "%s%s\n\n%s", ranks_text(verdict, work->scratch),
				    instant_text(verdict, work->scratch),
				    table_short(verdict, work->scratch)));
	note_state(diag, verdict, work);
	rules_note_reduce(diag, verdict, work);
	return false;
}
