/* SPDX-License-Identifier: Apache-2.0 */
/* Streams the tensors of a checked file into the arena. Every rank reads for itself: the pages are
 * shared, and no rank waits for another. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "core/rt_core.h"
#include "core/weights.h"

static unsigned char buffer[WEIGHTS_BUFFER];

static const int64_t widths[TENSOR_KINDS] = {
	[TENSOR_F32] = 4, [TENSOR_F64] = 8, [TENSOR_BF16] = 2, [TENSOR_F16] = 2};

static uint64_t little(const unsigned char *at, int64_t bytes)
{
	uint64_t value = 0;
	for (int64_t i = bytes; i-- > 0;)
		value = value << 8 | at[i];
	return value;
}

static double of_f16(uint32_t bits)
{
	uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
	double sign = bits >> 15 ? -1 : 1;
	if (exponent == 31)
		return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
	double value = exponent == 0
			       ? fraction / 16777216.0
			       : (double)(1024 + fraction) / 33554432.0 * (double)(1u << exponent);
	return sign * value;
}

static double decode(const unsigned char *at, enum tensor_kind kind)
{
	uint64_t bits = little(at, widths[kind]);
	float narrow;
	double wide;
	uint32_t half = (uint32_t)bits;
	switch (kind) {
	case TENSOR_F64:
		memcpy(&wide, &bits, sizeof wide);
		return wide;
	case TENSOR_F16:
		return of_f16(half);
	case TENSOR_BF16:
		half <<= 16;
		break;
	default:
		break;
	}
	memcpy(&narrow, &half, sizeof narrow);
	return narrow;
}

static int read_all(int fd, int64_t offset, size_t count)
{
	size_t done = 0;
	while (done < count) {
		ssize_t got = pread(fd, buffer + done, count - done, (off_t)offset + (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int read_tensor(struct rt *rt, const struct weights_file *file, const struct stored *stored,
		       const struct tensor_source *source)
{
	struct stored_cursor cursor = {.rank = rt->rank};
	int64_t width = widths[source->kind], count = stored->outer * stored->inner;
	int64_t chunk = WEIGHTS_BUFFER / width;
	for (int64_t first = 0; first < count; first += chunk) {
		int64_t some = count - first < chunk ? count - first : chunk;
		if (read_all(file->fd, source->offset + first * width, (size_t)(some * width)) != 0)
			return rt_fail("weights file `%s`: cannot read tensor `%s`", file->path,
				       stored->name);
		for (int64_t i = 0; i < some; i++) {
			void *at = stored_element(rt, stored, WEIGHTS_VALUES, first + i, &cursor);
			if (cursor.param == NULL)
				return rt_fail("tensor `%s`: no piece holds its element %lld",
					       stored->name, (long long)(first + i));
			if (at != NULL)
				rt_value_set(at, cursor.param->type, 0,
					     decode(buffer + i * width, source->kind));
		}
	}
	return 0;
}

int weights_read(struct rt *rt, const struct weights_file *file)
{
	struct stored stored;
	for (int64_t i = 0; stored_at(rt->plan, i, &stored); i++)
		if (read_tensor(rt, file, &stored, &file->tensors[i]) != 0)
			return -1;
	return 0;
}
