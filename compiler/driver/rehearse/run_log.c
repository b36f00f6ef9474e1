/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of programs: JSON, an object a line. */
#include "driver/rehearse/compare.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

static double number_of(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void take_step(const json_t *object, struct run_log *out)
{
	const json_t *loss = json_object_get(object, "loss");
	const json_t *norm = json_object_get(object, "grad_norm");

	if (loss && norm)
		out->steps[out->nsteps++] =
			(struct logged_step){number_of(loss), number_of(norm)};
}

/* {"ranks":{"arena":[..],"resident":[..],..}} */
static void take_ranks(const json_t *object, struct run_log *out, struct arena *arena)
{
	const json_t *ranks = json_object_get(object, "ranks");
	const json_t *predicted = json_object_get(ranks, "arena");
	const json_t *resident = json_object_get(ranks, "resident");
	size_t n = json_array_size(predicted);

	if (!n || json_array_size(resident) != n)
		return;
	out->ranks = ARENA_ARRAY(arena, struct rank_bytes, n);
	out->nranks = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		out->ranks[i] = (struct rank_bytes){
			json_integer_value(json_array_get(predicted, i)),
			json_integer_value(json_array_get(resident, i))};
}

static bool take_line(const char *line, size_t length, struct run_log *out, struct arena *arena)
{
	json_t *object = json_loadb(line, length, 0, NULL);

	if (!object)
		return false;
	take_step(object, out);
	take_ranks(object, out, arena);
	json_decref(object);
	return true;
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
