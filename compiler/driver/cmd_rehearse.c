/* SPDX-License-Identifier: Apache-2.0 */
/* rehearse: a plan made small, trained here beside its twin on one rank. */
#include "driver/commands.h"

#include <errno.h>
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

/* Takes out what is no fault of a rehearsal. True if a limit of the plan was not met. */
static bool take_out(struct session *session, const struct plan *plan)
{
	struct diags *diags = session->work.diags;
	uint32_t kept = 0, limits = 0;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		struct diag *diag = diags->all.at[i];

		limits += is_limit(diag);
		if (!is_limit(diag) && !is_shed(diag, plan))
			diags->all.at[kept++] = diag;
	}
	diags->all.n = kept;
	diags->errors -= limits;
	return limits > 0;
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
	r->fits = !take_out(session, outcome->compiled.plan);
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

/* Tokens of every value, enough for the steps; the same each time. */
static const char *write_data(struct session *session, const struct rehearsal *r,
			      const struct scratch *scratch)
{
	const struct plan *plan = r->pairs[0].split.compiled.plan;
	const struct model *model = plan->model;
	const char *path = arena_text(session->work.keep, "%s/%s", scratch->path, SMALL_DATA);
	bool bytes = !strcmp(plan->train.data_kind.word->text, "bytes");
	uint64_t words = model->dims[model->vocab].size, state = 1;
	int64_t count = (plan->train.global_batch.i * SMALL_STEPS + 1) * plan->train.seq_len.i + 1;
	struct text text = text_new(session->work.keep);

	for (int64_t i = 0; i < count; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		char pair[2] = {(char)((state >> 33) % words), 0};

		text_raw(&text, pair, bytes ? 1 : 2);
	}
	return session_write(session, &text, path) ? path : NULL;
}

static bool run_pair(struct session *session, const struct toolchain *toolchain,
		     const struct scratch *scratch, const char *data, struct pair *pair)
{
	struct trial *trials[] = {&pair->alone, &pair->split};

	for (int i = 0; i < 2 && !scratch_stopped(); i++) {
		if (!trial_build(session, toolchain, scratch, trials[i]))
			return false;
		trial_run(session, scratch, data, trials[i]);
	}
	if (!scratch_stopped())
		pair_compare(pair, session->work.keep);
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
		good = run_pair(session, &toolchain, &scratch, data, &r->pairs[i]);
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
			"in %s the rehearsal is not equal to its twin on one rank", pair->precision);
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
