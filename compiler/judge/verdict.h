/* SPDX-License-Identifier: Apache-2.0 */
/* What review and automation read: the table of bytes, quantities, limits. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "place/layout.h"

struct verdict_line {
	const char *name, *detail; /* "optimizer", "master + 2 moments, fp32" */
	int depth;		   /* 1: part of the line before it of depth 0 */
	uint64_t bytes;		   /* > 0 */
};

struct verdict {
	const struct verdict *stages; /* by stage: the same for each; NULL: one stage */
	const struct plan *plan;
	const struct layout *layout; /* of the heaviest stage */
	uint64_t params; /* logical weights */
	uint64_t arena, outside, reserve, peak,
		capacity; /* bytes; peak = arena + outside + reserve */
	uint64_t limit;	  /* capacity less what others use of the device */
	uint64_t tokens_per_step;
	uint32_t role;			  /* the heaviest */
	enum phase phase;		  /* of its fullest instant */
	struct peak at;			  /* items + gaps == total == arena */
	const struct verdict_line *lines; /* depth 0 ones add up to peak */
	uint32_t nlines;
	double bubble; /* idle share of the pipeline; 0 without one */
};

/* Layout to verdict: adds E0401 and E0402 to work->diags. Never fails otherwise. */
void judge(const struct layout *layout, struct verdict *out, struct work *work);

/* The table as text lines, GiB with two decimals (MiB below 1 GiB), bars of # that show shares. */
char *verdict_table(const struct verdict *verdict, struct arena *arena);
/* "first-light.plan: ok, 2 devices, 35.1 MiB of 1.0 GiB (3 %), 2 micro-batches of 16 seq, ..."; the
 * sequences of a micro-batch are those of all data ranks. */
char *verdict_summary(const struct verdict *verdict, struct arena *arena);
/* The value of "summary" in the JSON document. Its items add up to arena_bytes. */
void verdict_json(const struct verdict *verdict, struct text *out);
/* The same without the braces. */
void verdict_members(const struct verdict *verdict, struct text *out);

/* --dump=verdict */
void verdict_print(const struct verdict *verdict, const struct work *work, struct text *out);

#endif
