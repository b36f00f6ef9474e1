/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics are data: passes append them and return; only the driver prints and exits. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"
#include "base/text.h"
#include "base/vec.h"

enum diag_level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR };

enum diag_code {
#define DIAG(code, level, exit, name, meaning) code,
#include "base/diags.def"
#undef DIAG
	DIAG_CODES
};

struct diag_row {
	const char *code, *name, *meaning; /* "E0310", "dim-divides", one sentence */
	enum diag_level level;
	int exit; /* the exit code it leads to: 0 for warnings and notes */
};
const struct diag_row *diag_row(enum diag_code code);
const char *diag_level_name(enum diag_level level); /* "error" */

struct diag_label {
	struct span span;
	const char *text; /* may be "" */
};

struct diag {
	enum diag_code code;
	enum diag_level level;
	struct span span;      /* primary place */
	const char *title;     /* small letters, alone, no full stop */
	const char *label;     /* beside the carets; "" for none */
	VEC(struct diag_label) labels; /* secondary places */
	VEC(const char *) notes;       /* facts */
	const char *table;     /* ready lines printed after the snippet, or NULL */
	struct diags *in;
};

struct diag_seen; /* what was recorded, for finding it again */

struct diags {
	struct arena *arena;
	const struct sources *sources;
	VEC(struct diag *) all;
	uint32_t errors, warnings;
	bool silent[DIAG_CODES]; /* -A: not recorded */
	bool deny[DIAG_CODES];   /* -D: warning becomes error, exit code 1 */
	struct diag_seen *seen;
};

struct diags *diags_new(struct arena *arena, const struct sources *sources);

/* Appends a diagnostic; never NULL. A diagnostic with the code, place and title of an earlier one
 * is not recorded twice (the returned one may be written to all the same). */
struct diag *diag_add(struct diags *diags, enum diag_code code, struct span span,
		      const char *title, ...) __attribute__((format(printf, 4, 5)));
/* Text beside the primary carets. */
void diag_at(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A secondary place. A nowhere span is dropped. */
void diag_label(struct diag *diag, struct span span, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void diag_note(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_table(struct diag *diag, const char *lines); /* copied */

/* Orders by source and place (errors of one place before warnings); stable. */
void diags_sort(struct diags *diags);

/* The smallest exit code of 1, 2, 3, 4 that an error asks for, else 5, else 0. */
int diags_exit(const struct diags *diags);

struct diag_style {
	bool color;
	uint32_t limit; /* errors printed; 0 = all */
};
/* Layout: title, ` --> file:line:col`, source lines with ^ and -, `= note:`. ASCII, 100 columns.
 * Of a table the first line stands after `= `, the others under it. A blank line between two. */
void diags_human(const struct diags *diags, struct diag_style style, struct text *out);
/* One diagnostic in that layout. */
void diag_human(const struct diag *diag, bool color, struct text *out);
/* `file:line:col: error[E0310]: title`, a line each. */
void diags_short(const struct diags *diags, struct diag_style style, struct text *out);
/* The value of the "diagnostics" member: a JSON array. */
void diags_json(const struct diags *diags, struct text *out);

#endif
