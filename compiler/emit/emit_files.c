/* SPDX-License-Identifier: Apache-2.0 */
/* Makefile and manifest: how the program is built, what it was made from. */
#include "emit/emit_text.h"

#include "base/sha256.h"
#include "emit/version.h"

void emit_makefile(struct emitter *e)
{
	text_add(e->out, "# Makefile of plan `%s`, written by planc %s.\n", e->plan->name->text,
		 PLANC_VERSION);
	text_add(e->out,
		 "# PLANC is where planc is installed: PLANC/include/planc, PLANC/lib/planc.\n"
		 "PLANC ?= $(abspath $(dir $(shell command -v planc))/..)\n"
		 "CFLAGS ?= -O2\n"
		 "FLAGS = -std=c17 -Wall -Wextra -Werror -ffp-contract=off "
		 "-I$(PLANC)/include/planc\n"
		 "RUNTIME = $(PLANC)/lib/planc/libplanc_rt.a\n"
		 "LINK = $(shell cat $(PLANC)/lib/planc/link.txt)\n"
		 "ifeq ($(wildcard $(PLANC)/include/planc/rt/rt.h),)\n"
		 "$(error planc is not on PATH: `make PLANC=DIR`, where it is installed)\n"
		 "endif\n"
		 "\n");
	text_add(e->out,
		 "%s: model.o schedule.o\n"
		 "\t$(CC) -o $@ model.o schedule.o $(RUNTIME) $(LINK)\n"
		 "\n"
		 "model.o schedule.o: plan.h\n"
		 "\n"
		 "%%.o: %%.c\n"
		 "\t$(CC) $(FLAGS) $(CFLAGS) -c -o $@ $<\n"
		 "\n"
		 "clean:\n"
		 "\trm -f model.o schedule.o %s\n"
		 "\n"
		 ".PHONY: clean\n",
		 e->plan->name->text, e->plan->name->text);
}

static void hash_entry(struct text *out, struct arena *arena, bool first, const char *path,
		       const char *bytes, size_t length)
{
	text_add(out, "%s\n    {\"path\": ", first ? "" : ",");
	text_json(out, path);
	text_add(out, ", \"bytes\": %llu, \"sha256\": \"%s\"}", (unsigned long long)length,
		 sha256_hex(arena, bytes, length));
}

static void emit_inputs(struct emitter *e)
{
	const struct sources *sources = e->work->sources;
	bool first = true;
	text_add(e->out, "  \"inputs\": [");
	for (uint32_t i = 0; i < sources_count(sources); i++) {
		const struct source *s = sources_at(sources, i);
		if (s->path[0] == '<')
			continue;
		hash_entry(e->out, e->arena, first, s->path, s->text, s->length);
		first = false;
	}
	text_add(e->out, "\n  ],\n");
}

static void emit_outside(struct emitter *e)
{
	text_add(e->out, "  \"set\": {");
	for (uint32_t i = 0; i < e->plan->noutside; i++) {
		text_add(e->out, "%s", i ? ", " : "");
		text_json(e->out, e->plan->outside[i].name->text);
		text_add(e->out, ": ");
		text_json(e->out, e->plan->outside[i].text);
	}
	text_add(e->out, "},\n");
}

void emit_manifest(struct emitter *e, const struct artifacts *files)
{
	text_add(e->out, "{\n  \"planc\": \"%s\",\n  \"edition\": 1,\n  \"plan\": ", PLANC_VERSION);
	text_json(e->out, e->plan->name->text);
	text_add(e->out, ",\n");
	emit_inputs(e);
	emit_outside(e);
	text_add(e->out, "  \"kernels\": \"%s\",\n  \"ranks\": %lld,\n  \"threads\": %lld,\n",
		 e->plan->train.kernels.word->text, (long long)e->plan->devices,
		 (long long)(e->plan->device.cores.i > 0 ? e->plan->device.cores.i : 1));
	text_add(e->out, "  \"summary\": ");
	verdict_json(e->verdict, e->out);
	text_add(e->out, ",\n  \"files\": [");
	for (uint32_t i = 0; i < files->all.n; i++)
		hash_entry(e->out, e->arena, i == 0, files->all.at[i].path,
			   files->all.at[i].text.at, files->all.at[i].text.length);
	text_add(e->out, "\n  ],\n  \"entry\": \"main\"\n}\n");
}
