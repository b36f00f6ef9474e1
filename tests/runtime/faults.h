/* SPDX-License-Identifier: Apache-2.0 */
/* Part of tiny.c with -DFAULTS: rank $RANK does $FAULT in step $STEP. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "core/rt_core.h"

/* What the allocator answers when a mapping fails, without a sanitizer's opinion on it. */
static int run_out_of_memory(void)
{
	void *at = mmap(NULL, (size_t)1 << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? rt_fail("out of memory for a test") : 0;
}

static int look_up_outside(struct rt *rt, struct arena *a)
{
	a->tokens[5] = 300;
	return rt_run(rt, 0, &rt_lookup_f32, ROWS,
		      &(struct rt_args){.in = {a->tokens, a->weights.embed},
					.out = {a->x},
					.size = {EMBED, VOCAB}});
}

static int do_fault(struct rt *rt, struct arena *a, const char *fault)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"abort", SIGABRT}, {"segv", SIGSEGV}, {"bus", SIGBUS}, {"kill", SIGKILL}};
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (strcmp(fault, signals[i].name) == 0) {
			signal(signals[i].number, SIG_DFL);
			raise(signals[i].number);
		}
	if (strcmp(fault, "exit") == 0)
		_exit(7);
	if (strcmp(fault, "fail") == 0)
		return rt_fail("a step that fails");
	if (strcmp(fault, "assert") == 0)
		RT_ASSERT(a == NULL, "an assertion");
	if (strcmp(fault, "memory") == 0)
		return run_out_of_memory();
	if (strcmp(fault, "lookup") == 0)
		return look_up_outside(rt, a);
	if (strcmp(fault, "nan") == 0)
		a->gradients[0].bias[3] = __builtin_nanf("");
	if (strcmp(fault, "replica") == 0)
		a->weights.head[7] += 1;
	if (strcmp(fault, "mismatch") == 0)
		return rt_all_reduce(rt, 0, 0, a->sums, 1, RT_F64, RT_ORDER_TREE);
	return 0;
}

static int fault_at(struct rt *rt, struct arena *a)
{
	const char *fault = getenv("FAULT"), *rank = getenv("RANK"), *step = getenv("STEP");
	if (fault == NULL || rt->rank != atoi(rank) || rt->step != atoi(step))
		return 0;
	return do_fault(rt, a, fault);
}

#define FAULT(rt, arena) fault_at(rt, arena)
