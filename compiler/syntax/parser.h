/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the parser share: tokens with line structure, the state of one parse. */
#ifndef SYNTAX_PARSER_H
#define SYNTAX_PARSER_H

#include "base/vec.h"
#include "base/work.h"
#include "syntax/ast.h"
#include "syntax/scan.h"

#define NEST_LIMIT 64	/* brackets inside each other */
#define DEPTH_LIMIT 200 /* levels of an expression: what bounds recursion over a tree */

/* A token as the grammar sees it; offsets count from the start of the text. */
struct token {
	uint32_t lo, hi; /* equal for a token that was put in */
	int kind;
};

/* Lines of a doc comment and where the statement after them starts. */
struct doc {
	uint32_t at;
	const struct name *text;
};

/* A line whose text is so faulty that the grammar has nothing to add. */
struct muted {
	uint32_t lo, hi;
};

struct tokens {
	VEC(struct token) list;	 /* ends in kind 0 */
	VEC(struct doc) docs;	 /* ascending */
	VEC(struct muted) muted; /* ascending */
};

/* A list under construction: what a left-recursive rule carries. */
struct list {
	struct node *first, *last;
};

struct parser {
	struct work *work;
	const struct source *source;
	struct tokens tokens;
	uint32_t next;	 /* token the grammar asks for next */
	uint32_t handed; /* token it got last */
	struct node *file;
	bool deep;	     /* E0108 was reported */
	bool failed;	     /* the grammar found an error already */
	uint32_t last_error; /* its token */
	uint32_t quiet;	     /* offset: end of a line that began with a fault */
};

/* Raw tokens to tokens: line ends that end a statement, brackets in balance, units told from
 * names. Gives: balanced `{ ( [`, no two line ends in a row. Faults go to work->diags. */
void lines(const struct source *source, const struct scan *scan, struct work *work,
	   struct tokens *out);

/* Operators between two values, and `else`: a statement goes on after them. */
bool parser_joins(int kind);

/* The span of [lo, hi) of a source. */
struct span parser_span(const struct source *source, uint32_t lo, uint32_t hi);

/* Nodes, in work->keep. A NULL child is not added. */
struct node *node_new(struct parser *parser, enum node_kind kind, struct span span);
struct node *node_name(struct parser *parser, const struct name *name, struct span span);
void node_add(struct node *parent, struct node *child);
void node_adopt(struct node *parent, struct list list);
struct list list_of(struct node *node);
struct list list_add(struct list list, struct node *node);
/* NODE_NEGATE or NODE_BINARY, or NODE_ERROR with E0108 where it would lie too deep. */
struct node *node_negate(struct parser *parser, struct node *operand, struct span span);
struct node *node_binary(struct parser *parser, enum binary op, struct node *left,
			 struct node *right);
/* Gives a finished statement the doc comment before it. */
struct node *node_document(struct parser *parser, struct node *statement);

/* A syntax error at the token last handed out. `expected`: aliases of the tokens that fit. */
void report_unexpected(struct parser *parser, const char *const *expected, int count);
/* Nesting that the grammar's stack does not hold. */
void report_deep(struct parser *parser, struct span span);

/* Runs the grammar over parser->tokens; sets parser->file if it got to the end. */
void parser_run(struct parser *parser);

#endif
