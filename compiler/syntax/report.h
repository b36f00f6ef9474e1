/* SPDX-License-Identifier: Apache-2.0 */
/* The wording of every message about the text of a file. */
#ifndef SYNTAX_REPORT_H
#define SYNTAX_REPORT_H

#include "base/work.h"

enum fault_kind {
	FAULT_UNCLOSED,	  /* at the bracket; other: what was taken for its end, or nowhere */
	FAULT_EXTRA,	  /* at a closing bracket that closes nothing */
	FAULT_DEEP,	  /* at a bracket */
	FAULT_LINE_START, /* at a token that belongs on the line above */
	FAULT_SEMICOLON,
	FAULT_PERCENT,
	FAULT_STRAY,
	FAULT_STRING, /* not closed on its line */
	FAULT_NUMBER,
	FAULT_UNIT,
	FAULT_KINDS
};

struct fault {
	enum fault_kind kind;
	struct span at, other;
};

void report_fault(struct work *work, struct fault fault);
/* A byte that is NUL or no UTF-8. */
void report_byte(struct work *work, struct span at);
/* An escape that a string does not know; `at` covers the backslash and what follows. */
void report_escape(struct work *work, struct span at);

#endif
