/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of resolve share: files that take part, names they bind, blocks being filled. */
#ifndef PLAN_RESOLVE_H
#define PLAN_RESOLVE_H

#include "base/vec.h"
#include "plan/schema.h"

enum { CHAIN_LIMIT = 16, IMPORT_LIMIT = 32 };

enum state { STATE_FRESH, STATE_OPEN, STATE_DONE };
enum binding_kind { BINDING_LET, BINDING_PARAM, BINDING_IMPORT };

/* A name of a file that expressions may use. */
struct binding {
	enum binding_kind kind;
	enum state state;
	bool used;
	const struct name *name;
	const struct node *node;
	struct unit *unit;          /* import: the library; NULL if it could not be loaded */
	const struct node *outside; /* param: expression of -P, or NULL */
	const char *outside_text;   /* "micro=2" */
	struct value value;
};

/* A file that takes part. A plan and the plan it extends are merged into one. */
struct unit {
	const struct source *source, *base; /* base: of `extends`, or NULL */
	const char *path;                   /* normalised; what an import is known by */
	struct node *tree;
	const struct name *name;
	bool library, loading;
	VEC(struct binding *) bindings; /* in the order of the text */
	uint32_t *index;                /* bindings by name: open addressing, 0 is empty */
	uint32_t room;                  /* of index, a power of two */
};

struct resolve {
	struct work *work;
	struct plan *plan;
	const struct plan_options *options;
	struct unit *main;
	VEC(struct unit *) units;
	VEC(const char *) suggested;      /* what faulty statements were likely meant to give */
	VEC(const struct name *) unknown; /* names reported once; later uses are silent */
	VEC(const struct node *) strategies; /* the statement of each plan->strategies */
	uint32_t bare_line;               /* line of the last E0105 */
	uint32_t depth;                   /* values that wait for values */
	bool broken; /* a file did not parse: what seems to be missing may have been there */
	bool too_long; /* a chain of values was, which is said once */
	bool torn;   /* its brackets were faulty: statements may stand in wrong blocks */
};

/* --- import.c, extend.c ----------------------------------------------------------------- */

/* The unit of the plan with all it imports and extends. */
struct unit *unit_main(struct resolve *r, const struct node *tree, const struct source *source);
/* The unit whose text holds a place, or NULL. */
struct unit *unit_at(struct resolve *r, struct span span);
/* Reads a file and what it imports. `library`: only libraries will do; else only plans. NULL and a
 * message at `at`, the NODE_STRING, if that fails. */
struct unit *unit_import(struct resolve *r, const struct source *from, const struct node *at,
			 bool library);
/* Merges the plan that `unit` extends into it; applies `override`. */
void unit_extend(struct resolve *r, struct unit *unit, struct unit *base);

/* A declaration `KIND name { }` that a path names, in its own file or an imported one. `kinds` ends
 * in NULL. NULL with a message if there is none. */
const struct node *member_find(struct resolve *r, const struct node *path,
			       const char *const *kinds);

/* --- bind.c ----------------------------------------------------------------------------- */

/* Counts a value that waits for another one. False with E0108 where the chain is too long. */
bool chain_enter(struct resolve *r, struct span use);
void chain_leave(struct resolve *r);

/* let, param and import statements of a unit's tree. */
void bind_unit(struct resolve *r, struct unit *unit);
struct binding *bind_find(const struct unit *unit, const struct name *name);
/* Adds a binding whose name is new in the unit. */
void bind_add(struct resolve *r, struct unit *unit, struct binding *binding);
/* -P of the options to the params of the plan; recorded in plan->outside. */
void bind_outside(struct resolve *r);
/* Value of a let or param; poisoned for an import. */
struct value bind_value(struct resolve *r, struct binding *binding, struct span use);
/* Evaluates all in the order of the text, so that long chains of values do not nest. */
void bind_all(struct resolve *r);
/* W0506 for what the plan's own file never uses. */
void bind_unused(struct resolve *r);

/* --- frame.c ---------------------------------------------------------------------------- */

struct slot {
	const struct setting_row *row;
	const struct node *node;
	uint32_t round; /* body it stands in: a later body replaces */
	enum state state;
};

/* A block being filled from the schema. */
struct frame {
	struct resolve *r;
	enum block_id id;        /* BLOCKS: no block, only names of files */
	void *into;              /* struct plan_BLOCK */
	const char *title;       /* "block `train`" */
	const char *const *more; /* what `take` knows beside the schema; ends in NULL, or is NULL */
	struct span span;        /* where E0206 points */
	uint32_t round;
	/* looks at a statement first; true: taken. May be NULL. */
	bool (*take)(struct frame *frame, const struct node *statement);
	/* evaluates a setting in its own way into *value; true: done. May be NULL. */
	bool (*special)(struct frame *frame, const struct node *statement,
			const struct setting_row *row, struct value *value);
	void *self;              /* for take and special */
	VEC(struct slot) slots;
};

/* The statements of a body (NULL: none). Settings replace those of earlier bodies. */
void frame_take(struct frame *frame, const struct node *body);
/* One setting; E0202 if it is there. */
void frame_slot(struct frame *frame, const struct setting_row *row, const struct node *statement);
/* Evaluates settings, puts defaults in, reports what is missing. */
void frame_close(struct frame *frame);
/* Names of the block, then of the file that the path stands in. */
struct scope frame_scope(struct frame *frame);
/* An expression as a type. `setting` names it in messages. */
struct value frame_value(struct frame *frame, const struct node *expr, enum value_type type,
			 const char *setting);
/* E0115 unless value.i or f >= least. */
void value_least(struct resolve *r, struct value *value, int64_t least, const char *setting);
/* Expression with its value for a statement nobody wants a body or place on: E0216. */
void no_tail(struct resolve *r, const struct node *setting);
/* E0201 or E0216 for a statement that does not belong into a block called `title`. */
void misplaced(struct resolve *r, const struct node *statement, const char *title,
	       const char *const *names, size_t count);
/* E0202 with both places. */
void set_twice(struct resolve *r, struct span first, struct span again, const char *what,
	       const char *name);
/* True if a faulty statement was likely meant to set this name: it is not missing. */
bool suggested(const struct resolve *r, const char *name);
/* E0206. */
struct diag *missing(struct resolve *r, struct span at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* E0209 with the words that are valid. */
void unknown_word(struct resolve *r, struct span at, const char *setting, const char *word,
		  const char *const *words, size_t count);
/* True if an unknown name was reported already; from now on it is. */
bool name_unknown(struct resolve *r, const struct name *name);
/* `allow W0501`. */
void allow(struct resolve *r, const struct node *statement);
/* The single word of a path, or NULL. */
const struct name *path_word(const struct node *path);
/* The span that names a statement: its path. */
struct span head_span(const struct node *statement);
/* "`a`, `b` and `c`" */
char *name_list(struct arena *arena, const char *const *names, size_t count);

/* --- resolve_*.c ------------------------------------------------------------------------ */

void resolve_cluster(struct resolve *r, const struct node *block);
void resolve_mesh(struct resolve *r, const struct node *block);
/* "`fp32` and ...": the presets. */
const char *precision_words(struct arena *arena);
void resolve_precision(struct resolve *r, const struct node *statement);
void resolve_memory(struct resolve *r, const struct node *block);
void resolve_train(struct resolve *r, const struct node *block);
void resolve_checkpoint(struct resolve *r, const struct node *block);
/* Kinds, axes and settings of strategies; needs the mesh. */
void resolve_split(struct resolve *r, const struct node *block);
/* The two batches that are given to the third; warm-up in tokens to steps. */
void resolve_batches(struct resolve *r);
void resolve_model(struct resolve *r, const struct node *block);
/* Dims, replicas, rules, groups of recompute: what needs the model. */
void resolve_split_dims(struct resolve *r, const struct node *block);
void resolve_recompute_groups(struct resolve *r);
/* Settings of a `link` with the changes of a statement (NULL: none). */
void resolve_link_values(struct resolve *r, const struct node *link, const struct node *changes,
			 struct span at, struct plan_link *out);
void resolve_require(struct resolve *r, const struct node *statement);

#endif
