/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the model's analysis share: sizes and options, names bound so far. */
#ifndef PLAN_MODEL_BUILD_H
#define PLAN_MODEL_BUILD_H

#include "base/vec.h"
#include "plan/model_resolve.h"

/* A size, an option, or `vocab_pad_to`. */
struct model_entry {
	const struct name *name;
	enum value_type type;
	bool size;		 /* becomes a dim */
	bool fallback;		 /* `expr` is the architecture's: it sees no outer scope */
	const struct node *expr; /* NULL: missing */
	struct span declared;
	enum { ENTRY_NEW, ENTRY_OPEN, ENTRY_DONE } state;
	struct value value;
};

struct model_settings {
	VEC(struct model_entry) list;
	struct scope scope; /* sizes and options, then `outer` */
	const struct scope *outer;
	bool closed; /* what is evaluated stands in the architecture */
	bool faulty;
	const struct node *architecture; /* NODE_BLOCK */
	struct diag *unknown;		 /* the message on names that it does not declare */
	struct work *work;
};

/* Reads `size { }` and `option { }`, takes values from both bodies, evaluates all. */
void settings_read(struct model_settings *settings, const struct node *architecture,
		   const struct node *model_block, const struct node *base_body);
/* The entry of a name, or NULL. */
struct model_entry *settings_find(struct model_settings *settings, const struct name *name);

struct bound {
	const struct name *name;
	uint32_t value;
	struct span span;
};

/* A name bound a second time: both values need the same dims. */
struct rebound {
	uint32_t before, after;
	struct span first, second;
};

struct builder {
	struct work *work;
	struct model *model;
	struct model_settings *settings;
	VEC(struct model_call) calls;
	VEC(struct model_call) named; /* calls with `as`, those that were dropped for a fault too */
	VEC(struct bound) bound; /* visible names; those bound in the repeated block at the end */
	VEC(struct bound) left;	 /* names that did not leave the repeated block */
	VEC(struct bound) read;	 /* names from before the block that were read in it */
	VEC(struct rebound) rebound;
	uint32_t outside; /* length of `bound` on entry of the repeated block */
	enum region region;
	bool repeated; /* the repeated block was seen */
	const char *group;
	const char *stored_prefix, *path_prefix; /* "h.{layer}.", "layer."; "" outside */
	bool stored_in_out; /* the architecture's `stored { linear = in_out }` */
	bool loss_bound;
	bool faulty;
	uint32_t room; /* faults of the text that are still worth a message */
	struct diags *silent;
};

/* Operator calls of a tensor expression in evaluation order; the value, or NO_ID after a fault.
 * `binding` names the outermost call's result. */
uint32_t expression_build(struct builder *builder, const struct node *expr,
			  const struct name *binding);
/* Appends a call with a new value as its result. */
uint32_t call_add(struct builder *builder, struct model_call call);
/* The arguments of an operator behind its operands. Reports E0212; false then. */
bool arguments_read(struct builder *builder, const struct node *call, struct model_call *out);
/* Names the parameters of a call: `as` or `tied` with this string. */
void parameters_name(struct builder *builder, const struct node *node, struct model_call *call);
/* One dim or a list of dims. False after a fault. */
bool dims_read(struct builder *builder, const struct node *expr, struct dims *out);
/* True if a condition over options holds; *known is false after a fault. */
bool condition_holds(struct builder *builder, const struct node *expr, bool *known);

/* The value a name stands for; reports unknown ones and NO_ID then. */
uint32_t name_read(struct builder *builder, const struct node *path);
void name_bind(struct builder *builder, const struct name *name, uint32_t value, struct span span);
/* What passes the borders of the repeated block. */
void repeat_enter(struct builder *builder);
void repeat_leave(struct builder *builder, struct span span);

/* Where the next fault goes: it marks the model faulty; beyond `room` faults nothing is recorded.
 */
struct diags *model_sink(struct builder *builder);
#define model_fault(builder, ...) diag_add(model_sink(builder), __VA_ARGS__)

/* The single name of a NODE_PATH or NODE_NAME, or NULL for a dotted one. */
const struct name *path_single(const struct node *path);

#endif
