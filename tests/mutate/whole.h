/* SPDX-License-Identifier: Apache-2.0 */
/* One text through all passes, with all that they need. */
#ifndef TESTS_MUTATE_WHOLE_H
#define TESTS_MUTATE_WHOLE_H

#include <stdio.h>
#include <string.h>

#include "driver/passes.h"

/* Owned by the test, used again for each text. */
struct whole {
	struct arena *keep, *scratch;
	struct work work;
	struct compiled compiled;
	const struct source *source;
	const char *folder; /* of files that a plan names, with a slash at its end; NULL: none */
};

static inline const struct source *whole_read(void *self, const char *path, struct work *work)
{
	struct whole *whole = self;
	size_t length;
	char *text;

	if (!whole->folder || strchr(path, '/'))
		return NULL;
	text = text_read(work->keep, arena_text(work->scratch, "%s%s", whole->folder, path),
			 &length);
	return text ? sources_add(work->sources, path, text, length, false) : NULL;
}

static inline void whole_open(struct whole *whole)
{
	*whole = (struct whole){.keep = arena_new(), .scratch = arena_new()};
}

static inline void whole_close(struct whole *whole)
{
	arena_delete(whole->keep);
	arena_delete(whole->scratch);
}

/* Nothing of the plan is checked only. */
static inline bool whole_emitted(const struct whole *whole)
{
	const struct diags *diags = whole->work.diags;

	for (uint32_t i = 0; i < diags->all.n; i++)
		if (diags->all.at[i]->code == N0901)
			return false;
	return whole->compiled.judged && !diags->errors;
}

/* Text to verdict, each representation verified, then to C if all of it can be emitted. What an
 * earlier text left is gone. */
static inline void whole_check(struct whole *whole, const char *name, const char *text,
			       size_t length)
{
	static const struct compile_options how = {.verify = true};
	struct plan_options options = {.read = whole_read, .reader = whole};
	struct artifacts artifacts = {0};
	struct work *work = &whole->work;

	arena_reset(whole->keep);
	arena_reset(whole->scratch);
	*work = (struct work){.keep = whole->keep, .scratch = whole->scratch, .check_only = true};
	work->names = names_new(work->keep);
	work->sources = sources_new(work->keep);
	work->diags = diags_new(work->keep, work->sources);
	whole->source = sources_add(work->sources, name, text, length, false);
	compile(whole->source, &options, &how, &whole->compiled, work);
	if (whole_emitted(whole))
		emit_build(whole->compiled.plan, &whole->compiled.layout,
			   &whole->compiled.verdict, work, &artifacts);
	diags_sort(work->diags);
}

/* All messages in full. */
static inline const char *whole_messages(struct whole *whole)
{
	struct text out = text_new(whole->work.keep);

	diags_human(whole->work.diags, (struct diag_style){0}, &out);
	return out.at ? out.at : "";
}

#endif
