/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu_kernels.h"

int failures;
struct rt_device *devices[DEVICES];

void fail(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	failures++;
}

void devices_open(void)
{
	for (int i = 0; i < DEVICES; i++) {
		char fault[RT_DEVICE_FAULT];
		struct rt_device_options options = {.threads = i + 1, .ranks = 1};
		devices[i] = cpu_device_open(&options, fault);
		if (!devices[i]) {
			fail("%s", fault);
			exit(1);
		}
	}
}

void devices_close(void)
{
	for (int i = 0; i < DEVICES; i++)
		devices[i]->ops->close(devices[i]);
}

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

double random_between(double low, double high)
{
	return (float)(low + (high - low) * ((double)random_word() * 0x1p-53));
}

int64_t random_below(int64_t limit)
{
	return (int64_t)(random_word() % (uint64_t)limit);
}

struct array array_filled(enum kind kind, int64_t count, double value)
{
	struct array array = {.kind = kind, .count = count};
	array.value = malloc((size_t)(count + 1) * sizeof(double));
	array.start = malloc((size_t)(count + 1) * sizeof(double));
	for (int64_t i = 0; i < count; i++)
		array.value[i] = array.start[i] = value;
	return array;
}

struct array array_random(int64_t count)
{
	struct array array = array_filled(KIND_T, count, 0);
	for (int64_t i = 0; i < count; i++)
		array.value[i] = array.start[i] = random_between(-1, 1);
	return array;
}

struct array array_index(int64_t count, int64_t limit)
{
	struct array array = array_filled(KIND_I32, count, 0);
	for (int64_t i = 0; i < count; i++)
		array.value[i] = array.start[i] = (double)random_below(limit);
	return array;
}

struct array array_like(const struct array *from)
{
	struct array array = array_filled(from->kind, from->count, 0);
	memcpy(array.value, from->value, (size_t)from->count * sizeof(double));
	memcpy(array.start, from->value, (size_t)from->count * sizeof(double));
	return array;
}

struct array array_control(void)
{
	struct array control = array_filled(KIND_F64, RT_CONTROL_WORDS, 0);
	control.value[RT_CONTROL_LR] = 0.01;
	control.value[RT_CONTROL_CORRECTION1] = 0.271;
	control.value[RT_CONTROL_CORRECTION2] = 0.1426;
	control.value[RT_CONTROL_FACTOR] = 0.25;
	control.value[RT_CONTROL_SEED] = 7;
	control.value[RT_CONTROL_STEP] = 5;
	control.value[RT_CONTROL_SAMPLE] = 3;
	control.value[RT_CONTROL_TRAINING] = 1;
	memcpy(control.start, control.value, RT_CONTROL_WORDS * sizeof(double));
	return control;
}

static enum rt_type type_of(const struct array *array, enum rt_type type)
{
	static const enum rt_type fixed[] = {
		[KIND_F64] = RT_F64, [KIND_I32] = RT_I32, [KIND_I64] = RT_I64};
	if (array->kind == KIND_S)
		return type == RT_F64 ? RT_F64 : RT_F32;
	return array->kind == KIND_T || array->kind == KIND_G ? type : fixed[array->kind];
}

double round_bf16(double x)
{
	int exponent;
	if (x == 0 || !isfinite(x))
		return x;
	frexp(x, &exponent);
	int last = exponent - 8 < -133 ? -133 : exponent - 8;
	double near = ldexp(nearbyint(ldexp(x, -last)), last);
	return fabs(near) < 0x1p128 ? near : copysign(INFINITY, x);
}

static uint16_t bits_of(double x)
{
	float value = (float)round_bf16(x);
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

static double value_of(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

int64_t array_bytes(const struct array *array, enum rt_type type)
{
	enum rt_type actual = type_of(array, type);
	int64_t bytes = actual == RT_BF16 ? 2 : actual == RT_F32 || actual == RT_I32 ? 4 : 8;
	return array->count * bytes;
}

void *array_pack(const struct array *array, enum rt_type type, const double *value)
{
	int64_t bytes = array_bytes(array, type);
	void *at = malloc((size_t)bytes + 1);
	for (int64_t i = 0; i < array->count; i++) {
		switch (type_of(array, type)) {
		case RT_F32:
			((float *)at)[i] = (float)value[i];
			break;
		case RT_BF16:
			((uint16_t *)at)[i] = bits_of(value[i]);
			break;
		case RT_F64:
			((double *)at)[i] = value[i];
			break;
		case RT_I32:
			((int32_t *)at)[i] = (int32_t)value[i];
			break;
		default:
			((int64_t *)at)[i] = (int64_t)value[i];
		}
	}
	return at;
}

void array_unpack(struct array *array, enum rt_type type, const void *bytes)
{
	for (int64_t i = 0; i < array->count; i++) {
		switch (type_of(array, type)) {
		case RT_F32:
			array->value[i] = ((const float *)bytes)[i];
			break;
		case RT_BF16:
			array->value[i] = value_of(((const uint16_t *)bytes)[i]);
			break;
		case RT_F64:
			array->value[i] = ((const double *)bytes)[i];
			break;
		case RT_I32:
			array->value[i] = ((const int32_t *)bytes)[i];
			break;
		default:
			array->value[i] = (double)((const int64_t *)bytes)[i];
		}
	}
}

/* A call in typed arrays. */
struct typed {
	void *in[RT_MAX_IN], *out[RT_MAX_OUT];
};

/* The array as the call sees it. */
static struct array array_in(const struct call *call, const struct array *array)
{
	struct array seen = *array;
	if (seen.kind == KIND_G)
		seen.kind = call->wide_gradients ? KIND_S : KIND_T;
	return seen;
}

static struct typed typed_start(const struct call *call, enum rt_type type)
{
	struct typed typed = {{0}, {0}};
	for (int i = 0; i < RT_MAX_IN; i++) {
		struct array in = array_in(call, &call->in[i]);
		if (in.value)
			typed.in[i] = array_pack(&in, type, in.value);
	}
	for (int i = 0; i < RT_MAX_OUT; i++) {
		struct array out = array_in(call, &call->out[i]);
		if (out.value)
			typed.out[i] = array_pack(&out, type, out.start);
	}
	return typed;
}

static const struct rt_kernel *kernel_of(const struct call *call, enum rt_type type)
{
	if (type == RT_BF16)
		return call->wide_gradients ? call->bf16_f32 : call->bf16;
	return type == RT_F32 ? call->f32 : call->f64;
}

static const char *suffix_of(const struct call *call, enum rt_type type)
{
	if (type == RT_BF16)
		return call->wide_gradients ? "bf16_f32" : "bf16";
	return type == RT_F32 ? "f32" : "f64";
}

static int typed_run(const struct call *call, enum rt_type type, const struct typed *typed,
		     struct rt_device *device)
{
	struct rt_args args;
	memcpy(args.in, typed->in, sizeof(args.in));
	memcpy(args.out, typed->out, sizeof(args.out));
	memcpy(args.size, call->size, sizeof(args.size));
	memcpy(args.scalar, call->scalar, sizeof(args.scalar));
	return device->ops->run(device, 0, kernel_of(call, type), call->rows, &args);
}

static void typed_free(struct typed *typed)
{
	for (int i = 0; i < RT_MAX_IN; i++)
		free(typed->in[i]);
	for (int i = 0; i < RT_MAX_OUT; i++)
		free(typed->out[i]);
}

static void typed_read(struct call *call, enum rt_type type, const struct typed *typed)
{
	for (int i = 0; i < RT_MAX_OUT; i++) {
		struct array out = array_in(call, &call->out[i]);
		if (out.value)
			array_unpack(&out, type, typed->out[i]);
	}
}

int call_run(struct call *call, enum rt_type type)
{
	struct typed typed = typed_start(call, type);
	int result = typed_run(call, type, &typed, devices[0]);
	typed_read(call, type, &typed);
	typed_free(&typed);
	return result;
}

void compare(const char *what, int64_t count, const double *got, const double *want,
	     double tolerance)
{
	for (int64_t i = 0; i < count; i++) {
		if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])))
			continue;
		if (fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i])))
			continue;
		fail("%s[%lld]: %.17g instead of %.17g", what, (long long)i, got[i], want[i]);
		return;
	}
}

static void same_bits(const struct call *call, enum rt_type type, const struct typed *a,
		      const struct typed *b, const char *what)
{
	for (int i = 0; i < RT_MAX_OUT; i++) {
		struct array out = array_in(call, &call->out[i]);
		if (!out.value)
			continue;
		if (memcmp(a->out[i], b->out[i], (size_t)array_bytes(&out, type)) != 0)
			fail("%s_%s: output %d has other bits with another %s", call->name,
			     suffix_of(call, type), i, what);
	}
}

static void check_type(struct call *call, enum rt_type type, double *const *want, double tolerance)
{
	struct typed first = typed_start(call, type);
	cpu_isa_limit(CPU_ISA_BASE);
	if (typed_run(call, type, &first, devices[0]) != 0)
		fail("%s: %s", call->name, devices[0]->fault);
	for (int i = 0; i < DEVICES; i++) {
		for (int isa = CPU_ISA_BASE; isa <= CPU_ISA_AVX512; isa++) {
			struct typed again = typed_start(call, type);
			cpu_isa_limit((enum cpu_isa)isa);
			typed_run(call, type, &again, devices[i]);
			same_bits(call, type, &first, &again,
				  isa == CPU_ISA_BASE ? "number of threads" : "instruction set");
			typed_free(&again);
		}
	}
	cpu_isa_limit(CPU_ISA_AVX512);
	typed_read(call, type, &first);
	typed_free(&first);
	for (int i = 0; want && i < RT_MAX_OUT; i++) {
		char what[64];
		snprintf(what, sizeof(what), "%s_%s output %d", call->name, suffix_of(call, type),
			 i);
		if (call->out[i].value && want[i])
			compare(what, call->out[i].count, call->out[i].value, want[i], tolerance);
	}
}

/* A copy of its own; what bf16 holds narrow is rounded to it. */
static struct array array_rounded(const struct call *call, const struct array *array)
{
	if (!array->value)
		return *array;
	struct array copy = array_like(array), seen = array_in(call, array);
	memcpy(copy.start, array->start, (size_t)array->count * sizeof(double));
	for (int64_t i = 0; seen.kind == KIND_T && i < copy.count; i++) {
		copy.value[i] = round_bf16(copy.value[i]);
		copy.start[i] = round_bf16(copy.start[i]);
	}
	return copy;
}

/* bf16 computes as f32 does and rounds once: the same bits as f32 on rounded inputs, rounded. */
static void check_bf16(const struct call *call, bool wide_gradients)
{
	struct call narrow = *call;
	double *want[RT_MAX_OUT] = {0};
	narrow.wide_gradients = wide_gradients;
	for (int i = 0; i < RT_MAX_IN; i++)
		narrow.in[i] = array_rounded(&narrow, &call->in[i]);
	for (int i = 0; i < RT_MAX_OUT; i++)
		narrow.out[i] = array_rounded(&narrow, &call->out[i]);
	call_run(&narrow, RT_F32);
	for (int i = 0; i < RT_MAX_OUT; i++) {
		struct array out = array_in(&narrow, &narrow.out[i]);
		if (!out.value)
			continue;
		want[i] = malloc((size_t)(out.count + 1) * sizeof(double));
		for (int64_t j = 0; j < out.count; j++)
			want[i][j] = out.kind == KIND_T ? round_bf16(out.value[j]) : out.value[j];
	}
	check_type(&narrow, RT_BF16, want, 0);
	for (int i = 0; i < RT_MAX_OUT; i++)
		free(want[i]);
	call_free(&narrow);
}

void call_check(struct call *call, double *const *want, double tolerance)
{
	if (call->bf16)
		check_bf16(call, false);
	if (call->bf16_f32)
		check_bf16(call, true);
	check_type(call, RT_F32, want, tolerance);
	check_type(call, RT_F64, want, 1e-12);
}

static double weighted(struct call *forward, const double *dy)
{
	double sum = 0;
	call_run(forward, RT_F64);
	for (int64_t i = 0; i < forward->out[0].count; i++)
		sum += dy[i] * forward->out[0].value[i];
	return sum;
}

void call_gradient(struct call *forward, const double *dy, int which, const double *got)
{
	struct array *by = &forward->in[which];
	double step = 1e-5;
	char what[64];
	snprintf(what, sizeof(what), "gradient of %s by input %d", forward->name, which);
	for (int64_t i = 0; i < by->count; i++) {
		double here = by->value[i], high, low;
		by->value[i] = here + step;
		high = weighted(forward, dy);
		by->value[i] = here - step;
		low = weighted(forward, dy);
		by->value[i] = here;
		double want = (high - low) / (2 * step);
		compare(what, 1, &got[i], &want, 1e-7);
	}
}

void call_free(struct call *call)
{
	for (int i = 0; i < RT_MAX_IN; i++) {
		free(call->in[i].value);
		free(call->in[i].start);
	}
	for (int i = 0; i < RT_MAX_OUT; i++) {
		free(call->out[i].value);
		free(call->out[i].start);
	}
}
