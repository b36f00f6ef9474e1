/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/artifacts.h"

#include <string.h>
#include <sys/stat.h>

#include "driver/hash.h"

static const struct span nowhere;

bool artifacts_emittable(struct session *session)
{
	struct diags *diags = session->work.diags;
	bool good = true;

	for (uint32_t i = 0; i < diags->all.n; i++) {
		struct diag *diag = diags->all.at[i];

		if (diag->code != N0901)
			continue;
		diag->code = E0901;
		diag->level = LEVEL_ERROR;
		diags->errors++;
		good = false;
	}
	return good;
}

/* True unless the program, which is called as its plan, would take the place of a file that it is
 * made from, or the Makefile has something else under that name. */
static bool has_own_name(struct session *session, const struct artifacts *artifacts,
			 const char *name)
{
	bool taken = !strcmp(name, "clean");

	for (uint32_t i = 0; i < artifacts->all.n; i++)
		taken |= !strcmp(artifacts->all.at[i].path, name);
	if (taken)
		diag_note(diag_add(session->work.diags, E0702, nowhere,
				   "a program cannot be called `%s`, as what makes it",
				   name),
			  "the program is called as the plan: give the plan another name");
	return !taken;
}

bool artifacts_make(struct session *session, const struct outcome *outcome, struct artifacts *out)
{
	const struct compiled *c = &outcome->compiled;

	if (!outcome->good || !artifacts_emittable(session) || !c->judged)
		return false;
	return emit_build(c->plan, &c->layout, &c->verdict, &session->work, out) &&
	       has_own_name(session, out, c->plan->name->text);
}

bool artifacts_spare(struct session *session, const char *path)
{
	struct stat place, input;

	if (stat(path, &place))
		return true;
	for (uint32_t i = 0; i < session->inputs.n; i++) {
		const char *from = session->inputs.at[i]->path;

		if (stat(from, &input) || input.st_dev != place.st_dev ||
		    input.st_ino != place.st_ino)
			continue;
		diag_note(diag_add(session->work.diags, E0702, nowhere,
				   "`%s` would be overwritten, and the plan is read from it", path),
			  "`-o` names another folder");
		return false;
	}
	return true;
}

void artifacts_print(const struct artifacts *artifacts, struct text *out)
{
	for (uint32_t i = 0; i < artifacts->all.n; i++) {
		const struct artifact *artifact = &artifacts->all.at[i];

		text_add(out, "%s==== %s\n", i ? "\n" : "", artifact->path);
		text_raw(out, artifact->text.at, artifact->text.length);
	}
}

static bool same_as_file(struct session *session, const struct text *text, const char *path)
{
	size_t length;
	const char *old = text_read(session->work.scratch, path, &length);
	bool same = old && length == text->length && (!length || !memcmp(old, text->at, length));

	arena_reset(session->work.scratch);
	return same;
}

struct staged_files {
	VEC(struct staged) all;
};

/* Writes those that differ beside their places. */
static bool stage(struct session *session, const struct artifacts *artifacts, const char *folder,
		  struct staged_files *out)
{
	struct arena *arena = session->work.keep;

	for (uint32_t i = 0; i < artifacts->all.n; i++) {
		const struct artifact *artifact = &artifacts->all.at[i];
		const char *path = arena_text(arena, "%s/%s", folder, artifact->path);
		struct staged staged;

		if (same_as_file(session, &artifact->text, path))
			continue;
		if (!session_stage(session, &artifact->text, path, &staged))
			return false;
		vec_push(arena, &out->all, staged);
	}
	return true;
}

bool artifacts_write(struct session *session, const struct artifacts *artifacts, const char *folder,
		     bool *changed)
{
	struct staged_files files = {0};
	bool good = true;

	for (uint32_t i = 0; i < artifacts->all.n && good; i++)
		good = artifacts_spare(session, arena_text(session->work.keep, "%s/%s", folder,
							   artifacts->all.at[i].path));
	good = good && stage(session, artifacts, folder, &files);
	*changed = files.all.n > 0;
	for (uint32_t i = 0; i < files.all.n; i++) {
		const struct staged *file = &files.all.at[i];

		if (!good) {
			staged_drop(file);
		} else if (!staged_take(file)) {
			good = session_cannot_write(session, file->path);
		} else {
			session_note(session, "planc: wrote %s", file->path);
		}
	}
	return good;
}

void artifacts_compare(struct session *session, const struct artifacts *artifacts,
		       const char *folder)
{
	for (uint32_t i = 0; i < artifacts->all.n; i++) {
		const struct artifact *artifact = &artifacts->all.at[i];
		const char *path = arena_text(session->work.keep, "%s/%s", folder, artifact->path);

		if (same_as_file(session, &artifact->text, path))
			continue;
		session->differs = true;
		text_add(&session->lines, "%s: differs from what the plan gives\n", path);
	}
}

uint64_t artifacts_hash(const struct artifacts *artifacts)
{
	uint64_t hash = HASH_START;

	for (uint32_t i = 0; i < artifacts->all.n; i++) {
		const struct artifact *artifact = &artifacts->all.at[i];

		hash = hash_add(hash, artifact->path, strlen(artifact->path) + 1);
		hash = hash_add(hash, artifact->text.at, artifact->text.length);
	}
	return hash;
}
