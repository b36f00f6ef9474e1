/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a program on one rank without any emitted text: one arena by its layout, every step a
 * call of the cpu device. Every byte that no rule fills starts as 0xff (NaN, or -1 as an integer),
 * so that what is read before it is written shows.
 *
 * While `guarded`, each step is watched: of all bytes of the arena it changes none outside the
 * copies that it declares to write (a step over whole parameters: padding between copies included);
 * and what is dead by its declared life is filled with 0xff again: temporaries before their first
 * step, saved activations before the forward pass, carried gradients before the backward pass. */
#ifndef OPERATORS_INTERPRET_H
#define OPERATORS_INTERPRET_H

#include "compiled.h"
#include "device/device.h"

struct interpret {
	const struct program *program;
	const struct layout *layout;
	const struct role *role;
	struct rt_device *device;
	unsigned char *arena, *before;
	const int32_t *tokens, *targets; /* [micro_batches, batch, tokens], of one step */
	bool guarded;
	int faults; /* each printed one line */
};

/* Which copies a segment works on. */
struct interpret_at {
	int64_t layer, slot, level, micro_batch;
};

struct interpret *interpret_open(const struct compiled_plan *compiled);
void interpret_close(struct interpret *in);

/* First byte of a copy; layers, slots and levels count round. */
void *interpret_copy(const struct interpret *in, uint32_t buffer, struct interpret_at at);

/* Element `i` of a copy of F64 or F32. */
double interpret_get(const struct interpret *in, uint32_t buffer, struct interpret_at at,
		     uint64_t i);
void interpret_set(const struct interpret *in, uint32_t buffer, struct interpret_at at, uint64_t i,
		   double value);

/* The control block as the runtime sets it at the start of a step. */
void interpret_control(struct interpret *in, int64_t step);

/* Parts of a step. `turns` follows the schedule over micro-batches [first, last) only. */
void interpret_start(struct interpret *in);
void interpret_begin(struct interpret *in);
void interpret_turns(struct interpret *in, uint32_t first, uint32_t last);
/* Reduces, adds the uses of a weight, makes the norm; weights: the optimizer's step too. */
void interpret_update(struct interpret *in, bool weights);

/* begin, all turns, update without the optimizer. */
void interpret_step(struct interpret *in, int64_t step);
/* Sum of the loss over all micro-batches, by forward passes alone. */
double interpret_loss(struct interpret *in);

#endif
