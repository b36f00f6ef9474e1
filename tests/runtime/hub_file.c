/* SPDX-License-Identifier: Apache-2.0 */
/* hub_file FAULT TYPE FILE writes a safetensors file for tiny.c as the hub's library does; `make`
 * is no fault. hub_file check FILE looks whether a saved file has the same values. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor {
	const char *name, *saved; /* in the hub's file; in ours, NULL: not a weight */
	int rows, columns;
};

/* Alphabetical, as the library orders tensors of one type. */
static const struct tensor tensors[] = {
	{"lm_head.bias", "lm_head.bias", 256, 0},
	{"lm_head.weight", "lm_head.weight", 256, 16},
	{"transformer.h.0.attn.bias", NULL, 4, 4},
	{"transformer.h.0.mix.weight", "h.0.mix.weight", 16, 32},
	{"transformer.wte.weight", "wte.weight", 256, 16},
	{"transformer.more.weight", NULL, 2, 2},
};

enum { TENSORS = 5 };

static long count_of(const struct tensor *tensor)
{
	return (long)tensor->rows * (tensor->columns > 0 ? tensor->columns : 1);
}

/* Few bits, so that every type holds it: +- (1 + k / 8) 2^e, and a subnormal of F16 now and then.
 */
static double value_of(int tensor, long i)
{
	unsigned x = (unsigned)i * 2654435761u + (unsigned)tensor * 97u;
	x ^= x >> 13;
	double value = (1 + (x >> 3 & 7) / 8.0) / (double)(1 << (x >> 6 & 7));
	if (x % 31 == 0)
		value = 5.0 / 16777216.0;
	if (x % 37 == 0)
		value = 0;
	return x & 1 ? -value : value;
}

static uint64_t f16_of(double value)
{
	uint64_t sign = value < 0 ? 0x8000 : 0, exponent = 25;
	double size = value < 0 ? -value : value;
	if (size < 1.0 / 16384)
		return sign | (uint64_t)(size * 16777216);
	while (size < 1024) {
		size *= 2;
		exponent--;
	}
	return sign | exponent << 10 | ((uint64_t)size & 1023);
}

static int put(FILE *file, const char *type, double value)
{
	float narrow = (float)value;
	uint64_t bits = 0;
	int bytes = 4;
	memcpy(&bits, &narrow, 4);
	if (strcmp(type, "F64") == 0) {
		bytes = 8;
		memcpy(&bits, &value, 8);
	} else if (strcmp(type, "BF16") == 0) {
		bytes = 2;
		bits >>= 16;
	} else if (strcmp(type, "F16") == 0) {
		bytes = 2;
		bits = f16_of(value);
	}
	for (int i = 0; file != NULL && i < bytes; i++)
		fputc((int)(bits >> (8 * i) & 255), file);
	return bytes;
}

static void entry(char *out, const char *fault, const char *type, int number, long first)
{
	const struct tensor *tensor = &tensors[number];
	long last = first + count_of(tensor) * put(NULL, type, 0);
	int rows = tensor->rows, columns = tensor->columns;
	char shape[64];
	if (number == 4 && strcmp(fault, "type") == 0)
		type = "I32";
	if (number == 4 && strcmp(fault, "shape") == 0) {
		rows = tensor->columns;
		columns = tensor->rows;
	}
	if (number == 4 && strcmp(fault, "outside") == 0)
		last += 1 << 20;
	if (number == 4 && strcmp(fault, "size") == 0)
		last -= 4;
	if (number == 4 && strcmp(fault, "overlap") == 0) {
		first -= 8;
		last -= 8;
	}
	snprintf(shape, sizeof shape, columns > 0 ? "[%d,%d]" : "[%d]", rows, columns);
	sprintf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%ld,%ld]}",
		tensor->name, type, shape, first, last);
}

static int make(const char *fault, const char *type, const char *path)
{
	static char header[8192];
	FILE *file = fopen(path, "wb");
	int from = strcmp(fault, "missing") == 0 ? 1 : 0;
	int to = strcmp(fault, "extra") == 0 ? TENSORS + 1 : TENSORS;
	long first = 0;
	if (file == NULL)
		return 2;
	strcpy(header, "{\"__metadata__\":{\"format\":\"pt\"}");
	for (int i = from; i < to; i++) {
		char line[512];
		entry(line, fault, type, i, first);
		strcat(header, line);
		first += count_of(&tensors[i]) * put(NULL, type, 0);
	}
	strcat(header, strcmp(fault, "json") == 0 ? "]" : "}");
	while (strlen(header) % 8 != 0)
		strcat(header, " ");
	uint64_t length = strcmp(fault, "length") == 0 ? UINT32_MAX : strlen(header);
	fwrite(&length, 8, 1, file);
	fputs(header, file);
	for (int i = from; i < to; i++)
		for (long k = 0; k < count_of(&tensors[i]); k++)
			put(file, type, value_of(i, k));
	return fclose(file) != 0;
}

static int check_tensor(const json_t *root, const char *bytes, int number)
{
	const struct tensor *tensor = &tensors[number];
	const json_t *entry_of = json_object_get(root, tensor->saved);
	const json_t *offsets = json_object_get(entry_of, "data_offsets");
	if (entry_of == NULL)
		return 1;
	const char *at = bytes + json_integer_value(json_array_get(offsets, 0));
	for (long i = 0; i < count_of(tensor); i++) {
		float value;
		memcpy(&value, at + 4 * i, 4);
		if (value == (float)value_of(number, i))
			continue;
		fprintf(stderr, "%s[%ld]: %g, not %g\n", tensor->saved, i, (double)value,
			value_of(number, i));
		return 1;
	}
	return 0;
}

static int check(const char *path)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "rb");
	uint64_t length = 0;
	if (file == NULL || fread(bytes, 1, sizeof bytes, file) < 8)
		return 2;
	fclose(file);
	memcpy(&length, bytes, 8);
	json_t *root = json_loadb(bytes + 8, length, 0, NULL);
	int failed = root == NULL;
	for (int i = 0; !failed && i < TENSORS; i++)
		if (tensors[i].saved != NULL)
			failed = check_tensor(root, bytes + 8 + length, i);
	json_decref(root);
	return failed;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check(argv[2]);
	return argc == 4 ? make(argv[1], argv[2], argv[3]) : 2;
}
