/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors of two trainings, tensor by tensor. */
#include "driver/rehearse/compare.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct tensor {
	const char *name, *at;
	json_t *shape;
	size_t count, width;
};

struct tensors {
	json_t *header;
	struct tensor *list;
	uint32_t n;
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

static const char *take_tensor(struct tensors *out, const char *name, json_t *entry,
			       struct arena *arena)
{
	struct tensor tensor = {.name = plain(name), .count = 1};
	const char *dtype;
	json_int_t from, to;
	json_t *dim;
	size_t i;

	if (json_unpack(entry, "{s:s, s:o, s:[I, I]}", "dtype", &dtype, "shape", &tensor.shape,
			"data_offsets", &from, &to) != 0)
		return arena_text(arena, "tensor `%s` has no dtype, shape and data_offsets", name);
	json_array_foreach(tensor.shape, i, dim)
		tensor.count *= (size_t)json_integer_value(dim);
	tensor.width = width_of(dtype);
	if (!tensor.width)
		return arena_text(arena, "tensor `%s` is %s, not F32 or F64", name, dtype);
	if (from < 0 || to < from || (size_t)to > out->size ||
	    (size_t)(to - from) != tensor.count * tensor.width)
		return arena_text(arena, "tensor `%s` does not fill its %lld bytes", name,
				  (long long)(to - from));
	tensor.at = out->data + from;
	out->list[out->n++] = tensor;
	return NULL;
}

static const char *take_header(struct tensors *out, const char *bytes, size_t size,
			       struct arena *arena)
{
	uint64_t length = 0;
	const char *name, *fault = NULL;
	json_t *entry;

	for (size_t i = 0; i < 8 && i < size; i++)
		length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
	if (size < 8 || length > size - 8)
		return "it ends inside its header";
	out->header = json_loadb(bytes + 8, length, 0, NULL);
	if (!json_is_object(out->header))
		return "its header is no JSON object";
	out->data = bytes + 8 + length;
	out->size = size - 8 - length;
	out->list = ARENA_ARRAY(arena, struct tensor, json_object_size(out->header) + 1);
	json_object_foreach(out->header, name, entry)
		if (!fault && strcmp(name, "__metadata__") != 0)
			fault = take_tensor(out, name, entry, arena);
	qsort(out->list, out->n, sizeof *out->list, by_name);
	return fault;
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
		const struct tensor *a = &want->list[i], *b = &got->list[i];

		if (strcmp(a->name, b->name) != 0)
			return arena_text(arena, "tensor `%s` against `%s`", a->name, b->name);
		if (!json_equal(a->shape, b->shape))
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
		whole += squares(&want->list[i]);
	for (uint32_t i = 0; i < want->n; i++) {
		double scale = fmax(sqrt(squares(&want->list[i])), 1e-3 * sqrt(whole));
		double square = square_difference(&want->list[i], &got->list[i]);
		double off = square == 0 ? 0 : sqrt(square) / scale;
		const char *name = want->list[i].name;

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
	json_decref(want.header);
	json_decref(got.header);
	return fault;
}
