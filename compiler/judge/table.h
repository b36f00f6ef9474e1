/* SPDX-License-Identifier: Apache-2.0 */
/* The memory table in two forms: in a diagnostic, and alone. */
#ifndef JUDGE_TABLE_H
#define JUDGE_TABLE_H

#include "judge/verdict.h"

/* As it stands in E0401: all in GiB, lines that round to 0.00 left out, total, limit and over. */
char *table_gib(const struct verdict *verdict, struct arena *arena);

#endif
