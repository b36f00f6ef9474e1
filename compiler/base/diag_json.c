/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics for programs. Offsets and columns count bytes, lines and columns from 1. */
#include "base/diag.h"

struct corner {
	uint32_t byte, line, column;
};

/* Where an offset lies in its source; one past the end of the source counts as its end. */
static struct corner corner_of(const struct diag *diag, const struct source *source,
			       uint32_t offset)
{
	uint32_t end = source->start + source->length;
	struct position at;

	offset = offset < end ? offset : end;
	at = sources_position(diag->in->sources, offset);
	return (struct corner){offset - source->start, at.line, at.column};
}

static void add_corners(const struct diag *diag, const struct source *source, struct span span,
			struct text *out)
{
	struct corner from = corner_of(diag, source, span.lo);
	struct corner to = corner_of(diag, source, span.hi > span.lo ? span.hi : span.lo);

	text_add(out, "\"byte_start\": %u, \"byte_end\": %u, ", from.byte, to.byte);
	text_add(out, "\"line_start\": %u, \"column_start\": %u, ", from.line, from.column);
	text_add(out, "\"line_end\": %u, \"column_end\": %u, ", to.line, to.column);
}

static void add_span(const struct diag *diag, struct span span, const char *label, bool primary,
		     struct text *out)
{
	const struct source *source = sources_find(diag->in->sources, span.lo);

	if (!source)
		return;
	text_add(out, "%s{ \"file\": ", primary ? "" : ", ");
	text_json(out, source->path);
	text_add(out, ", ");
	add_corners(diag, source, span, out);
	text_add(out, "\"primary\": %s, \"label\": ", primary ? "true" : "false");
	text_json(out, label);
	text_add(out, " }");
}

/* Without a primary place the secondary ones have none to be secondary to, and are left out. */
static void add_spans(const struct diag *diag, struct text *out)
{
	text_add(out, "\"spans\": [");
	if (sources_find(diag->in->sources, diag->span.lo)) {
		add_span(diag, diag->span, diag->label, true, out);
		for (uint32_t i = 0; i < diag->labels.n; i++) {
			const struct diag_label *label = &diag->labels.at[i];

			add_span(diag, label->span, label->text, false, out);
		}
	}
	text_add(out, "]");
}

static void add_notes(const struct diag *diag, struct text *out)
{
	text_add(out, "\"notes\": [");
	for (uint32_t i = 0; i < diag->notes.n; i++) {
		text_add(out, "%s", i ? ", " : "");
		text_json(out, diag->notes.at[i]);
	}
	text_add(out, "]");
}

static void add_member(struct text *out, const char *name, const char *value)
{
	text_add(out, "\"%s\": ", name);
	text_json(out, value);
	text_add(out, ", ");
}

static void add_diag(const struct diag *diag, struct text *out)
{
	struct text rendered = text_new(diag->in->arena);

	diag_human(diag, false, &rendered);
	text_add(out, "{ ");
	add_member(out, "code", diag_row(diag->code)->code);
	add_member(out, "level", diag_level_name(diag->level));
	add_member(out, "name", diag_row(diag->code)->name);
	add_member(out, "message", diag->title);
	add_spans(diag, out);
	text_add(out, ", ");
	add_notes(diag, out);
	text_add(out, ", ");
	if (diag->table)
		add_member(out, "table", diag->table);
	text_add(out, "\"rendered\": ");
	text_json(out, rendered.at);
	text_add(out, " }");
}

void diags_json(const struct diags *diags, struct text *out)
{
	text_add(out, "[");
	for (uint32_t i = 0; i < diags->all.n; i++) {
		text_add(out, "%s\n", i ? "," : "");
		add_diag(diags->all.at[i], out);
	}
	text_add(out, "%s]", diags->all.n ? "\n" : "");
}
