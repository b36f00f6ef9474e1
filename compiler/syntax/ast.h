/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree: one node type, children as linked siblings, spans, no meaning.
 * Made by the parser, read by plan/ only. */
#ifndef SYNTAX_AST_H
#define SYNTAX_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/num.h"
#include "base/source.h"

enum node_kind {
	NODE_FILE,     /* children: statements, heads among them, in order */
	/* heads */
	NODE_PLAN,     /* name; child: NODE_STRING of `extends`, or none */
	NODE_LIBRARY,  /* name */
	NODE_EDITION,  /* child: NODE_NUMBER */
	NODE_IMPORT,   /* name; child: NODE_STRING */
	/* statements */
	NODE_SETTING,  /* children: PATH, expression, at most one of PLACE, IF, BODY;
			* flag OVERRIDE */
	NODE_BLOCK,    /* children: PATH, [NAME], [BASE | STRING], [BODY];
			* `path name : path { }`; flag OVERRIDE */
	NODE_PARAM,    /* name; children: NAME (type), [RANGE | LIST], [expression last,
			* flag VALUE]; doc */
	NODE_LET,      /* name; child: expression */
	NODE_REQUIRE,  /* children: expression, [STRING] */
	NODE_STRATEGY, /* children: PATH, [NUMBER], AXES, [DIMS], [BODY]; `zero 3 over dp { }` */
	NODE_CUTS,     /* children: PATH, DIMS; `tensor dims [heads, ffn]` */
	NODE_RULE,     /* children: PATH, NAME (dim), AXES; `layer.mlp.down : ffn -> tp` */
	NODE_TYPED,    /* children: PATH, NAME (type), [expression]; `dropout : share = 0 %` */
	NODE_WORD,     /* child: PATH; a bare path as a statement */
	NODE_ALLOW,    /* name (lint) */
	/* parts of statements */
	NODE_BODY,     /* statements */
	NODE_BASE,     /* child: PATH; after `:` of a block */
	NODE_PLACE,    /* op = enum place_word; children: NAME, for `on` one or two expressions */
	NODE_IF,       /* children: condition, [else-expression] */
	NODE_AXES,     /* NAMEs, or NUMBERs to be refused, joined by `*` */
	NODE_DIMS,     /* NAMEs */
	NODE_RANGE,    /* children: low, high */
	/* expressions */
	NODE_NUMBER,   /* number; name = unit or NULL */
	NODE_STRING,   /* name = text, escapes resolved */
	NODE_BOOL,     /* op = 0 or 1 */
	NODE_REST,
	NODE_OF,       /* children: NUMBER, PATH, [BODY]; `8 of nvidia.h100` */
	NODE_PATH,     /* NAMEs joined by `.` */
	NODE_NAME,     /* name */
	NODE_CALL,     /* children: PATH, arguments (expression | ARGUMENT | ARROW) */
	NODE_ARGUMENT, /* children: PATH, expression; `eps = 1e-5` */
	NODE_ARROW,    /* children: left, right; `embed -> [heads, head]` */
	NODE_LIST,     /* expressions */
	NODE_NEGATE,   /* child */
	NODE_BINARY,   /* op = enum binary; children: left, right */
	NODE_AS,       /* children: call, STRING; `linear(..) as "wte"` */
	NODE_TIED,     /* children: call, STRING */
	NODE_ERROR,    /* stands where a faulty text was, as a value or as a statement; raises
			* nothing further */
	NODE_KINDS
};

enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_EQ, BINARY_NE, BINARY_LE,
	      BINARY_GE, BINARY_LT, BINARY_GT };
enum place_word { PLACE_WITHIN, PLACE_ACROSS, PLACE_ON };
enum { NODE_FLAG_OVERRIDE = 1, NODE_FLAG_VALUE = 2 };

struct node {
	uint8_t kind, op, flags;
	uint8_t depth; /* levels of nodes from here down, at most 255 */
	struct span span;
	const struct name *name;       /* see the kinds; NULL where they name none */
	const struct decimal *number;  /* NODE_NUMBER */
	const struct name *doc;        /* `///` lines before a param or declaration, or NULL */
	struct node *first, *next;     /* first child, next sibling */
};

/* k-th child from 0, or NULL. */
struct node *node_child(const struct node *node, uint32_t k);
uint32_t node_children(const struct node *node);
/* First child of this kind, or NULL. */
struct node *node_find(const struct node *node, enum node_kind kind);
/* True if a NODE_PATH (or NODE_NAME) is exactly this dotted text. */
bool node_path_is(const struct node *path, const char *dotted);
/* "a.b.c" of a NODE_PATH or NODE_NAME. */
char *node_path_text(const struct node *path, struct arena *arena);

#endif
