/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file, checked against the plan before any rank starts. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "core/weights.h"

enum { HEADER_MOST = 100 * 1000 * 1000, SHAPE_MOST = 8 };

/* One entry of the header. */
struct entry {
	const char *name;
	const char *type;
	int64_t shape[SHAPE_MOST];
	int dims;
	int64_t first, last; /* bytes, from the end of the header */
	bool used;
};

struct header {
	const char *path;
	int64_t start, bytes; /* of the tensors: offset in the file, length */
	struct entry *entries;
	size_t count;
};

static int bad(const struct header *header, const char *name, const char *what)
{
	return rt_fail("weights file `%s`: tensor `%s`: %s", header->path, name, what);
}

static int64_t type_bytes(const char *type)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"F16", 2},	  {"I64", 8},
		     {"I32", 4}, {"I16", 2}, {"I8", 1},	  {"U8", 1},	  {"BOOL", 1},
		     {"U64", 8}, {"U32", 4}, {"U16", 2},  {"F8_E4M3", 1}, {"F8_E5M2", 1}};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i].name, type) == 0)
			return types[i].bytes;
	return 0;
}

static int read_shape(const struct header *header, struct entry *entry, const json_t *shape)
{
	if (!json_is_array(shape) || json_array_size(shape) > SHAPE_MOST)
		return bad(header, entry->name, "its shape is no list of at most 8 sizes");
	entry->dims = (int)json_array_size(shape);
	for (int i = 0; i < entry->dims; i++) {
		const json_t *size = json_array_get(shape, (size_t)i);
		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return bad(header, entry->name, "a size that is no whole number");
		entry->shape[i] = json_integer_value(size);
	}
	return 0;
}

static int check_bytes(const struct header *header, const struct entry *entry)
{
	int64_t bytes = type_bytes(entry->type);
	if (bytes == 0)
		return bad(header, entry->name, "an unknown dtype");
	for (int i = 0; i < entry->dims; i++)
		if (__builtin_mul_overflow(bytes, entry->shape[i], &bytes))
			return bad(header, entry->name, "a shape of more than 2^63 bytes");
	if (entry->first < 0 || entry->last < entry->first || entry->last > header->bytes)
		return bad(header, entry->name, "data_offsets outside the file");
	if (entry->last - entry->first != bytes)
		return bad(header, entry->name, "data_offsets that do not agree with its shape");
	return 0;
}

static int read_entry(const struct header *header, struct entry *entry, const char *name,
		      const json_t *value)
{
	const json_t *type = json_object_get(value, "dtype");
	const json_t *offsets = json_object_get(value, "data_offsets");
	entry->name = name;
	if (!json_is_string(type))
		return bad(header, name, "no dtype");
	entry->type = json_string_value(type);
	if (read_shape(header, entry, json_object_get(value, "shape")) != 0)
		return -1;
	if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
	    !json_is_integer(json_array_get(offsets, 0)) ||
	    !json_is_integer(json_array_get(offsets, 1)))
		return bad(header, name, "data_offsets are no two whole numbers");
	entry->first = json_integer_value(json_array_get(offsets, 0));
	entry->last = json_integer_value(json_array_get(offsets, 1));
	return check_bytes(header, entry);
}

static int by_offset(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

/* Tensors follow each other without gaps, the last one ends with the file. */
static int check_tiling(struct header *header)
{
	int64_t at = 0;
	qsort(header->entries, header->count, sizeof *header->entries, by_offset);
	for (size_t i = 0; i < header->count; i++) {
		const struct entry *entry = &header->entries[i];
		if (entry->first != at)
			return bad(header, entry->name,
				   entry->first < at ? "it overlaps another tensor"
						     : "a gap in front of it");
		at = entry->last;
	}
	if (at != header->bytes)
		return rt_fail("weights file `%s`: %lld bytes after the last tensor", header->path,
			       (long long)(header->bytes - at));
	return 0;
}

static int read_entries(struct header *header, json_t *root)
{
	const char *name;
	json_t *value;
	header->entries = calloc(json_object_size(root) + 1, sizeof *header->entries);
	if (header->entries == NULL)
		return rt_fail("out of memory for the header of `%s`", header->path);
	json_object_foreach(root, name, value)
	{
		if (strcmp(name, "__metadata__") == 0)
			continue;
		if (!json_is_object(value))
			return bad(header, name, "its entry is no object");
		if (read_entry(header, &header->entries[header->count++], name, value) != 0)
			return -1;
	}
	return check_tiling(header);
}

/* ---- the plan's side ---------------------------------------------------------------------- */

static struct entry *named(struct header *header, const char *prefix, const char *name)
{
	size_t length = strlen(prefix);
	for (size_t i = 0; i < header->count; i++) {
		struct entry *entry = &header->entries[i];
		if (strncmp(entry->name, prefix, length) == 0 &&
		    strcmp(entry->name + length, name) == 0)
			return entry;
	}
	return NULL;
}

static const char *const prefixes[] = {"transformer.", "model."};

static struct entry *find(struct header *header, const char *name)
{
	struct entry *entry = named(header, "", name);
	for (size_t i = 0; entry == NULL && i < 2; i++) {
		size_t length = strlen(prefixes[i]);
		entry = named(header, prefixes[i], name);
		if (entry == NULL && strncmp(name, prefixes[i], length) == 0)
			entry = named(header, "", name + length);
	}
	return entry;
}

static int bad_shape(const struct header *header, const struct stored *stored,
		     const struct entry *entry)
{
	char wanted[64], found[192] = "";
	size_t used = 0;
	if (stored->dims == 2)
		snprintf(wanted, sizeof wanted, "%lld, %lld", (long long)stored->outer,
			 (long long)stored->inner);
	else
		snprintf(wanted, sizeof wanted, "%lld", (long long)stored->outer);
	for (int i = 0; i < entry->dims; i++)
		used += (size_t)snprintf(found + used, sizeof found - used, "%s%lld",
					 i > 0 ? ", " : "", (long long)entry->shape[i]);
	return rt_fail("weights file `%s`: tensor `%s` has shape [%s], the plan has [%s]",
		       header->path, entry->name, found, wanted);
}

static int kind_of(const struct header *header, const struct entry *entry, enum tensor_kind *out)
{
	static const char *const names[TENSOR_KINDS] = {[TENSOR_F32] = "F32",
							[TENSOR_F64] = "F64",
							[TENSOR_BF16] = "BF16",
							[TENSOR_F16] = "F16"};
	for (int kind = 0; kind < TENSOR_KINDS; kind++) {
		if (strcmp(names[kind], entry->type) != 0)
			continue;
		*out = (enum tensor_kind)kind;
		return 0;
	}
	return rt_fail("weights file `%s`: tensor `%s` is %s, not F32, F64, BF16 or F16",
		       header->path, entry->name, entry->type);
}

static int match(struct header *header, const struct stored *stored, struct tensor_source *out)
{
	struct entry *entry = find(header, stored->name);
	if (entry == NULL)
		return rt_fail("weights file `%s`: tensor `%s` is missing", header->path,
			       stored->name);
	bool same = entry->dims == stored->dims && entry->shape[0] == stored->outer &&
		    (stored->dims == 1 || entry->shape[1] == stored->inner);
	if (!same)
		return bad_shape(header, stored, entry);
	entry->used = true;
	out->offset = header->start + entry->first;
	return kind_of(header, entry, &out->kind);
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);
	return length >= tail && strcmp(name + length - tail, end) == 0;
}

static int check_extra(const struct header *header)
{
	static const char *const passed[] = {".attn.bias", ".attn.masked_bias",
					     ".rotary_emb.inv_freq", "lm_head.weight"};
	for (size_t i = 0; i < header->count; i++) {
		const struct entry *entry = &header->entries[i];
		bool known = entry->used;
		for (size_t k = 0; k < sizeof passed / sizeof passed[0]; k++)
			known = known || ends_with(entry->name, passed[k]);
		if (!known)
			return bad(header, entry->name, "the plan has no such tensor");
	}
	return 0;
}

static int match_all(struct weights_file *file, struct header *header, const struct rt_plan *plan)
{
	struct stored stored;
	int64_t count = 0;
	while (stored_at(plan, count, &stored))
		count++;
	file->tensors = calloc((size_t)count + 1, sizeof *file->tensors);
	if (file->tensors == NULL)
		return rt_fail("out of memory for the header of `%s`", file->path);
	for (int64_t i = 0; stored_at(plan, i, &stored); i++)
		if (match(header, &stored, &file->tensors[i]) != 0)
			return -1;
	return check_extra(header);
}

/* ---- the file ----------------------------------------------------------------------------- */

static char *read_text(const struct weights_file *file, struct header *header)
{
	unsigned char bytes[8];
	struct stat status;
	uint64_t length = 0;
	if (fstat(file->fd, &status) == 0 && !S_ISREG(status.st_mode)) {
		rt_fail("weights file `%s`: not a regular file", file->path);
		return NULL;
	}
	if (fstat(file->fd, &status) != 0 || pread(file->fd, bytes, 8, 0) != 8) {
		rt_fail("weights file `%s`: shorter than the 8 bytes of its length", file->path);
		return NULL;
	}
	for (int i = 8; i-- > 0;)
		length = length << 8 | bytes[i];
	if (length > HEADER_MOST || (int64_t)length > status.st_size - 8) {
		rt_fail("weights file `%s`: a header of %llu bytes at offset 0, the file has %lld",
			file->path, (unsigned long long)length, (long long)status.st_size);
		return NULL;
	}
	header->start = 8 + (int64_t)length;
	header->bytes = status.st_size - header->start;
	char *text = malloc(length + 1);
	if (text == NULL || pread(file->fd, text, length, 8) != (ssize_t)length) {
		rt_fail("weights file `%s`: cannot read its header", file->path);
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

static int read_header(struct weights_file *file, struct header *header, const struct rt_plan *plan)
{
	json_error_t error;
	char *text = read_text(file, header);
	if (text == NULL)
		return -1;
	json_t *root =
		json_loadb(text, (size_t)(header->start - 8), JSON_REJECT_DUPLICATES, &error);
	free(text);
	int failed = 0;
	if (root == NULL)
		failed = rt_fail("weights file `%s`: header, offset %d: %s", file->path,
				 8 + error.position, error.text);
	else if (!json_is_object(root))
		failed = rt_fail("weights file `%s`: its header is no object", file->path);
	else if (read_entries(header, root) != 0 || match_all(file, header, plan) != 0)
		failed = -1;
	json_decref(root);
	return failed;
}

int weights_open(struct weights_file *file, const struct rt_plan *plan, const char *path)
{
	struct header header = {.path = path};
	file->path = path;
	file->tensors = NULL;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return rt_fail("weights file `%s`: %s", path, strerror(errno));
	int failed = read_header(file, &header, plan);
	free(header.entries);
	return failed;
}

void weights_close(struct weights_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->tensors);
	file->tensors = NULL;
	file->fd = -1;
}
