/* SPDX-License-Identifier: Apache-2.0 */
/* Private to emit/: pieces of C text. */
#ifndef EMIT_EMIT_TEXT_H
#define EMIT_EMIT_TEXT_H

#include "emit/emit.h"

/* Functions of a role. */
enum body_kind { BODY_START, BODY_BEGIN, BODY_FORWARD, BODY_BACKWARD, BODY_MERGE_SUMS, BODY_MERGE,
		 BODY_UPDATE, BODIES };

struct emitter {
	const struct plan *plan;
	/* of the stage that is printed now (emit_stage) */
	const struct program *program;
	const struct layout *layout;
	const struct verdict *verdict; /* of the heaviest stage */
	const struct layout *stages;   /* a list, of stage 0 first */
	bool piped;                    /* several stages: places are looked up by the role */
	const char *const **segments;  /* by stage and segment: the name of its function */
	const char *(*bodies)[BODIES]; /* by stage: names of the functions of its role */
	struct c_names *names;         /* by emit_names */
	struct work *work;
	struct arena *arena;
	struct text *out;
};

/* Head of a generated file: licence-free, names plan and version only. */
void emit_head(struct emitter *e, const char *what);

/* Ranks of these factors where they do not divide the dim alone: tokens, which are cut together
 * with the samples in front of them. Else 1. */
uint64_t emit_part(struct emitter *e, uint32_t dim, uint32_t cuts);
/* "N_BATCH * N_TOKENS", "N_BATCH * N_TOKENS / 4"; a number if the size has no dims. */
char *emit_size(struct emitter *e, const struct size *size);
/* "f32 [batch 4, tokens 128, embed 512 / 2]": of one copy on one rank; a number of elements for
 * what has no dims. */
char *emit_buffer_shape(struct emitter *e, const struct buffer *buffer);
/* A C string literal with its quotes. */
char *emit_string(struct emitter *e, const char *text);
/* A floating constant that reads back exactly, with a point or an exponent. */
char *emit_double(struct emitter *e, double value);
/* "float", "int32_t": element type in C. */
const char *emit_type(enum rt_type type);
/* "f32", "f64", "bf16": suffix of a kernel object. */
const char *emit_suffix(enum rt_type type);
/* "RT_F32" */
const char *emit_rt_type(enum rt_type type);
/* A path or another text of a user as it may stand in a comment: what would end or open one, join
 * lines or make a trigraph is broken up, what cannot be seen is spelt out. */
char *emit_comment(struct emitter *e, const char *text);
/* A comment line with the place and the text of the source line under a span; nothing for nowhere.
 */
void emit_source(struct emitter *e, struct span span, const char *prefix);

/* ---- names (emit_names.c) ---- */

/* Gives buffers, parameters and groups of all stages names that C takes, each its own. */
void emit_names(struct emitter *e);

/* Buffers of all stages, each once. */
struct named {
	const struct buffer *buffer;
	const char *text;
};
struct names {
	VEC(struct named) all;
};
const struct names *emit_buffers(const struct emitter *e);
/* "attention_q": the variable; what stands behind `place_` and `PLACE_`. */
const char *emit_buffer(const struct emitter *e, uint32_t buffer);
/* "layer_mlp_weight": what stands behind `ALL_`, `SLICE_`, `FLAT_` and `LAYER_`. */
const char *emit_param_name(const struct emitter *e, uint32_t param);
/* "GROUP_dp": an index into the program's groups; ranks that differ in these factors only. */
const char *emit_group_at(const struct emitter *e, uint32_t group);
const char *emit_group(const struct emitter *e, uint32_t factors);
/* "N_EMBED", "N_VOCAB_PADDED", "N_HEADS_TP": heads of a rank where factor tp cuts them. */
const char *emit_dim(struct emitter *e, uint32_t dim, bool logical, uint32_t cuts);

/* ---- stages (emit_stages.c) ---- */

/* Turns the emitter to a stage. */
void emit_stage(struct emitter *e, const struct layout *layout);

/* Functions of one purpose, a text each: stages with the same text share the function. */
struct variant {
	const char *name, *text;
	const struct program *program; /* of the first stage that has it */
	uint32_t segment;
};
struct variants {
	VEC(struct variant) all;
};
/* Names all functions called `base` of `variants` from `first` on: `base` if it is one, else with
 * its kind of stage: first, middle, last. */
void variants_name(struct emitter *e, struct variants *variants, uint32_t first, const char *base);
/* Index of the text among those from `first` on, added if new. */
uint32_t variants_add(struct emitter *e, struct variants *variants, uint32_t first,
		      const char *text, uint32_t segment);

/* All segments of all stages; sets e->segments. */
struct variants *emit_segments(struct emitter *e);
/* Address of the place of a buffer, as a table has it. */
const char *emit_place_of(struct emitter *e, uint32_t buffer);

/* The files. */
void emit_plan_h(struct emitter *e);
void emit_model_c(struct emitter *e);
void emit_schedule_c(struct emitter *e);
void emit_params(struct emitter *e);
void emit_homes(struct emitter *e);
void emit_roles(struct emitter *e);
void emit_makefile(struct emitter *e);
void emit_manifest(struct emitter *e, const struct artifacts *files);

/* Steps of one segment, without its braces (emit_steps.c). */
void emit_steps(struct emitter *e, uint32_t segment);

#endif
