/* SPDX-License-Identifier: Apache-2.0 */
/* What value.c and value_eval.c share. */
#ifndef PLAN_VALUE_TYPE_H
#define PLAN_VALUE_TYPE_H

#include "base/bug.h"
#include "plan/value.h"

struct type_row {
	const char *word, *name, *expected, *example;
	uint32_t per;       /* units of units.def in one of `exact` */
	bool number, whole; /* whole: `exact` is an integer of 64 bits */
};
extern const struct type_row type_rows[TYPES];

/* Type and scale of a unit of units.def. */
bool value_unit(const char *text, enum value_type *type, uint64_t *scale);

/* i and f from `exact`. False if a whole type holds a fraction or leaves 64 bits. */
bool value_settle(struct value *value);

#endif
