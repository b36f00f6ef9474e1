/* SPDX-License-Identifier: Apache-2.0 */
/* rehearse: a plan made small, trained here beside its twin on one rank. */
#include "driver/commands.h"

#include <string.h>

#include "driver/rehearse/rehearsal.h"

/* --- the plan itself -------------------------------------------------------------------- */

static bool is_limit(const struct diag *diag)
{
	return diag->level == LEVEL_ERROR && (diag->code == E0401 || diag->code == E0402);
}

/* What a small plan is rid of: the devices, checkpoints. */
static bool is_shed(const struct diag *diag, const struct plan *plan)
{
	return diag->code == N0901 &&
	       (diag->span.lo == plan->device_span.lo ||
		(plan->has_checkpoint && diag->span.lo == plan->checkpoint.every.span.lo));
}

/* Takes out what is no fault of a rehearsal, and keeps in mind that limits are not met. */
static void take_out(struct session *session, struct rehearsal *r)
{
	struct diags *diags = session->work.diags;
	uint32_t kept = 0;

	r->fits = r->limits_met = true;
	for (uint32_t i = 0; i < diags->all.n; i++) {
		struct diag *diag = diags->all.at[i];

		diags->errors -= is_limit(diag);
		r->fits &= !is_limit(diag) || diag->code != E0401;
		r->limits_met &= !is_limit(diag) || diag->code != E0402;
		if (!is_limit(diag) && !is_shed(diag, r->outcome->compiled.plan))
			diags->all.at[kept++] = diag;
	}
	diags->all.n = kept;
}

/* A plan that passes but for its limits. */
static bool check(struct session *session, struct rehearsal *r)
{
	struct outcome *outcome;

	session->work.check_only = false;
	outcome = session_compile(session, 0, NULL);
	if (!outcome || !outcome->compiled.plan)
		return false;
	r->outcome = outcome;
	take_out(session, r);
	outcome->good = !session->work.diags->errors;
	return outcome->good && artifacts_emittable(session) && outcome->compiled.judged;
}

/* --- the programs ----------------------------------------------------------------------- */

static struct trial new_trial(struct session *session, const struct rehearsal *r,
			      const struct pair *pair, enum small_layout layout)
{
	struct arena *arena = session->work.keep;

	return (struct trial){
		.name = arena_text(arena, "%s/%s", pair->wide ? "fp64" : "own",
				   layout == SMALL_SPLIT ? "split" : "alone"),
		.text = small_text(r->outcome->compiled.plan, &r->small, layout, pair->wide,
				   &session->work),
	};
}

static bool emit_pair(struct session *session, struct rehearsal *r, bool wide)
{
	const struct plan *plan = r->outcome->compiled.plan;
	struct pair *pair = &r->pairs[r->npairs++];

	*pair = (struct pair){.wide = wide, .precision = "fp64"};
	if (!wide)
		pair->precision = plan->preset ? plan->preset->text : "the plan's precision";
	pair->split = new_trial(session, r, pair, SMALL_SPLIT);
	pair->alone = new_trial(session, r, pair, SMALL_ALONE);
	if (!trial_emit(session, &pair->split) || !trial_emit(session, &pair->alone))
		return false;
	pair->bound = bound_of(&pair->split.compiled.plan->precision);
	return true;
}

/* Emits all before anything is written. A plan in fp64 is compared once. */
static bool emit(struct session *session, struct rehearsal *r)
{
	const struct plan *plan = r->outcome->compiled.plan;

	if (!small_choose(plan, &r->small, &session->work) || !emit_pair(session, r, true))
		return false;
	return !strcmp(bound_of(&plan->precision)->type, "fp64") || emit_pair(session, r, false);
}

/* A token of a vocabulary of `words`: the fourth power of a uniform number, so that some words are
 * frequent, as in text, and gradients are no mere noise. */
static uint64_t draw(uint64_t *state, uint64_t words)
{
	uint64_t top = UINT64_C(1) << 24, share = top, drawn;

	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	drawn = *state >> 40;
	for (int i = 0; i < 4; i++)
		share = share * drawn / top;
	return share * words / top;
}

/* Tokens enough for the steps; the same each time. */
static const char *write_data(struct session *session, const struct rehearsal *r,
			      const struct scratch *scratch)
{
	const struct plan *plan = r->pairs[0].split.compiled.plan;
	const struct model *model = plan->model;
	const char *path = arena_text(session->work.keep, "%s/%s", scratch->path, SMALL_DATA);
	bool bytes = !strcmp(plan->train.data_kind.word->text, "bytes");
	int64_t count = (plan->train.global_batch.i * SMALL_STEPS + 1) * plan->train.seq_len.i + 1;
	struct text text = text_new(session->work.keep);
	uint64_t state = 1;

	for (int64_t i = 0; i < count; i++) {
		char pair[2] = {(char)draw(&state, model->dims[model->vocab].size), 0};

		text_raw(&text, pair, bytes ? 1 : 2);
	}
	return session_write(session, &text, path) ? path : NULL;
}

static bool run_pair(struct session *session, const struct toolchain *toolchain,
		     const struct scratch *scratch, const char *data,
		     struct rehearsal *r, int i)
{
	struct pair *pair = &r->pairs[i];
	struct trial *trials[] = {&pair->alone, &pair->split};

	for (int k = 0; k < 2 && !scratch_stopped(); k++) {
		if (!trial_build(session, toolchain, scratch, trials[k]))
			return false;
		trial_run(session, scratch, data, trials[k]);
	}
	if (!scratch_stopped())
		pair_compare(pair, i ? &r->pairs[0] : NULL, session->work.keep);
	return !scratch_stopped();
}

static bool run(struct session *session, struct rehearsal *r)
{
	struct toolchain toolchain;
	struct scratch scratch;
	const char *data = NULL;
	bool good = toolchain_find(session, &toolchain) &&
		    scratch_open(session, session->options.folder, &scratch);

	if (!good)
		return false;
	data = write_data(session, r, &scratch);
	good = data != NULL;
	for (int i = 0; i < r->npairs && good; i++)
		good = run_pair(session, &toolchain, &scratch, data, r, i);
	if (good)
		rehearsal_bytes(r, session->work.keep);
	scratch_close(session, &scratch);
	return good;
}

/* --- what came of it -------------------------------------------------------------------- */

static void report_pair(struct session *session, const struct rehearsal *r,
			const struct pair *pair)
{
	const struct span place = r->outcome->compiled.plan->span;
	struct diag *diag;

	if (pair->equal)
		return;
	diag = diag_add(session->work.diags, E0341, place,
			"in %s the rehearsal is not equal to its twin on one rank",
			pair->precision);
	if (pair->fault)
		diag_note(diag, "%s", pair->fault);
	else
		diag_note(diag, "apart by more than the bounds of %s allow", pair->bound->type);
}

static void report(struct session *session, struct rehearsal *r)
{
	const struct span place = r->outcome->compiled.plan->span;
	const char *fault = rehearsal_messages(r, session->work.keep);
	bool ran = true;

	for (int i = 0; i < r->npairs; i++) {
		report_pair(session, r, &r->pairs[i]);
		ran &= !r->pairs[i].fault;
	}
	if (fault)
		diag_note(diag_add(session->work.diags, E0341, place,
				   "the messages of the schedule do not match"),
			  "%s", fault);
	if (!r->bytes_held && ran)
		diag_note(diag_add(session->work.diags, E0342, place,
				   "the ranks of the rehearsal hold other bytes than predicted"),
			  "this is a fault of planc: please report it, with the plan");
	if (session->options.json)
		rehearsal_json(r, &session->out);
	else if (!session->options.quiet)
		rehearsal_report(r, &session->out);
}

void command_rehearse(struct session *session)
{
	struct rehearsal rehearsal = {0};

	if (check(session, &rehearsal) && emit(session, &rehearsal) && run(session, &rehearsal))
		report(session, &rehearsal);
}
