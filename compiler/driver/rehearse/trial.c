/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/rehearse/trial.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"

enum { SECONDS = 300 }; /* a program of a few steps has hung then */

static const struct span nowhere;

/* An expanded plan imports nothing. */
static const struct source *no_import(void *self, const char *path, struct work *work)
{
	(void)self;
	(void)path;
	(void)work;
	return NULL;
}

/* The small plan is the plan with other numbers: what holds for one holds for the other. */
static bool refused(struct session *session, const struct trial *trial, const struct diags *said)
{
	const struct diag *first = NULL;

	for (uint32_t i = 0; i < said->all.n && !first; i++)
		if (said->all.at[i]->level == LEVEL_ERROR || said->all.at[i]->code == N0901)
			first = said->all.at[i];
	if (!first && trial->compiled.judged)
		return false;
	BUG_IF(!first || (first->code != E0901 && first->code != N0901), "the small plan: %s\n%s",
	       first ? first->title : "no verdict", trial->text.at);
	diag_add(session->work.diags, E0901, nowhere, "the small plan: %s", first->title);
	return true;
}

bool trial_emit(struct session *session, struct trial *trial)
{
	struct work work = session->work;
	const char *path = arena_text(work.keep, "%s/small.plan", trial->name);
	struct plan_options *options = ARENA_NEW(work.keep, struct plan_options);
	struct compile_options how = {.verify = true};
	const struct source *source = sources_add(work.sources, path, trial->text.at,
						  trial->text.length, false);

	BUG_IF(!source, "no room for a small plan");
	*options = (struct plan_options){.read = no_import, .command = "check"};
	work.diags = diags_new(work.keep, work.sources);
	work.check_only = false;
	compile(source, options, &how, &trial->compiled, &work);
	if (refused(session, trial, work.diags))
		return false;
	if (!emit_build(trial->compiled.plan, &trial->compiled.layout, &trial->compiled.verdict,
			&work, &trial->artifacts))
		return !refused(session, trial, work.diags);
	return true;
}

bool trial_build(struct session *session, const struct toolchain *toolchain,
		 const struct scratch *scratch, struct trial *trial)
{
	struct arena *arena = session->work.keep;
	const char *folder = arena_text(arena, "%s/%s", scratch->path, trial->name);
	bool changed;

	trial->log = arena_text(arena, "%s/log", folder);
	trial->gradients = arena_text(arena, "%s/gradients.safetensors", folder);
	trial->weights = arena_text(arena, "%s/weights.safetensors", folder);
	return session_write(session, &trial->text, arena_text(arena, "%s/small.plan", folder)) &&
	       artifacts_write(session, &trial->artifacts, folder, &changed) &&
	       toolchain_compile(session, toolchain, &trial->artifacts, folder,
				 arena_text(arena, "%s/program", folder));
}

/* The first lines of what a program said. */
static const char *said_by(const char *path, struct arena *arena)
{
	enum { LINES = 3 };
	size_t length, end = 0;
	const char *text = text_read(arena, path, &length);

	if (!text || !*text)
		return "it said nothing";
	for (int i = 0; i < LINES && text[end]; i++)
		end += strcspn(text + end, "\n") + (text[end + strcspn(text + end, "\n")] == '\n');
	while (end > 0 && text[end - 1] == '\n')
		end--;
	return arena_copy(arena, text, end);
}

static const char *fault_of(enum ended ended, int code, const char *said, struct arena *arena)
{
	switch (ended) {
	case ENDED_BADLY:
		return arena_text(arena, "ended with exit code %d: %s", code,
				  said_by(said, arena));
	case ENDED_LATE:
		return arena_text(arena, "did not end within %d seconds", SECONDS);
	case ENDED_NEVER_STARTED:
		return arena_text(arena, "could not be started: %s", strerror(errno));
	default:
		return NULL;
	}
}

void trial_run(struct session *session, const struct scratch *scratch, const char *data,
	       struct trial *trial)
{
	struct arena *arena = session->work.keep;
	const char *folder = arena_text(arena, "%s/%s", scratch->path, trial->name);
	const char *said = arena_text(arena, "%s/said", folder);
	const char *const words[] = {arena_text(arena, "%s/program", folder), "--quiet", "--data",
				     data, "--log", trial->log, "--save", trial->weights,
				     "--dump-gradients", trial->gradients, "--check-replicas", "1"};
	struct strings line = {0};
	double from = scratch_clock();
	enum ended ended;
	int code = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		vec_push(arena, &line, words[i]);
	ended = scratch_run(&line, said, SECONDS, &code, arena);
	trial->fault = fault_of(ended, code, said, arena);
	session_note(session, "planc: %s ran for %.1f s", trial->name, scratch_clock() - from);
}
