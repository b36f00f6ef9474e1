/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of programs: JSON, an object a line. */
#include "driver/rehearse/compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "driver/rehearse/scan_json.h"

enum { RANKS = 1024 };

/* Whole numbers of a list, of those that are kept as many as there is room for. */
static uint32_t take_list(struct scan *scan, struct rank_bytes *ranks, bool predicted,
			  uint32_t room)
{
	uint32_t n = 0;

	scan_open(scan, '[');
	while (scan_element(scan)) {
		int64_t bytes = (int64_t)scan_number(scan);

		if (n < room)
			*(predicted ? &ranks[n].predicted : &ranks[n].resident) = bytes;
		n++;
	}
	return n;
}

/* {"arena":[..],"resident":[..],..} */
static void take_ranks(struct scan *scan, struct run_log *out)
{
	uint32_t predicted = 0, resident = 0;
	const char *key;

	out->ranks = ARENA_ARRAY(scan->arena, struct rank_bytes, RANKS);
	scan_open(scan, '{');
	while ((key = scan_key(scan)) != NULL) {
		if (!strcmp(key, "arena"))
			predicted = take_list(scan, out->ranks, true, RANKS);
		else if (!strcmp(key, "resident"))
			resident = take_list(scan, out->ranks, false, RANKS);
		else
			scan_skip(scan);
	}
	if (predicted == resident && predicted <= RANKS)
		out->nranks = predicted;
}

/* A step has a loss and a norm; of other lines those of memory count. */
static bool take_line(const char *line, size_t length, struct run_log *out, struct arena *arena)
{
	struct scan scan = scan_new(line, length, arena);
	struct logged_step step = {NAN, NAN};
	int found = 0;
	const char *key;

	scan_open(&scan, '{');
	while ((key = scan_key(&scan)) != NULL) {
		bool loss = !strcmp(key, "loss"), norm = !strcmp(key, "grad_norm");

		found += loss || norm;
		if (loss || norm)
			*(loss ? &step.loss : &step.norm) = scan_number(&scan);
		else if (!strcmp(key, "ranks") && *scan.at == '{')
			take_ranks(&scan, out);
		else
			scan_skip(&scan);
	}
	if (found == 2)
		out->steps[out->nsteps++] = step;
	return scan_done(&scan);
}

static uint32_t lines_of(const char *text)
{
	uint32_t lines = 1;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

const char *log_read(const char *path, struct run_log *out, struct arena *arena)
{
	size_t length;
	const char *text = text_read(arena, path, &length);

	*out = (struct run_log){0};
	if (!text)
		return arena_text(arena, "%s: %s", path, strerror(errno));
	out->steps = ARENA_ARRAY(arena, struct logged_step, lines_of(text));
	while (*text) {
		size_t line = strcspn(text, "\n");

		if (line && !take_line(text, line, out, arena))
			return arena_text(arena, "%s: a line is no JSON", path);
		text += line + (text[line] == '\n');
	}
	return NULL;
}

/* Makes `worst` the larger of it and the relative difference; NaN stays. */
static void worse(double *worst, uint32_t *at, double want, double got, uint32_t step)
{
	double off = want == got ? 0 : fabs(got - want) / fabs(want);

	if (off <= *worst || isnan(*worst))
		return;
	*worst = off;
	*at = step + 1;
}

struct log_difference log_compare(const struct run_log *want, const struct run_log *got)
{
	struct log_difference out = {.loss_step = 1, .norm_step = 1};

	for (uint32_t i = 0; i < got->nsteps && i < want->nsteps; i++) {
		worse(&out.loss, &out.loss_step, want->steps[i].loss, got->steps[i].loss, i);
		worse(&out.norm, &out.norm_step, want->steps[i].norm, got->steps[i].norm, i);
	}
	return out;
}

bool compare_within(double off, double bound)
{
	return off <= bound;
}
