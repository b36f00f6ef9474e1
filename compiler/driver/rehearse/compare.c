/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors of two trainings, tensor by tensor. */
#include "driver/rehearse/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "driver/rehearse/scan_json.h"

enum { DIMS = 8 };

struct tensor {
	const char *name, *at;
	size_t shape[DIMS], ndims, count, width;
};

struct tensors {
	struct tensor *at; /* a vec */
	uint32_t n, room;
	const char *data;
	size_t size; /* of data */
};

/* --- one file --------------------------------------------------------------------------- */

static const char *plain(const char *name)
{
	static const char prefix[] = "transformer.";
	size_t length = sizeof prefix - 1;

	return strncmp(name, prefix, length) == 0 ? name + length : name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static size_t width_of(const char *dtype)
{
	return strcmp(dtype, "F64") == 0 ? 8 : strcmp(dtype, "F32") == 0 ? 4 : 0;
}

static void take_shape(struct scan *scan, struct tensor *tensor)
{
	tensor->count = 1;
	scan_open(scan, '[');
	while (scan_element(scan)) {
		double size = scan_number(scan);

		scan->faulty |= tensor->ndims == DIMS || !(size >= 0 && size < 1e15);
		if (scan->faulty)
			return;
		tensor->shape[tensor->ndims++] = (size_t)size;
		tensor->count *= (size_t)size;
	}
}

/* {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]} */
static const char *take_tensor(struct tensors *out, const char *name, struct scan *scan)
{
	struct tensor tensor = {.name = plain(name)};
	const char *dtype = "nothing", *key;
	double ends[3] = {-1, -1, -1};
	int n = 0;

	scan_open(scan, '{');
	while ((key = scan_key(scan)) != NULL) {
		if (!strcmp(key, "dtype"))
			dtype = scan_text(scan);
		else if (!strcmp(key, "shape"))
			take_shape(scan, &tensor);
		else if (!strcmp(key, "data_offsets"))
			for (scan_open(scan, '['); scan_element(scan); n += n < 2)
				ends[n] = scan_number(scan);
		else
			scan_skip(scan);
	}
	tensor.width = width_of(dtype);
	if (!scan->faulty && !tensor.width)
		return arena_text(scan->arena, "tensor `%s` is %s, not F32 or F64", name, dtype);
	if (!(ends[0] >= 0 && ends[1] <= (double)out->size &&
	      ends[1] - ends[0] == (double)tensor.count * (double)tensor.width))
		return arena_text(scan->arena, "tensor `%s` does not fill its bytes", name);
	tensor.at = out->data + (size_t)ends[0];
	vec_push(scan->arena, out, tensor);
	return NULL;
}

static const char *take_header(struct tensors *out, const char *bytes, size_t size,
			       struct arena *arena)
{
	uint64_t length = 0;
	const char *name, *fault = NULL;
	struct scan scan;

	for (size_t i = 0; i < 8 && i < size; i++)
		length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
	if (size < 8 || length > size - 8)
		return "it ends inside its header";
	scan = scan_new(bytes + 8, length, arena);
	out->data = bytes + 8 + length;
	out->size = size - 8 - length;
	scan_open(&scan, '{');
	while (!fault && (name = scan_key(&scan)) != NULL) {
		if (strcmp(name, "__metadata__"))
			fault = take_tensor(out, name, &scan);
		else
			scan_skip(&scan);
	}
	if (fault || !scan_done(&scan))
		return fault ? fault : "its header is no JSON object";
	qsort(out->at, out->n, sizeof *out->at, by_name);
	return NULL;
}

static const char *read_tensors(const char *path, struct tensors *out, struct arena *arena)
{
	size_t size;
	const char *bytes = text_read(arena, path, &size), *fault;

	if (!bytes)
		return arena_text(arena, "%s: %s", path, strerror(errno));
	fault = take_header(out, bytes, size, arena);
	return fault ? arena_text(arena, "%s: %s", path, fault) : NULL;
}

static double value(const struct tensor *tensor, size_t i)
{
	double wide;
	float narrow;

	if (tensor->width == 8) {
		memcpy(&wide, tensor->at + 8 * i, sizeof wide);
		return wide;
	}
	memcpy(&narrow, tensor->at + 4 * i, sizeof narrow);
	return narrow;
}

/* --- two files -------------------------------------------------------------------------- */

static const char *unlike(const struct tensors *want, const struct tensors *got,
			  struct arena *arena)
{
	for (uint32_t i = 0; i < want->n && i < got->n; i++) {
		const struct tensor *a = &want->at[i], *b = &got->at[i];

		if (strcmp(a->name, b->name) != 0)
			return arena_text(arena, "tensor `%s` against `%s`", a->name, b->name);
		if (a->ndims != b->ndims || memcmp(a->shape, b->shape, sizeof a->shape))
			return arena_text(arena, "tensor `%s`: the shapes differ", a->name);
	}
	if (want->n == got->n && want->n > 0)
		return NULL;
	return arena_text(arena, "%u tensors against %u", want->n, got->n);
}

static double squares(const struct tensor *tensor)
{
	double sum = 0;

	for (size_t i = 0; i < tensor->count; i++)
		sum += value(tensor, i) * value(tensor, i);
	return sum;
}

static double square_difference(const struct tensor *want, const struct tensor *got)
{
	double sum = 0;

	for (size_t i = 0; i < want->count; i++) {
		double difference = value(want, i) - value(got, i);

		sum += difference * difference;
	}
	return sum;
}

static void measure(const struct tensors *want, const struct tensors *got,
		    struct tensors_difference *out, struct arena *arena)
{
	double whole = 0, apart = 0, worst = -1;

	out->all = ARENA_ARRAY(arena, struct tensor_difference, want->n);
	out->n = want->n;
	out->worst = 0;
	for (uint32_t i = 0; i < want->n; i++)
		whole += squares(&want->at[i]);
	for (uint32_t i = 0; i < want->n; i++) {
		double scale = fmax(sqrt(squares(&want->at[i])), 1e-3 * sqrt(whole));
		double square = square_difference(&want->at[i], &got->at[i]);
		double off = square == 0 ? 0 : sqrt(square) / scale;
		const char *name = want->at[i].name;

		apart += square;
		out->all[i].name = arena_copy(arena, name, strlen(name));
		out->all[i].off = off;
		if (!(off <= worst) && !isnan(worst)) {
			worst = off;
			out->worst = i;
		}
	}
	out->whole = apart == 0 ? 0 : sqrt(apart / whole);
}

const char *tensors_compare(const char *want_path, const char *got_path,
			    struct tensors_difference *out, struct arena *arena)
{
	struct tensors want = {0}, got = {0};
	const char *fault = read_tensors(want_path, &want, arena);

	if (!fault)
		fault = read_tensors(got_path, &got, arena);
	if (!fault)
		fault = unlike(&want, &got, arena);
	if (!fault)
		measure(&want, &got, out, arena);
	return fault;
}
