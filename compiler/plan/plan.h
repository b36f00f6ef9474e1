/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved plan: every value with its span and origin, no name left unbound. Made by resolve,
 * checked by rules, read by every floor above; nothing above looks at the tree or the options. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/model.h"
#include "plan/value.h"

/* Every block is a struct of values, made from the schema. */
#define BLOCK(name, doc) struct plan_##name {
#define SETTING(block, name, type, fallback, effect, doc) struct value name;
#define END(name) };
#include "plan/schema.def"
#undef BLOCK
#undef SETTING
#undef END

struct axis {
	const struct name *name;
	int64_t size;            /* > 0 once checked */
	bool rest, within, across;
	bool poisoned;           /* its size is faulty and reported; it counts as 1 */
	const struct name *place; /* within: `node`; across: `nodes`; NULL: no promise */
	enum origin origin;
	const char *from;        /* as in struct value: "1024 / (16 * 8)" of `rest` */
	struct span span, size_span;
};

enum strategy_kind { STRATEGY_DATA, STRATEGY_ZERO, STRATEGY_TENSOR, STRATEGY_SEQUENCE,
		     STRATEGY_PIPELINE, STRATEGY_CONTEXT, STRATEGY_EXPERT, STRATEGIES };

struct strategy {
	enum strategy_kind kind;
	int64_t stage;           /* zero: 1, 2, 3 */
	uint32_t axes[4], naxes; /* indices into plan->axes */
	struct dims dims;        /* tensor: as written, or the architecture's list */
	bool dims_given;
	uint32_t replicate_dim;  /* tensor { kv_heads = replicate(2) }: dim, or NO_ID */
	int64_t replicate;       /* copies; 1: none */
	struct span span, axes_span, dims_span;
};

struct split_rule {              /* layer.mlp.down_proj : ffn -> whole */
	const struct model_name *param;
	uint32_t dim, axis;      /* axis NO_ID: whole */
	struct span span;
};

struct recompute {               /* memory { recompute = ... } */
	enum { RECOMPUTE_NONE, RECOMPUTE_BLOCK, RECOMPUTE_SELECTIVE } kind;
	const char *groups[8];   /* selective: "mlp", "attention.core" */
	uint32_t ngroups;
	int64_t first_stage, last_stage; /* -1: all */
	struct span span;
};

enum quantity {
#define QUANTITY(id, name, type, doc) QUANTITY_##id,
#include "plan/quantities.def"
#undef QUANTITY
	QUANTITIES
};

struct require {
	enum quantity quantity;
	uint32_t axis;           /* mesh.tp.link: the axis, else NO_ID */
	enum binary op;
	struct value limit;
	const struct plan_link *link; /* AXIS_LINK: the link that `limit` names; else NULL */
	const char *text, *reason; /* source text of the condition; the string after it or NULL */
	struct span span;
};

struct set_outside {             /* -P micro=2 */
	const struct name *name;
	const char *text;
};

struct plan {
	const struct name *name;
	const struct source *source;
	struct span span;
	struct plan_cluster cluster;
	const struct name *cluster_name; /* or NULL */
	struct plan_device device;       /* the device of the cluster */
	const char *device_name;         /* "a100_sxm_80g" */
	struct span device_span;         /* where the cluster names it */
	struct plan_link node_link, cluster_link; /* fabric in a node, between nodes */
	const char *node_link_name, *cluster_link_name; /* NULL: none */
	struct axis *axes;               /* outermost first; none: one device */
	uint32_t naxes;
	struct span mesh_span;
	bool mesh_poisoned;              /* an axis is faulty, or one that is used does not exist */
	const struct model *model;
	struct plan_model model_block;   /* vocab_pad_to */
	struct plan_precision precision;
	const struct name *preset;       /* or NULL */
	struct span precision_span;
	struct strategy *strategies;
	uint32_t nstrategies;
	struct plan_data data;           /* settings inside `data over A { }` */
	struct plan_zero zero;
	struct plan_pipeline pipeline;
	struct value *layer_list;        /* pipeline { layers = [2, 3, 3] } */
	uint32_t nlayer_list;
	struct split_rule *rules;
	uint32_t nrules;
	struct plan_memory memory;
	struct recompute *recompute;     /* at least one */
	uint32_t nrecompute;
	struct plan_train train;
	struct span train_span;
	struct plan_optimizer optimizer;
	struct plan_schedule schedule;
	struct plan_validate validate;
	struct plan_checkpoint checkpoint;
	bool has_checkpoint;
	struct require *requires;
	uint32_t nrequires;
	struct set_outside *outside;
	uint32_t noutside;
	/* worked out */
	int64_t devices, data_ranks, stages;
	int64_t micro_batches;           /* of a data rank in a step */
	bool poisoned;                   /* some value is: floors above do not run */
};

struct plan_options {
	const char *command;         /* "check": shown with -P; NULL: check */
	const char *const *set;      /* "micro=2" of each -P */
	uint32_t nset;
	const char *const *include;  /* -I */
	uint32_t ninclude;
	/* reads a file for an import: NULL if absent; the text lives in work->keep */
	const struct source *(*read)(void *self, const char *path, struct work *work);
	void *reader;
};

/* Tree to plan: imports, extends, params, names, units, defaults, the model. Assumes: any tree.
 * Gives: a plan, poisoned where faults were reported. Never NULL. */
struct plan *plan_resolve(const struct node *file, const struct source *source,
			  const struct plan_options *options, struct work *work);

/* Runs plan/rules/plan_rules.def over a resolved plan; reports what does not hold. False if an
 * error was added. */
bool plan_check(const struct plan *plan, struct work *work);

/* The plan without imports, params and defaults, with the origin of each value as a comment. Valid
 * input that resolves to the same plan. */
void plan_expand(const struct plan *plan, const struct work *work, struct text *out);

/* --dump=plan: every value, one a line, `block.name = value  origin`. */
void plan_print(const struct plan *plan, const struct work *work, struct text *out);

const char *strategy_name(enum strategy_kind kind); /* "data" */

/* Strategy of a kind, or NULL. */
const struct strategy *plan_strategy(const struct plan *plan, enum strategy_kind kind);
/* Product of the sizes of a strategy's axes; 1 for NULL. */
int64_t plan_ranks(const struct plan *plan, const struct strategy *strategy);
bool strategy_has_axis(const struct strategy *strategy, uint32_t axis);
/* Of the copies of key/value heads those along `axis`: inner axes are filled first, so that ranks
 * that share a head are neighbours. 0: they and the axis do not divide. */
int64_t plan_copies(const struct plan *plan, const struct strategy *tensor, uint32_t axis);

/* Built-in library: `std/devices/nvidia.plan` and so on; NULL text at the end. */
struct std_file {
	const char *path, *text;
};
extern const struct std_file std_files[];

#endif
