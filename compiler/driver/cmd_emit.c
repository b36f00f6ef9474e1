/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that make files of a plan: emit, build, run. */
#include "driver/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/artifacts.h"
#include "driver/toolchain.h"

/* One plan on its way to files. */
struct product {
	struct outcome *outcome;
	struct artifacts artifacts;
	const char *folder, *program;
	bool changed;
};

/* Checks and emits the one operand, without writing. */
static bool make(struct session *session, struct product *out)
{
	const char *folder = session->options.output;

	/* compilers take `-x/model.c` for an option, and read options from `@x/model.c` */
	if (folder && strchr("-@", *folder))
		folder = arena_text(session->work.keep, "./%s", folder);
	*out = (struct product){.folder = folder};
	out->outcome = session_compile(session, 0, NULL);
	if (!out->outcome || !artifacts_make(session, out->outcome, &out->artifacts))
		return false;
	if (session->options.dump == DUMP_C)
		artifacts_print(&out->artifacts, &session->out);
	return true;
}

static bool needs_output(struct session *session)
{
	const struct options *options = &session->options;
	const char *name = command_rows[options->command].name;

	if (options->output && *options->output)
		return true;
	diag_note(diag_add(session->work.diags, E0602, options->command_span,
			   "`planc %s` needs a folder for its output", name),
		  "usage: planc %s FILE -o DIR", name);
	return false;
}

/* A path as make reads it: of what a rule makes, or of what that is made from. Backslashes in front
 * of what has to be escaped are doubled, others are not. */
static void add_path(struct text *text, const char *path, bool made)
{
	const char *escaped = made ? " \t#:*?[%" : " \t#:*?[";

	for (; *path; path++) {
		size_t slashes = strspn(path, "\\");

		if (slashes && path[slashes] && strchr(escaped, path[slashes]))
			text_raw(text, "\\", 1);
		else if (strchr(escaped, *path))
			text_raw(text, "\\", 1);
		if (*path == '$')
			text_raw(text, "$", 1);
		text_raw(text, path, 1);
	}
}

static bool depfile_spares(struct session *session)
{
	return !session->options.depfile || artifacts_spare(session, session->options.depfile);
}

static void write_depfile(struct session *session, const struct product *product)
{
	struct text text = text_new(session->work.keep);

	if (!session->options.depfile)
		return;
	for (uint32_t i = 0; i < product->artifacts.all.n; i++) {
		const char *path = product->artifacts.all.at[i].path;

		text_raw(&text, " ", i > 0);
		add_path(&text, arena_text(session->work.keep, "%s/%s", product->folder, path),
			 true);
	}
	if (product->program) {
		text_raw(&text, " ", 1);
		add_path(&text, product->program, true);
	}
	text_raw(&text, ":", 1);
	for (uint32_t i = 0; i < session->inputs.n; i++) {
		text_raw(&text, " ", 1);
		add_path(&text, session->inputs.at[i]->path, false);
	}
	text_raw(&text, "\n", 1);
	session_write(session, &text, session->options.depfile);
}

static void done(struct session *session, const struct product *product, const char *what)
{
	session_summary(session, product->outcome);
	if (session->options.format == FORMAT_HUMAN)
		text_add(&session->lines, "wrote %s\n", what);
	write_depfile(session, product);
}

void command_emit(struct session *session)
{
	struct product product;

	if (!needs_output(session) || !make(session, &product))
		return;
	if (session->options.check) {
		artifacts_compare(session, &product.artifacts, product.folder);
		return;
	}
	if (depfile_spares(session) &&
	    artifacts_write(session, &product.artifacts, product.folder, &product.changed))
		done(session, &product, product.folder);
}

/* Writes the sources and compiles them, unless `lazily` and nothing changed since the last time. */
static bool build(struct session *session, struct product *product, bool lazily)
{
	struct toolchain toolchain;

	product->program = arena_text(session->work.keep, "%s/%s", product->folder,
				      product->outcome->compiled.plan->name->text);
	if (!toolchain_find(session, &toolchain) || !depfile_spares(session) ||
	    !artifacts_spare(session, product->program) ||
	    !artifacts_write(session, &product->artifacts, product->folder, &product->changed))
		return false;
	if (lazily && !product->changed &&
	    toolchain_current(session, &toolchain, &product->artifacts, product->folder,
			      product->program))
		return true;
	return toolchain_compile(session, &toolchain, &product->artifacts, product->folder,
				 product->program);
}

void command_build(struct session *session)
{
	struct product product;

	if (needs_output(session) && make(session, &product) && build(session, &product, false))
		done(session, &product, product.program);
}

/* A folder of the cache that belongs to this text and no other; NULL with E0702 without a home. */
static const char *cache_folder(struct session *session, const struct product *product)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct arena *arena = session->work.keep;
	uint64_t hash = artifacts_hash(&product->artifacts);

	if (cache && *cache == '/')
		return arena_text(arena, "%s/planc/%016" PRIx64, cache, hash);
	if (home && *home == '/')
		return arena_text(arena, "%s/.cache/planc/%016" PRIx64, home, hash);
	diag_note(diag_add(session->work.diags, E0702, session->options.command_span,
			   "there is no folder for the program"),
		  "neither HOME nor XDG_CACHE_HOME is set; `-o DIR` names one");
	return NULL;
}

/* Becomes the program; comes back only if that fails. */
static void become(struct session *session, const char *program)
{
	char **given = session->options.program_arguments;
	struct strings line = {0};

	vec_push(session->work.keep, &line, program);
	for (; given && *given; given++)
		vec_push(session->work.keep, &line, *given);
	vec_push(session->work.keep, &line, NULL);
	if (session_tell(session))
		exit(EXIT_FILE);
	execv(program, (char *const *)line.at);
	fprintf(stderr, "planc: error[E0801]: cannot start %s: %s\n", program, strerror(errno));
	exit(EXIT_TOOL);
}

void command_run(struct session *session)
{
	struct product product;

	if (!make(session, &product))
		return;
	if (!product.folder)
		product.folder = cache_folder(session, &product);
	if (!product.folder || !build(session, &product, true))
		return;
	session_summary(session, product.outcome);
	become(session, product.program);
}
