/* SPDX-License-Identifier: Apache-2.0 */
/* Weights: drawn at the start, read from and written to safetensors files.
 *
 * A file holds whole logical tensors under their stored names and in their stored layout: [rows,
 * columns], or [columns, rows] where the plan says so; pieces of one stored tensor are joined along
 * the rows of the logical one; vectors have one dimension. Padding is not in a file.
 *
 * Where parameters are cut over ranks, what says "whole" below reads the arenas of others: core
 * calls it between two meetings of all ranks (loop.c). */
#ifndef CORE_WEIGHTS_H
#define CORE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rt_core.h"

enum { STORED_NAME = 512, WEIGHTS_BUFFER = 1 << 20 };

/* One tensor of a file: all pieces of a parameter, of one layer. */
struct stored {
	const struct rt_param *param; /* the piece in front */
	int64_t layer;
	int64_t outer, inner; /* shape in the file; inner 1 and one dimension for vectors */
	int dims;
	char name[STORED_NAME];
};

/* The stored tensors of a plan, in order: `i` counts from 0; false after the last. stored.c */
bool stored_at(const struct rt_plan *plan, int64_t i, struct stored *out);

/* Name of a parameter in a log: its stored name, with "[i]" for piece i; `out` holds STORED_NAME
 * bytes. */
void stored_param_name(const struct rt_param *param, int64_t layer, char *out);

/* Which buffer of a parameter a file is made of. */
enum weights_part { WEIGHTS_VALUES, WEIGHTS_GRADIENTS };

/* The element of an arena behind element `index` of a stored tensor, in the arena of cursor->rank,
 * or of the first rank that holds it if that is -1. `cursor` remembers piece and block between
 * calls for one tensor; set its rank, zero the rest first. NULL: that rank does not hold it, or, if
 * cursor->param is NULL too, no piece has this row. */
struct stored_cursor {
	int rank;
	const struct rt_param *param;
	enum rt_part part;
	struct rt_block block;
	int owner; /* rank of the block */
};
/* Element type of a part of a parameter in memory. */
enum rt_type stored_type(const struct rt_param *param, enum weights_part part);
void *stored_element(struct rt *rt, const struct stored *stored, enum weights_part part,
		     int64_t index, struct stored_cursor *cursor);

/* Values of the start by seed, purpose, stream and logical index; moments and gradients 0. */
void weights_draw(struct rt *rt);

/* Writes whole tensors to FILE.tmp, makes it durable, renames it to FILE: all or nothing. Every
 * value is multiplied by `factor`; F64 if the tensor is fp64, else F32. One process writes, through
 * a buffer of WEIGHTS_BUFFER bytes. -1 after rt_fail; the .tmp is gone then. */
int weights_write(struct rt *rt, const char *path, enum weights_part part, double factor);

/* Removes the FILE.tmp of a process that ended while it wrote. */
void weights_forget(const char *path);

/* What can be told of a FILE to write before there is anything to write. -1 after rt_fail. */
int weights_writable(const char *path);

/* Touches the buffer, so that writing during the training adds no resident memory. */
void weights_warm(void);

/* A file that was opened and checked against the plan: where each stored tensor lies. */
enum tensor_kind { TENSOR_F32, TENSOR_F64, TENSOR_BF16, TENSOR_F16, TENSOR_KINDS };
struct tensor_source {
	int64_t offset;
	enum tensor_kind kind;
};
struct weights_file {
	const char *path;
	int fd;
	struct tensor_source *tensors; /* by number of the stored tensor */
};

/* Strict: every tensor of the plan is there in its shape, no other one, offsets tile the file.
 * Names may carry or lack a leading `transformer.` or `model.`. Passed over: buffers that are no
 * weights
 * (`.attn.bias`, `.attn.masked_bias`, `.rotary_emb.inv_freq`) and `lm_head.weight` where the plan
 * ties the head. -1 after rt_fail that names file and tensor. */
int weights_open(struct weights_file *file, const struct rt_plan *plan, const char *path);
/* Each rank takes what it holds. */
int weights_read(struct rt *rt, const struct weights_file *file);
void weights_close(struct weights_file *file);

/* A hash of the bits of one parameter, all layers, padding included: whole; or what is in this
 * rank's memory. The same where it is not cut. */
uint64_t weights_hash(struct rt *rt, const struct rt_param *param);
uint64_t weights_hash_here(struct rt *rt, const struct rt_param *param);

/* Norm of the whole gradient of one layer of a parameter, squares added in index order. */
double weights_gradient_norm(struct rt *rt, const struct rt_param *param, int64_t layer);

#endif
