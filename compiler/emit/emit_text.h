/* SPDX-License-Identifier: Apache-2.0 */
/* Private to emit/: pieces of C text. */
#ifndef EMIT_EMIT_TEXT_H
#define EMIT_EMIT_TEXT_H

#include "emit/emit.h"

struct emitter {
	const struct plan *plan;
	const struct program *program;
	const struct layout *layout;
	const struct verdict *verdict;
	struct work *work;
	struct arena *arena;
	struct text *out;
};

/* Head of a generated file: licence-free, names plan and version only. */
void emit_head(struct emitter *e, const char *what);

/* An identifier of the plan that C may use: keywords and names of the runtime get a `_`. */
const char *emit_name(struct emitter *e, const struct name *name);
/* "N_EMBED", "N_VOCAB_PADDED", "N_HEADS_TP": heads of a rank where factor tp cuts them. */
char *emit_dim(struct emitter *e, uint32_t dim, bool logical, uint32_t cuts);
/* "GROUP_dp": ranks that differ in these factors only. */
char *emit_group(struct emitter *e, uint32_t factors);
/* "N_BATCH * N_TOKENS"; a number if the size has no dims. */
char *emit_size(struct emitter *e, const struct size *size);
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
/* Bytes of an element. */
int emit_bytes(enum rt_type type);
/* A comment line with the place and the text of the source line under a span; nothing for nowhere.
 */
void emit_source(struct emitter *e, struct span span, const char *prefix);

/* The files. */
void emit_plan_h(struct emitter *e);
void emit_model_c(struct emitter *e);
void emit_schedule_c(struct emitter *e);
void emit_params(struct emitter *e);
void emit_makefile(struct emitter *e);
void emit_manifest(struct emitter *e, const struct artifacts *files);

/* Steps of one segment, without its braces (emit_steps.c). */
void emit_steps(struct emitter *e, uint32_t segment);

#endif
