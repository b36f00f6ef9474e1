/* SPDX-License-Identifier: Apache-2.0 */
/* The memory table in two forms: in a diagnostic, and alone. */
#ifndef JUDGE_TABLE_H
#define JUDGE_TABLE_H

#include "judge/verdict.h"

/* As it stands in E0401, with total, limit and over: from 1 GiB on all in GiB, lines that round to
 * 0.00 left out. */
char *table_short(const struct verdict *verdict, struct arena *arena);

#endif
