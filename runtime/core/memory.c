/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
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

/* Resident bytes of the arenas of a stage: of the one that is furthest from the prediction. */
static int64_t resident_stage(const struct rt *rt, const struct rank_memory *ranks,
			      const struct rt_role *role)
{
	int64_t worst = role->arena;
	for (int rank = 0; rank < rt->world->ranks; rank++) {
		int64_t bytes = ranks[rank].arena;
		if (rt_role_of(rt->plan, rank) == role &&
		    llabs(bytes - role->arena) > llabs(worst - role->arena))
			worst = bytes;
	}
	return worst;
}

/* predicted, measured: -1 where there is none. */
static void add_line(struct rt_text *text, const char *name, int depth, int64_t predicted,
		     int64_t measured)
{
	char left[32], right[32] = "";
	if (measured >= 0)
		rt_bytes(right, measured);
	rt_text_add(text, "  %*s%-*.*s %12s %12s\n", 2 * depth, "", NAME_WIDTH - 2 * depth,
		    NAME_WIDTH - 2 * depth, name, rt_bytes(left, predicted), right);
}

/* The arenas of the other stages of a pipeline. */
static void add_stages(const struct rt *rt, const struct rank_memory *ranks,
		       struct rt_text *text)
{
	char name[64];
	for (uint32_t i = 0; i < rt->plan->nroles; i++) {
		const struct rt_role *role = &rt->plan->roles[i];
		snprintf(name, sizeof name, "arena, %.40s", role->name);
		if (role != rt->role)
			add_line(text, name, 0, role->arena, resident_stage(rt, ranks, role));
	}
}

void memory_table(const struct rt *rt, const struct memory_use *use,
		  const struct rank_memory *ranks, struct rt_text *text)
{
	char title[64] = "memory of a rank";
	if (rt->plan->nroles > 1)
		snprintf(title, sizeof title, "memory of a rank, %.12s", rt->role->name);
	rt_text_add(text, "%-*s %12s %12s\n", NAME_WIDTH + 2, title, "predicted", "measured");
	for (uint32_t i = 0; i < rt->role->nitems; i++) {
		const struct rt_item *item = &rt->role->items[i];
		add_line(text, item->name, item->depth, item->bytes, -1);
	}
	add_line(text, "arena", 0, rt->role->arena, use->arena);
	add_stages(rt, ranks, text);
	add_line(text, "outside the arena", 0, rt->plan->outside, use->outside);
	if (rt->plan->reserve > 0)
		add_line(text, "reserve", 0, rt->plan->reserve, -1);
	if (rt->plan->capacity > 0)
		add_line(text, "capacity of the device", 0, rt->plan->capacity, -1);
}

static void add_items(const struct rt_role *role, struct rt_text *text)
{
	rt_text_add(text, "\"items\":[");
	for (uint32_t i = 0; i < role->nitems; i++) {
		const struct rt_item *item = &role->items[i];
		rt_text_add(text, "%s{\"name\":", i > 0 ? "," : "");
		rt_text_json(text, item->name);
		rt_text_add(text, ",\"depth\":%d,\"predicted\":%lld}", item->depth,
			    (long long)item->bytes);
	}
	rt_text_add(text, "]");
}

void memory_json(const struct rt *rt, const struct memory_use *use,
		 const struct rank_memory *ranks, struct rt_text *text)
{
	rt_text_add(text,
		    "\"predicted\":{\"arena\":%lld,\"outside\":%lld,\"reserve\":%lld,"
		    "\"capacity\":%lld},\"allocated\":{\"arena\":%lld,\"resident\":%lld,"
		    "\"outside\":%lld,\"anonymous\":%lld,\"heap\":%lld},",
		    (long long)rt->role->arena, (long long)rt->plan->outside,
		    (long long)rt->plan->reserve, (long long)rt->plan->capacity,
		    (long long)rt->arena_bytes, (long long)use->arena, (long long)use->outside,
		    (long long)use->anonymous, (long long)use->heap);
	add_items(rt->role, text);
	if (rt->plan->nroles <= 1)
		return;
	for (uint32_t i = 0; i < rt->plan->nroles; i++) {
		const struct rt_role *role = &rt->plan->roles[i];
		rt_text_add(text, "%s{\"name\":", i > 0 ? "," : ",\"stages\":[");
		rt_text_json(text, role->name);
		rt_text_add(text, ",\"predicted\":%lld,\"resident\":%lld,", (long long)role->arena,
			    (long long)resident_stage(rt, ranks, role));
		add_items(role, text);
		rt_text_add(text, "}");
	}
	rt_text_add(text, "]");
}

void memory_ranks_table(const struct rt *rt, const struct rank_memory *ranks,
			struct rt_text *text)
{
	char name[32];
	for (int rank = 0; rank < rt->world->ranks; rank++) {
		int64_t predicted = rt_role_of(rt->plan, rank)->arena;
		snprintf(name, sizeof name, "arena of rank %d", rank);
		if (ranks[rank].arena != predicted)
			add_line(text, name, 0, predicted, ranks[rank].arena);
	}
}

void memory_ranks_json(const struct rt *rt, const struct rank_memory *ranks,
		       struct rt_text *text)
{
	static const char *const names[] = {"arena", "resident", "outside"};
	rt_text_add(text, ",\"ranks\":{");
	for (int i = 0; i < 3; i++) {
		rt_text_add(text, "%s\"%s\":[", i > 0 ? "," : "", names[i]);
		for (int rank = 0; rank < rt->world->ranks; rank++) {
			int64_t bytes = i == 0	 ? rt_role_of(rt->plan, rank)->arena
					: i == 1 ? ranks[rank].arena
						 : ranks[rank].outside;
			rt_text_add(text, "%s%lld", rank > 0 ? "," : "", (long long)bytes);
		}
		rt_text_add(text, "]");
	}
	rt_text_add(text, "}");
}
