/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective over 1 to 8 forked ranks and odd sizes, against a naive tree in the stated
 * order, bit for bit. Usage: coll RANKS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "comm/comm.h"
#include "comm/wait.h"

enum { MOST = 8, ELEMENTS = 100003, ARENA = MOST * ELEMENTS * 8 * 2 };

static const int64_t sizes[] = {0, 1, 3, 63, 64, 65, 1000, ELEMENTS};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

static struct rt_comm comm;
static int rank, ranks;

#define CHECK(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "rank %d of %d: ", rank, ranks);                           \
			fprintf(stderr, __VA_ARGS__);                                              \
			fprintf(stderr, " (%s)\n", rt_status_fault()->text);                       \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void *arena(void)
{
	return comm.arena[rank];
}

/* Some number of rank r: signs and sizes differ, so that the order of a sum shows. */
enum { NUMBERS = 8191 };
static double numbers[MOST][NUMBERS];

static double make_number(int r, int64_t i)
{
	uint32_t x = (uint32_t)(i * 2654435761u) ^ (uint32_t)(r + 1) * 40503u * 65537u;
	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	double sign = x & 1 ? -1 : 1;
	return sign * (1 + (x >> 8) / 16777216.0) * (double)(1 << (x >> 1 & 15)) / 256;
}

static double number(int r, int64_t i)
{
	return numbers[r][i % NUMBERS];
}

static float round_bf16(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, 4);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&value, &bits, 4);
	return value;
}

static uint16_t bits_bf16(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, 4);
	return (uint16_t)(bits >> 16);
}

static void put(void *at, enum rt_type type, int64_t i, int r, int64_t from)
{
	double value = number(r, from);
	if (type == RT_F32)
		((float *)at)[i] = (float)value;
	else if (type == RT_F64)
		((double *)at)[i] = value / 3;
	else if (type == RT_BF16)
		((uint16_t *)at)[i] = bits_bf16(round_bf16((float)value));
	else if (type == RT_I32)
		((int32_t *)at)[i] = (int32_t)(value * 256);
	else
		((int64_t *)at)[i] = (int64_t)(value * 1e12);
}

/* Level by level: pairs side by side, the odd one up. */
#define TREE(T, load)                                                                              \
	T level[MOST];                                                                             \
	int n = size;                                                                              \
	for (int r = 0; r < n; r++)                                                                \
		level[r] = load;                                                                   \
	while (n > 1) {                                                                            \
		int up = 0;                                                                        \
		for (int r = 0; r + 1 < n; r += 2)                                                 \
			level[up++] = level[r] + level[r + 1];                                     \
		if (n % 2 == 1)                                                                    \
			level[up++] = level[n - 1];                                                \
		n = up;                                                                            \
	}

static bool same(const void *at, enum rt_type type, int64_t i, const int *members, int size,
		 int64_t from)
{
	if (type == RT_F64) {
		TREE(double, number(members[r], from) / 3)
		return memcmp(&level[0], (const double *)at + i, 8) == 0;
	}
	if (type == RT_F32) {
		TREE(float, (float)number(members[r], from))
		return memcmp(&level[0], (const float *)at + i, 4) == 0;
	}
	if (type == RT_BF16) {
		TREE(float, round_bf16((float)number(members[r], from)))
		return bits_bf16(round_bf16(level[0])) == ((const uint16_t *)at)[i];
	}
	if (type == RT_I32) {
		TREE(int64_t, (int32_t)(number(members[r], from) * 256))
		return ((const int32_t *)at)[i] == level[0];
	}
	TREE(int64_t, (int64_t)(number(members[r], from) * 1e12))
	return ((const int64_t *)at)[i] == level[0];
}

static void test_all_reduce(int group, enum rt_type type, int64_t count)
{
	const struct rt_comm_group *g = &comm.groups[group];
	for (int64_t i = 0; i < count; i++)
		put(arena(), type, i, rank, i);
	CHECK(comm_all_reduce(&comm, group, arena(), count, type) == 0, "all_reduce");
	for (int64_t i = 0; i < count; i++)
		CHECK(same(arena(), type, i, g->ranks, g->size, i),
		      "all_reduce, type %d, count %lld, element %lld", type, (long long)count,
		      (long long)i);
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

static void test_all_reduce_max(int group, enum rt_type type, int64_t count)
{
	const struct rt_comm_group *g = &comm.groups[group];
	int64_t bytes = rt_type_bytes(type);
	unsigned char *at = arena(), wanted[8];
	for (int64_t i = 0; i < count; i++)
		put(at, type, i, rank, i);
	CHECK(comm_all_reduce_max(&comm, group, at, count, type) == 0, "all_reduce_max");
	for (int64_t i = 0; i < count; i++) {
		int largest = g->ranks[0];
		for (int m = 1; m < g->size; m++)
			if (number(g->ranks[m], i) > number(largest, i))
				largest = g->ranks[m];
		put(wanted, type, 0, largest, i);
		CHECK(memcmp(at + i * bytes, wanted, (size_t)bytes) == 0,
		      "all_reduce_max, type %d, count %lld, element %lld", type, (long long)count,
		      (long long)i);
	}
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

/* One NaN wins wherever it is; an infinity below it does not. */
static void test_max_nan(void)
{
	double *at = arena();
	for (int i = 0; i < MOST; i++)
		at[i] = i == rank ? __builtin_nan("") : -__builtin_inf();
	CHECK(comm_all_reduce_max(&comm, comm.ngroups - 1, at, MOST, RT_F64) == 0, "max");
	for (int i = 0; i < MOST; i++)
		CHECK(i < ranks ? at[i] != at[i] : at[i] == -__builtin_inf(),
		      "max of NaN, element %d", i);
	CHECK(comm_barrier(&comm, comm.ngroups - 1) == 0, "barrier");
}

/* In place, or into a buffer of its own: `from` then stays as it was. */
static void test_reduce_scatter(int group, enum rt_type type, int64_t count, bool in_place)
{
	const struct rt_comm_group *g = &comm.groups[group];
	int64_t bytes = rt_type_bytes(type);
	unsigned char *at = arena(), before[8];
	unsigned char *to = at + (in_place ? g->me : g->size) * count * bytes;
	for (int64_t i = 0; i < count * g->size; i++)
		put(at, type, i, rank, i);
	CHECK(comm_reduce_scatter(&comm, group, at, to, count, type) == 0, "reduce_scatter");
	for (int64_t i = 0; i < count; i++)
		CHECK(same(to, type, i, g->ranks, g->size, g->me * count + i),
		      "reduce_scatter, type %d, count %lld, element %lld", type, (long long)count,
		      (long long)i);
	for (int64_t i = 0; !in_place && i < count * g->size; i++) {
		put(before, type, 0, rank, i);
		CHECK(memcmp(at + i * bytes, before, (size_t)bytes) == 0,
		      "reduce_scatter changed element %lld of its source", (long long)i);
	}
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

static unsigned char byte_of(int r, int64_t i)
{
	return (unsigned char)(i * 31 + r * 97 + i / 251);
}

/* And back by a slice: it is what this rank gave. */
static void test_all_gather(int group, int64_t outer, int64_t bytes, bool in_place)
{
	const struct rt_comm_group *g = &comm.groups[group];
	int64_t block = outer * bytes, whole = g->size * block;
	unsigned char *to = arena(), *from = to + (in_place ? g->me * bytes : whole);
	unsigned char *back = to + whole + block;
	for (int64_t i = 0; i < block; i++)
		from[i] = byte_of(rank, i);
	CHECK(comm_all_gather(&comm, group, from, to, outer, bytes) == 0, "all_gather");
	for (int64_t i = 0; i < whole; i++) {
		int64_t row = i / bytes / g->size, m = i / bytes % g->size;
		CHECK(to[i] == byte_of(g->ranks[m], row * bytes + i % bytes),
		      "all_gather of %lld x %lld bytes, byte %lld", (long long)outer,
		      (long long)bytes, (long long)i);
	}
	CHECK(comm_slice(&comm, group, to, back, outer, bytes) == 0, "slice");
	for (int64_t i = 0; i < block; i++)
		CHECK(back[i] == byte_of(rank, i), "slice of %lld x %lld bytes, byte %lld",
		      (long long)outer, (long long)bytes, (long long)i);
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

static void test_gathers(int group, int64_t bytes)
{
	static const int64_t outers[] = {3, 64};
	test_all_gather(group, 1, bytes, true);
	test_all_gather(group, 1, bytes, false);
	for (int i = 0; i < 2; i++)
		test_all_gather(group, outers[i], bytes / outers[i], false);
	test_all_gather(group, bytes / 3, 3, false);
}

static void test_broadcast(int group, int64_t bytes, int root)
{
	const struct rt_comm_group *g = &comm.groups[group];
	unsigned char *at = arena();
	for (int64_t i = 0; i < bytes; i++)
		at[i] = byte_of(rank, i);
	CHECK(comm_broadcast(&comm, group, at, bytes, root) == 0, "broadcast");
	for (int64_t i = 0; i < bytes; i++)
		CHECK(at[i] == byte_of(g->ranks[root], i),
		      "broadcast of %lld bytes from %d, byte %lld", (long long)bytes, root,
		      (long long)i);
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

static void test_all_to_all(int group, int64_t bytes)
{
	const struct rt_comm_group *g = &comm.groups[group];
	unsigned char *from = arena(), *to = from + g->size * bytes;
	for (int64_t i = 0; i < g->size * bytes; i++)
		from[i] = byte_of(rank, i);
	CHECK(comm_all_to_all(&comm, group, from, to, bytes) == 0, "all_to_all");
	for (int m = 0; m < g->size; m++)
		for (int64_t i = 0; i < bytes; i++)
			CHECK(to[m * bytes + i] == byte_of(g->ranks[m], g->me * bytes + i),
			      "all_to_all of %lld bytes, member %d, byte %lld", (long long)bytes, m,
			      (long long)i);
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

/* Two messages to each neighbour and two from each, receives first: with two ranks both neighbours
 * are one peer. Blocking sends in list order would wait for ever. */
static void test_exchange(int group, int64_t bytes)
{
	const struct rt_comm_group *g = &comm.groups[group];
	struct rt_message list[8];
	unsigned char *at = arena();
	int count = 0, peers[2] = {(g->me + 1) % g->size, (g->me + g->size - 1) % g->size};
	if (g->size == 1)
		return;
	for (int i = 0; i < 8 * bytes; i++)
		at[i] = byte_of(rank, i);
	for (int k = 0; k < 4; k++)
		list[count++] =
			(struct rt_message){true, peers[k & 1], at + (4 + k) * bytes, bytes};
	for (int k = 0; k < 4; k++)
		list[count++] =
			(struct rt_message){false, peers[1 - (k & 1)], at + k * bytes, bytes};
	CHECK(comm_exchange(&comm, group, list, count) == 0, "exchange");
	for (int k = 0; k < 4; k++)
		for (int64_t i = 0; i < bytes; i++)
			CHECK(at[(4 + k) * bytes + i] ==
				      byte_of(g->ranks[peers[k & 1]], k * bytes + i),
			      "exchange, message %d, byte %lld", k, (long long)i);
	CHECK(comm_barrier(&comm, group) == 0, "barrier");
}

static void test_group(int group)
{
	static const enum rt_type types[] = {RT_F32, RT_F64, RT_BF16, RT_I32, RT_I64};
	for (int s = 0; s < SIZES; s++) {
		bool small = sizes[s] < ELEMENTS;
		for (int t = 0; t < 5; t++) {
			test_all_reduce(group, types[t], sizes[s]);
			test_reduce_scatter(group, types[t], sizes[s], false);
			if (small || types[t] == RT_BF16)
				test_all_reduce_max(group, types[t], sizes[s]);
			if (small || types[t] == RT_F32)
				test_reduce_scatter(group, types[t], sizes[s], true);
		}
		test_gathers(group, sizes[s]);
		test_all_to_all(group, sizes[s]);
		test_exchange(group, sizes[s] < 1000 ? sizes[s] : 1000);
		for (int root = 0; root < comm.groups[group].size; root++)
			test_broadcast(group, sizes[s], root);
	}
}

/* Calls that differ are an error on some rank, and no rank waits for ever. */
static void test_mismatch(void)
{
	if (ranks == 1)
		return;
	int64_t count = rank == ranks - 1 ? 65 : 64;
	CHECK(comm_all_reduce(&comm, comm.ngroups - 1, arena(), count, RT_F32) != 0,
	      "sums of 64 and 65 elements passed");
	while (atomic_load(&rt_status_fault()->claimed) != 2)
		usleep(1000);
	CHECK(strstr(rt_status_fault()->text, "all_reduce of 6") != NULL, "wrong message");
}

static void test_bounds(void)
{
	unsigned char *at = arena();
	CHECK(comm_all_reduce(&comm, 0, at - 8, 1, RT_F64) != 0, "in front of the arena");
	CHECK(comm_all_reduce(&comm, 0, at + ARENA - 8, 2, RT_F64) != 0, "behind the arena");
	CHECK(comm_all_reduce(&comm, 0, at, INT64_MAX / 4, RT_F64) != 0, "an overflow");
	CHECK(comm_all_reduce(&comm, comm.ngroups, at, 1, RT_F64) != 0, "no such group");
	CHECK(comm_slice(&comm, 0, at, at + ARENA - 8, 3, 3) != 0, "a slice behind the arena");
	CHECK(comm_slice(&comm, 0, at, at, 2, 8) != 0, "a slice over its source");
	CHECK(comm_all_gather(&comm, 0, at, at + 8, INT64_MAX / 2, 8) != 0, "an overflow");
	CHECK(comm_all_gather(&comm, 0, at, at + 8, 2, 8) != 0, "an overlap");
	CHECK(comm_reduce_scatter(&comm, 0, at, at + 4, 4, RT_F64) != 0, "an overlap");
}

/* Index and rank by digits agree with the lists of members, for every rank and mask. */
static void test_indices(const struct rt_axis *axes)
{
	int members[MOST];
	for (uint32_t mask = 0; mask < 4; mask++) {
		for (int r = 0; r < ranks; r++) {
			int size = group_members(axes, 2, mask, r, members);
			int index = group_index(axes, 2, mask, r);
			CHECK(index < size && members[index] == r, "index of %d in %u", r, mask);
			int first = group_rank(axes, 2, mask, index);
			CHECK(group_index(axes, 2, mask, first) == index &&
				      group_index(axes, 2, ~mask, first) == 0,
			      "first rank with index %d in %u", index, mask);
		}
	}
}

static void run_rank(void)
{
	struct rt_axis axes[2] = {{"outer", ranks % 2 == 0 ? 2 : 1},
				  {"inner", ranks % 2 == 0 ? ranks / 2 : ranks}};
	struct rt_group groups[2] = {{"outer", 1}, {"inner", 2}};
	static struct rt_comm_ops plain;
	CHECK(comm_open(&comm, axes, 2, groups, 2) == 0, "open");
	CHECK(comm_test(&comm, 30) == 0, "self-test");
	for (int group = 0; group < comm.ngroups; group++)
		test_group(group);
	plain = shm_comm_ops;
	plain.all_gather = NULL;
	plain.broadcast = NULL;
	comm.ops = &plain;
	for (int s = 0; s < SIZES; s++) {
		test_gathers(2, sizes[s] < 1000 ? sizes[s] : 1000);
		for (int root = 0; root < ranks; root++)
			test_broadcast(2, sizes[s], root);
	}
	test_max_nan();
	test_indices(axes);
	test_mismatch();
	test_bounds();
	comm_close(&comm);
}

static void *shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		exit(1);
	return at;
}

int main(int argc, char **argv)
{
	static unsigned char *arenas[MOST];
	static int64_t bytes[MOST];
	ranks = argc == 2 ? atoi(argv[1]) : 0;
	if (ranks < 1 || ranks > MOST)
		return 2;
	for (int r = 0; r < ranks; r++) {
		arenas[r] = shared(ARENA);
		bytes[r] = ARENA;
	}
	for (int r = 0; r < ranks; r++)
		for (int64_t i = 0; i < NUMBERS; i++)
			numbers[r][i] = make_number(r, i);
	struct rt_fault *fault = shared(sizeof *fault);
	if (ranks % 2 == 0) /* both ways to wait */
		wait_asleep();
	comm.ops = &shm_comm_ops;
	comm.ranks = ranks;
	comm.arena = arenas;
	comm.arena_bytes = bytes;
	comm.shared = shared(shm_comm_bytes(ranks, 2));
	for (rank = 0; rank < ranks; rank++) {
		if (fork() != 0)
			continue;
		comm.rank = rank;
		rt_status_bind(fault, rank);
		run_rank();
		_exit(0);
	}
	int failed = 0, status;
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
