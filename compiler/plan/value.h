/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions with units. Exact: integers in 64 bits, fractions of 128 bits. */
#ifndef PLAN_VALUE_H
#define PLAN_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "base/work.h"
#include "syntax/ast.h"

enum value_type {
	TYPE_NONE,
	TYPE_COUNT,  /* i */
	TYPE_FACTOR, /* f; a bare number that is no integer, or where a factor is wanted */
	TYPE_SHARE,  /* f: 0.95 for 95 % */
	TYPE_BYTES,  /* i: bytes */
	TYPE_RATE,   /* f: bytes a second */
	TYPE_FLOPS,  /* f: operations a second */
	TYPE_TIME,   /* f: seconds */
	TYPE_SEQS,   /* i */
	TYPE_TOKENS, /* i */
	TYPE_BOOL,   /* i: 0, 1 */
	TYPE_WORD,   /* word */
	TYPE_STRING, /* word: its text */
	TYPE_LIST,   /* items, nitems */
	TYPES
};

enum origin {
	ORIGIN_UNSET,    /* not given, no default */
	ORIGIN_DEFAULT,  /* of the schema */
	ORIGIN_PRESET,   /* stands behind a preset word */
	ORIGIN_FILE,     /* written at span */
	ORIGIN_COMMAND,  /* -P; span lies in the command line */
	ORIGIN_COMPUTED, /* from other values, see `from` */
};

/* Exact number in the unit of its type: items, bytes, seconds, ... Lowest terms, bottom > 0;
 * bottom 0: no number. */
struct ratio {
	__int128 top, bottom;
};

struct value {
	enum value_type type;
	enum origin origin;
	bool poisoned;          /* faulty and reported: raises nothing further */
	struct span span;       /* the expression that gave it; the setting for defaults: nowhere */
	const char *from;       /* "param seq", "-P micro=2", "128 / (2 * 8)"; NULL: as written */
	int64_t i;
	double f;
	const struct name *word;
	const struct value *items;
	uint32_t nitems;
	struct ratio exact;     /* of every numeric type; i and f are made from it */
};

/* Finds the value of a path for an expression. False: unknown (value_of reports E0203). */
struct scope {
	void *self;
	bool (*find)(void *self, const struct node *path, struct value *out);
	/* names to suggest from; may be NULL */
	const char *const *(*names)(void *self, size_t *count);
};

/* The value of an expression. Reports faults (units, dimensions, overflow, division, unknown names)
 * and gives a poisoned value then; a path that no scope knows and that is a single word becomes a
 * TYPE_WORD if `words` is set. `on NODE_IF`, calls, arrows are no values: E0112. */
struct value value_of(const struct node *expr, const struct scope *scope, bool words,
		      struct work *work);

/* The value as type `want` (a bare number becomes tokens, seqs, factor; a count becomes a factor).
 * `setting` names it in messages (E0111, E0112, E0113). */
struct value value_as(struct value value, enum value_type want, const char *setting,
		      struct work *work);

/* A value made elsewhere: no span. */
struct value value_count(int64_t count, enum origin origin);
struct value value_word(const struct name *word, enum origin origin);
struct value value_poison(struct span span);

/* Text of a literal as the schema holds it ("0 B", "70 %", "1e-8", "false", "1f1b"). */
struct value value_literal(const char *text, struct names *names);

/* -1, 0, 1: order of two numbers of one type. */
int value_compare(const struct value *a, const struct value *b);

const char *value_type_name(enum value_type type); /* "an amount of memory" */
/* Types as `param` and `option` write them ("bytes"); TYPE_NONE for an unknown word. */
enum value_type value_type_of(const char *word);
const char *value_type_word(enum value_type type);

/* As one would write it: "8192 tokens", "1.5 GiB", "95 %". */
char *value_text(const struct value *value, struct arena *arena);

#endif
