/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what two trainings wrote, by the bounds of the caller, and prints the worst difference.
 *
 *	compare gradients WANT GOT BOUND    safetensors, tensor by tensor
 *	compare weights WANT GOT BOUND      safetensors, all tensors as one vector
 *	compare log WANT GOT LOSS NORM      JSON lines with `loss` and `grad_norm`, step by step
 *
 * A gradient is compared relative to max(its norm, 1e-3 of the whole gradient's norm), since some
 * are zero in exact arithmetic. Names may carry or lack `transformer.`. `compare log` looks at as
 * many steps as GOT has, at least one, at most WANT's. Exit code 0: within the bounds; 1: not; 2: a
 * file is missing or makes no sense. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct blob {
	char *bytes;
	size_t size;
};

struct tensor {
	const char *name, *dtype;
	json_t *shape;
	const char *at;
	size_t count, width;
};

struct tensors {
	struct blob blob;
	json_t *header;
	struct tensor *list;
	size_t count;
};

_Noreturn static void refuse(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static void *room(size_t bytes)
{
	void *at = calloc(bytes + 1, 1);
	if (at == NULL)
		refuse("out of memory");
	return at;
}

static struct blob read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;
	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
		refuse("%s: cannot be read", path);
	struct blob blob = {.bytes = room((size_t)size), .size = (size_t)size};
	rewind(file);
	if (fread(blob.bytes, 1, blob.size, file) != blob.size)
		refuse("%s: cannot be read", path);
	fclose(file);
	return blob;
}

/* ---- safetensors --------------------------------------------------------------------------- */

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

static struct tensor tensor_of(const char *path, const char *name, json_t *entry,
			       const char *data, size_t size)
{
	struct tensor tensor = {.name = plain(name), .count = 1};
	json_int_t from, to;
	json_t *dim;
	size_t i;
	if (json_unpack(entry, "{s:s, s:o, s:[I, I]}", "dtype", &tensor.dtype, "shape",
			&tensor.shape, "data_offsets", &from, &to) != 0)
		refuse("%s: tensor `%s` has no dtype, shape and data_offsets", path, name);
	json_array_foreach(tensor.shape, i, dim)
		tensor.count *= (size_t)json_integer_value(dim);
	tensor.width = width_of(tensor.dtype);
	if (tensor.width == 0)
		refuse("%s: tensor `%s` is %s, not F32 or F64", path, name, tensor.dtype);
	if (from < 0 || to < from || (size_t)to > size ||
	    (size_t)(to - from) != tensor.count * tensor.width)
		refuse("%s: tensor `%s` does not fill its %lld bytes", path, name,
		       (long long)(to - from));
	tensor.at = data + from;
	return tensor;
}

static struct tensors read_tensors(const char *path)
{
	struct tensors out = {.blob = read_file(path)};
	uint64_t length = 0;
	for (size_t i = 0; i < 8 && i < out.blob.size; i++)
		length |= (uint64_t)(unsigned char)out.blob.bytes[i] << (8 * i);
	if (out.blob.size < 8 || length > out.blob.size - 8)
		refuse("%s: ends inside its header", path);
	out.header = json_loadb(out.blob.bytes + 8, length, 0, NULL);
	if (!json_is_object(out.header))
		refuse("%s: its header is no JSON object", path);
	out.list = room(json_object_size(out.header) * sizeof *out.list);
	const char *name;
	json_t *entry;
	json_object_foreach(out.header, name, entry)
		if (strcmp(name, "__metadata__") != 0)
			out.list[out.count++] = tensor_of(path, name, entry,
							  out.blob.bytes + 8 + length,
							  out.blob.size - 8 - length);
	qsort(out.list, out.count, sizeof *out.list, by_name);
	return out;
}

static void free_tensors(struct tensors *tensors)
{
	json_decref(tensors->header);
	free(tensors->list);
	free(tensors->blob.bytes);
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

static void same_tensors(const struct tensors *want, const struct tensors *got)
{
	for (size_t i = 0; i < want->count && i < got->count; i++) {
		if (strcmp(want->list[i].name, got->list[i].name) != 0)
			refuse("tensor `%s` against `%s`", want->list[i].name, got->list[i].name);
		if (!json_equal(want->list[i].shape, got->list[i].shape))
			refuse("tensor `%s`: the shapes differ", want->list[i].name);
	}
	if (want->count != got->count || want->count == 0)
		refuse("%zu tensors against %zu", want->count, got->count);
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

static double all_squares(const struct tensors *tensors)
{
	double sum = 0;
	for (size_t i = 0; i < tensors->count; i++)
		sum += squares(&tensors->list[i]);
	return sum;
}

/* ---- the three comparisons ----------------------------------------------------------------- */

/* A NaN is outside every bound. */
static int verdict(const char *what, double worst, double bound)
{
	int good = worst <= bound;
	printf("%s: %.2e, at most %.0e%s\n", what, worst, bound, good ? "" : ": TOO MUCH");
	return good ? 0 : 1;
}

static int compare_gradients(const struct tensors *want, const struct tensors *got, double bound)
{
	double whole = sqrt(all_squares(want)), worst = -1;
	const char *name = "";
	for (size_t i = 0; i < want->count; i++) {
		double scale = fmax(sqrt(squares(&want->list[i])), 1e-3 * whole);
		double off = sqrt(square_difference(&want->list[i], &got->list[i])) / scale;
		if (!(off <= bound))
			printf("  %s: %.2e\n", want->list[i].name, off);
		if (!(off <= worst) && !isnan(worst)) {
			worst = off;
			name = want->list[i].name;
		}
	}
	printf("worst tensor %s\n", name);
	return verdict("gradients", worst, bound);
}

static int compare_weights(const struct tensors *want, const struct tensors *got, double bound)
{
	double sum = 0;
	for (size_t i = 0; i < want->count; i++)
		sum += square_difference(&want->list[i], &got->list[i]);
	return verdict("weights", sqrt(sum / all_squares(want)), bound);
}

static int compare_files(const char *kind, const char *want_path, const char *got_path,
			 double bound)
{
	struct tensors want = read_tensors(want_path), got = read_tensors(got_path);
	same_tensors(&want, &got);
	int bad = strcmp(kind, "weights") == 0 ? compare_weights(&want, &got, bound)
					       : compare_gradients(&want, &got, bound);
	free_tensors(&want);
	free_tensors(&got);
	return bad;
}

struct step {
	double loss, norm;
};

/* The lines that have both keys; the others are passed over. */
static size_t read_log(const char *path, struct step **steps)
{
	struct blob blob = read_file(path);
	size_t count = 0;
	*steps = room((blob.size + 1) * sizeof **steps / 16);
	for (char *line = strtok(blob.bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		json_t *object = json_loads(line, 0, NULL);
		json_t *loss = json_object_get(object, "loss");
		json_t *norm = json_object_get(object, "grad_norm");
		if (object == NULL)
			refuse("%s: a line is no JSON", path);
		if (loss != NULL && norm != NULL)
			(*steps)[count++] = (struct step){
				json_is_number(loss) ? json_number_value(loss) : NAN,
				json_is_number(norm) ? json_number_value(norm) : NAN};
		json_decref(object);
	}
	free(blob.bytes);
	return count;
}

/* The larger of `worst` and the relative difference; NaN stays. */
static double worse(double worst, double want, double got)
{
	double off = want == got ? 0 : fabs(got - want) / fabs(want);
	return off <= worst || isnan(worst) ? worst : off;
}

static int compare_logs(const char *want_path, const char *got_path, double loss, double norm)
{
	struct step *want, *got;
	size_t nwant = read_log(want_path, &want), ngot = read_log(got_path, &got);
	double worst_loss = 0, worst_norm = 0;
	if (ngot == 0 || ngot > nwant)
		refuse("%s: %zu steps, %s has %zu", got_path, ngot, want_path, nwant);
	for (size_t i = 0; i < ngot; i++) {
		worst_loss = worse(worst_loss, want[i].loss, got[i].loss);
		worst_norm = worse(worst_norm, want[i].norm, got[i].norm);
	}
	printf("%zu steps\n", ngot);
	free(want);
	free(got);
	return verdict("loss", worst_loss, loss) | verdict("gradient norm", worst_norm, norm);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "log") == 0)
		return compare_logs(argv[2], argv[3], atof(argv[4]), atof(argv[5]));
	if (argc == 5 && (strcmp(argv[1], "gradients") == 0 || strcmp(argv[1], "weights") == 0))
		return compare_files(argv[1], argv[2], argv[3], atof(argv[4]));
	refuse("usage: compare gradients|weights WANT GOT BOUND, compare log WANT GOT LOSS NORM");
}
