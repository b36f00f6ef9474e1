/* SPDX-License-Identifier: Apache-2.0 */
/* planc show: what every topic is handed. Each prints text, or members of a JSON object that is
 * open already; all figures come from the program, the layout and the verdict. */
#ifndef DRIVER_SHOW_H
#define DRIVER_SHOW_H

#include "driver/commands.h"
#include "driver/json.h"
#include "judge/ranks.h"

struct show {
	struct session *session;
	struct arena *arena;
	const struct verdict *verdict; /* of the heaviest stage */
	const struct program *head;    /* of stage 0 */
	uint64_t rank;                 /* --rank, or the first of the heaviest stage */
	struct text *out;
	struct json *json;             /* NULL: text */
};

/* SHOW(name, doc) */
#define SHOW(name, doc) void show_##name(const struct show *show);
#include "driver/show.def"
#undef SHOW

/* Of a stage: its verdict, its program, what it is called in tables. */
const struct verdict *show_verdict(const struct show *show, uint32_t stage);
/* "0-2, 48-50": layers of a stage, by chunk. */
const char *show_layers(const struct role *role, struct arena *arena);
/* "rank 0 of 1024 (pp 0, dp 0, tp 0)" */
const char *show_rank(const struct show *show);
/* Members "rank", "ranks", "at" of the open object. */
void show_rank_json(const struct show *show);
/* Names of the factors in `mask` with `separator` between them. */
const char *show_factors(const struct factors *factors, uint32_t mask, const char *separator,
			 struct arena *arena);

#endif
