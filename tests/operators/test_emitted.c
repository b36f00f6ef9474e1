/* SPDX-License-Identifier: Apache-2.0 */
/* test_emitted make PLAN FOLDER OPTION...: writes weights and data for a program.
 * test_emitted compare PLAN FOLDER OPTION...: interprets the same plan from the same weights on the
 * same data, and compares what the program wrote: the gradients of the first step, loss and norm of
 * every step, the weights at the end, all to the bit. The order of samples is the runtime's. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/data.h"

enum { WINDOWS = 40, SEED = 3, PATH_ROOM = 4096, TEXT_ROOM = 1 << 20 };

struct run {
	const char *folder;
	struct compiled_plan *compiled;
	struct interpret *in;
	unsigned char *data;
};

static char *path_of(const struct run *run, const char *name)
{
	static char path[PATH_ROOM];
	snprintf(path, sizeof path, "%s/%s", run->folder, name);
	return path;
}

static FILE *open_file(const struct run *run, const char *name, const char *mode)
{
	FILE *file = fopen(path_of(run, name), mode);
	if (!file) {
		fprintf(stderr, "%s: cannot be opened\n", path_of(run, name));
		exit(2);
	}
	return file;
}

/* ---- safetensors --------------------------------------------------------------------------- */

static uint64_t logical(const struct run *run, const struct sample_param *p)
{
	return graph_elements(&run->compiled->graph, p->dims, false);
}

static void stored_name(const struct sample_param *p, uint64_t layer, char *out)
{
	const char *stored = p->param->stored, *hole = strstr(stored, "{layer}");
	if (!hole)
		snprintf(out, PATH_ROOM, "%s", stored);
	else
		snprintf(out, PATH_ROOM, "%.*s%llu%s", (int)(hole - stored), stored,
			 (unsigned long long)layer, hole + strlen("{layer}"));
}

static int shape(const struct run *run, const struct sample_param *p, char *out, size_t room)
{
	unsigned long long rows = graph_elements(&run->compiled->graph, p->param->rows, false);
	if (p->param->columns.n == 0)
		return snprintf(out, room, "[%llu]", rows);
	unsigned long long columns =
		graph_elements(&run->compiled->graph, p->param->columns, false);
	return snprintf(out, room, "[%llu,%llu]", rows, columns);
}

static void write_header(const struct run *run, FILE *file)
{
	static char text[TEXT_ROOM], name[PATH_ROOM];
	unsigned long long at = 0;
	size_t used = (size_t)snprintf(text, sizeof text, "{");
	for (uint32_t k = 0; k < run->compiled->graph.nparams; k++) {
		struct sample_param p = sample_param(run->in, k);
		for (uint64_t layer = 0; layer < p.layers; layer++) {
			unsigned long long end = at + 8 * logical(run, &p);
			stored_name(&p, layer, name);
			used += (size_t)snprintf(
				text + used, sizeof text - used,
				"%s\"%s\":{\"dtype\":\"F64\",\"shape\":", at ? "," : "", name);
			used += (size_t)shape(run, &p, text + used, sizeof text - used);
			used += (size_t)snprintf(text + used, sizeof text - used,
						 ",\"data_offsets\":[%llu,%llu]}", at, end);
			at = end;
		}
	}
	used += (size_t)snprintf(text + used, sizeof text - used, "}");
	uint64_t length = used;
	fwrite(&length, sizeof length, 1, file);
	fwrite(text, 1, used, file);
}

/* Where the tensor of this name starts in a file that was read, or NULL. */
static const double *find_tensor(const char *text, const char *name)
{
	static double values[TEXT_ROOM];
	char key[PATH_ROOM + 8];
	unsigned long long from, to;
	uint64_t length;
	memcpy(&length, text, sizeof length);
	snprintf(key, sizeof key, "\"%s\":{", name);
	const char *entry = strstr(text + 8, key);
	const char *offsets = entry ? strstr(entry, "\"data_offsets\":[") : NULL;
	if (!offsets || sscanf(offsets, "\"data_offsets\":[%llu,%llu]", &from, &to) != 2 ||
	    to - from > sizeof values)
		return NULL;
	memcpy(values, text + 8 + length + from, to - from);
	return values;
}

/* Walks logical elements of all parameters in the order of the file. */
static void write_weights(const struct run *run)
{
	FILE *file = open_file(run, "init.safetensors", "wb");
	write_header(run, file);
	for (uint32_t k = 0; k < run->compiled->graph.nparams; k++) {
		struct sample_param p = sample_param(run->in, k);
		for (uint64_t i = 0; i < p.layers * p.elements; i++) {
			struct interpret_at at = {.layer = (int64_t)(i / p.elements)};
			uint64_t e = i % p.elements;
			double value = interpret_get(run->in, p.buffers->weight, at, e);
			if (!sample_padding(&run->compiled->graph, p.dims, e))
				fwrite(&value, sizeof value, 1, file);
		}
	}
	CHECK_INT(fclose(file), 0);
}

static void compare_layer(const struct run *run, const struct sample_param *p, uint64_t layer,
			  uint32_t buffer, double factor, const double *got)
{
	struct interpret_at at = {.layer = (int64_t)layer};
	for (uint64_t i = 0, n = 0; i < p->elements; i++)
		if (!sample_padding(&run->compiled->graph, p->dims, i))
			CHECK_DOUBLE(got[n++], interpret_get(run->in, buffer, at, i) * factor);
}

static void compare_tensors(const struct run *run, const char *file_name, bool gradients,
			    double factor)
{
	static char text[TEXT_ROOM], name[PATH_ROOM];
	FILE *file = open_file(run, file_name, "rb");
	size_t bytes = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	CHECK(bytes > 8 && bytes < sizeof text - 1);
	for (uint32_t k = 0; k < run->compiled->graph.nparams; k++) {
		struct sample_param p = sample_param(run->in, k);
		uint32_t buffer = gradients ? p.buffers->gradient[0] : p.buffers->weight;
		for (uint64_t layer = 0; layer < p.layers; layer++) {
			stored_name(&p, layer, name);
			const double *got = find_tensor(text, name);
			CHECK(got != NULL);
			if (got)
				compare_layer(run, &p, layer, buffer, factor, got);
		}
	}
}

/* ---- data ---------------------------------------------------------------------------------- */

static int64_t length_of(const struct run *run)
{
	return run->compiled->plan->train.seq_len.i;
}

/* Bytes below the size of the vocabulary. */
static void make_data(struct run *run)
{
	const struct model *model = run->compiled->plan->model;
	uint64_t state = SEED;
	int64_t n = WINDOWS * length_of(run) + 1;
	run->data = malloc((size_t)n);
	for (int64_t i = 0; i < n; i++)
		run->data[i] = (unsigned char)(sample_uniform(&state) *
					       (double)model->dims[model->vocab].size);
}

static void write_data(const struct run *run)
{
	FILE *file = open_file(run, "data.bin", "wb");
	fwrite(run->data, 1, (size_t)(WINDOWS * length_of(run) + 1), file);
	CHECK_INT(fclose(file), 0);
}

static void load_step(const struct run *run, int64_t step, struct sample_batch *batch)
{
	int64_t samples = run->compiled->plan->train.global_batch.i, length = length_of(run);
	uint64_t seed = (uint64_t)run->compiled->plan->train.seed.i;
	for (int64_t i = 0; i < samples * length; i++) {
		int64_t window = data_order(seed, step * samples + i / length, WINDOWS);
		const unsigned char *at = run->data + window * length + i % length;
		batch->tokens[i] = at[0];
		batch->targets[i] = at[1];
	}
}

/* ---- steps --------------------------------------------------------------------------------- */

static double number_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	CHECK(at != NULL);
	return at ? strtod(at + strlen(key), NULL) : -1;
}

/* The next line of the log that tells of a step. */
static bool next_step(FILE *log, char *line, int room)
{
	while (fgets(line, room, log))
		if (strstr(line, "\"grad_norm\":"))
			return true;
	return false;
}

static void follow(struct run *run)
{
	static char line[TEXT_ROOM];
	struct sample_batch batch = sample_batch(run->compiled->plan, SEED);
	FILE *log = open_file(run, "log", "r");
	double *control = interpret_copy(run->in, run->in->role->control, (struct interpret_at){0});
	run->in->tokens = batch.tokens;
	run->in->targets = batch.targets;
	interpret_start(run->in);
	for (int64_t step = 0; step < run->compiled->plan->train.steps.i; step++) {
		load_step(run, step, &batch);
		interpret_control(run->in, step);
		interpret_begin(run->in);
		interpret_turns(run->in, 0, run->in->role->schedule.micro_batches);
		interpret_update(run->in, true);
		CHECK(next_step(log, line, sizeof line));
		CHECK_DOUBLE(number_of(line, "\"loss\":"), control[RT_CONTROL_LOSS]);
		CHECK_DOUBLE(number_of(line, "\"grad_norm\":"), control[RT_CONTROL_NORM]);
		if (step == 0)
			compare_tensors(run, "gradients.safetensors", true,
					1 / control[RT_CONTROL_COUNT]);
	}
	CHECK(!next_step(log, line, sizeof line));
	compare_tensors(run, "weights.safetensors", false, 1);
	fclose(log);
	sample_free(&batch);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	struct run run = {.folder = argv[3]};
	run.compiled = compiled_open(argv[2], (const char *const *)argv + 4);
	if (!run.compiled)
		return 2;
	run.in = interpret_open(run.compiled);
	sample_weights(run.in, SEED);
	make_data(&run);
	if (!strcmp(argv[1], "make")) {
		write_weights(&run);
		write_data(&run);
	} else {
		follow(&run);
	}
	CHECK_INT(run.in->faults, 0);
	interpret_close(run.in);
	compiled_close(run.compiled);
	free(run.data);
	return check_done();
}
