/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rt_log.h"
#include "core/rt_core.h"

enum { PAGES = 4096, STATUS = 4096, NAME_WIDTH = 34 };

static int64_t resident(unsigned char *at, int64_t bytes)
{
	unsigned char pages[PAGES];
	int64_t page = sysconf(_SC_PAGESIZE), count = 0;
	for (int64_t first = 0; first < bytes; first += PAGES * page) {
		int64_t some = bytes - first < PAGES * page ? bytes - first : PAGES * page;
		if (mincore(at + first, (size_t)some, pages) != 0)
			return -1;
		for (int64_t i = 0; i < (some + page - 1) / page; i++)
			count += pages[i] & 1;
	}
	return count * page < bytes ? count * page : bytes;
}

/* "RssAnon:   123 kB" in bytes. */
static int64_t field_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	return at != NULL ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

void memory_measure(const struct rt *rt, struct memory_use *use)
{
	char status[STATUS];
	data_release(rt->data);
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, status, sizeof status - 1) : 0;
	if (fd >= 0)
		close(fd);
	status[got > 0 ? got : 0] = '\0';
	use->arena = resident(rt->arena, rt->arena_bytes);
	use->anonymous = field_of(status, "\nRssAnon:");
	use->outside = use->anonymous + field_of(status, "\nRssFile:");
	use->heap = (int64_t)mallinfo2().uordblks;
}

static int64_t place_bytes(const struct rt_param *param, const struct rt_place *place,
			   enum rt_type type)
{
	if (place == NULL)
		return 0;
	int64_t levels = place->levels > 1 ? place->levels : 1;
	int64_t layers = place->layers > 1 ? place->layers : 1;
	return layers * levels * rt_param_held(param, place) * rt_type_bytes(type);
}

/* Bytes of the lines that are parts of an item. */
static int64_t parts_of(const struct rt *rt, const char *item)
{
	int64_t sum = 0;
	bool inside = false;
	for (uint32_t i = 0; i < rt->role->nitems; i++) {
		const struct rt_item *line = &rt->role->items[i];
		if (line->depth == 0)
			inside = strcmp(line->name, item) == 0;
		else if (inside)
			sum += line->bytes;
	}
	return sum;
}

int64_t memory_counted(const struct rt *rt, const char *item)
{
	int64_t weights = 0, gradients = 0, moments = 0;
	for (uint32_t p = 0; p < rt->plan->nparam; p++) {
		const struct rt_param *param = &rt->plan->param[p];
		weights += place_bytes(param, param->weight, param->type);
		gradients += place_bytes(param, param->gradient, param->gradient_type);
		moments += place_bytes(param, param->moment1, param->state_type) +
			   place_bytes(param, param->moment2, param->state_type) +
			   place_bytes(param, param->master, param->state_type);
	}
	if (strcmp(item, "weights") == 0)
		return weights;
	if (strcmp(item, "gradients") == 0)
		return gradients + parts_of(rt, item);
	return strcmp(item, "optimizer") == 0 ? moments : -1;
}

static void print_line(const char *name, int depth, int64_t predicted, int64_t measured)
{
	char line[256], left[32], right[32] = "";
	struct rt_text text = {.at = line, .room = sizeof line};
	if (measured >= 0)
		rt_bytes(right, measured);
	rt_text_clear(&text);
	rt_text_add(&text, "  %*s%-*.*s %12s %12s\n", 2 * depth, "", NAME_WIDTH - 2 * depth,
		    NAME_WIDTH - 2 * depth, name, rt_bytes(left, predicted), right);
	rt_write(STDOUT_FILENO, line, text.used);
}

void memory_print(const struct rt *rt, const struct memory_use *use)
{
	char line[128];
	struct rt_text text = {.at = line, .room = sizeof line};
	rt_text_clear(&text);
	rt_text_add(&text, "%-*s %12s %12s\n", NAME_WIDTH + 2, "memory of a rank", "predicted",
		    "measured");
	rt_write(STDOUT_FILENO, line, text.used);
	for (uint32_t i = 0; i < rt->role->nitems; i++) {
		const struct rt_item *item = &rt->role->items[i];
		print_line(item->name, item->depth, item->bytes, memory_counted(rt, item->name));
	}
	print_line("arena", 0, rt->role->arena, use->arena);
	print_line("outside the arena", 0, rt->plan->outside, use->outside);
	if (rt->plan->reserve > 0)
		print_line("reserve", 0, rt->plan->reserve, -1);
	if (rt->plan->capacity > 0)
		print_line("capacity of the device", 0, rt->plan->capacity, -1);
}

void memory_json(const struct rt *rt, const struct memory_use *use, struct rt_text *text)
{
	rt_text_add(text,
		    "\"predicted\":{\"arena\":%lld,\"outside\":%lld,\"reserve\":%lld,"
		    "\"capacity\":%lld},\"allocated\":{\"arena\":%lld,\"resident\":%lld,"
		    "\"outside\":%lld,\"anonymous\":%lld,\"heap\":%lld},\"items\":[",
		    (long long)rt->role->arena, (long long)rt->plan->outside,
		    (long long)rt->plan->reserve, (long long)rt->plan->capacity,
		    (long long)rt->arena_bytes, (long long)use->arena, (long long)use->outside,
		    (long long)use->anonymous, (long long)use->heap);
	for (uint32_t i = 0; i < rt->role->nitems; i++) {
		const struct rt_item *item = &rt->role->items[i];
		int64_t counted = memory_counted(rt, item->name);
		rt_text_add(text, "%s{\"name\":", i > 0 ? "," : "");
		rt_text_json(text, item->name);
		rt_text_add(text, ",\"depth\":%d,\"predicted\":%lld,\"allocated\":%lld}",
			    item->depth, (long long)item->bytes,
			    (long long)(counted >= 0 ? counted : item->bytes));
	}
	rt_text_add(text, "]");
}
