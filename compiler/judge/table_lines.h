/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the memory table. */
#ifndef JUDGE_TABLE_LINES_H
#define JUDGE_TABLE_LINES_H

#include "judge/verdict.h"

/* Fills out->lines from out->at, out->outside and out->reserve. */
void lines_build(struct verdict *out, struct work *work);

/* Bytes of all copies of a buffer; 0 for NO_ID. */
uint64_t lines_bytes(const struct program *program, uint32_t buffer);

/* Name of an item as the table has it. */
const char *lines_item(enum item item);

#endif
