/* SPDX-License-Identifier: Apache-2.0 */
/* main of every program: looks at everything that can be looked at, then starts the ranks. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rt_log.h"
#include "base/rt_status.h"
#include "comm/wait.h"
#include "core/files.h"
#include "core/loop.h"
#include "core/rt_core.h"
#include "core/rt_options.h"

/* What the parent has opened and the ranks inherit. */
struct launch {
	const struct rt_plan *plan;
	struct rt_options options;
	struct data data;
	struct weights_file init;
};

static int check_lanes(const struct rt_plan *plan)
{
	const struct rt_train *train = &plan->train;
	if (train->data_ranks < 1 || train->lanes % train->data_ranks != 0)
		return rt_fail("plan: %lld lanes over %lld data ranks", (long long)train->lanes,
			       (long long)train->data_ranks);
	int64_t lanes = train->lanes / train->data_ranks;
	if (lanes < 1 || (lanes & (lanes - 1)) != 0 || train->micro_batches % lanes != 0)
		return rt_fail("plan: %lld lanes a rank for %lld micro-batches", (long long)lanes,
			       (long long)train->micro_batches);
	for (uint32_t i = 0; i < plan->nroles; i++)
		if (lanes > 1 && plan->roles[i].merge == NULL)
			return rt_fail("plan: several lanes, but no merge");
	return 0;
}

/* Layers that a stage has. */
static int64_t layers_of(const struct rt_role *role)
{
	int64_t layers = 0;
	for (uint32_t c = 0; role->chunks != NULL && c < role->schedule.chunks; c++)
		layers += role->chunks[c].count;
	return layers;
}

/* Every stage follows the same schedule, and has what a stage needs. */
static int check_roles(const struct rt_plan *plan)
{
	const struct rt_schedule *all = &plan->roles[0].schedule;
	if (plan->nroles != (plan->stages > 1 ? plan->stages : 1))
		return rt_fail("plan: %u roles for %u stages", plan->nroles, plan->stages);
	for (uint32_t i = 0; i < plan->nroles; i++) {
		const struct rt_role *role = &plan->roles[i];
		const struct rt_schedule *s = &role->schedule;
		if (s->micro_batches != plan->train.micro_batches)
			return rt_fail("plan: %s takes %u micro-batches of %lld", role->name,
				       s->micro_batches, (long long)plan->train.micro_batches);
		if (s->stage != i || s->stages != plan->nroles || s->kind != all->kind ||
		    s->chunks != all->chunks || s->chunks < 1 || s->past != all->past)
			return rt_fail("plan: %s follows another schedule", role->name);
		if (plan->nroles == 1)
			continue;
		if (role->places == NULL || role->homes == NULL || role->carried == NULL ||
		    role->adjoint == NULL || role->layers < 1 || layers_of(role) != role->layers)
			return rt_fail("plan: %s lacks what a stage has", role->name);
	}
	return 0;
}

static int check_plan(const struct rt_plan *plan)
{
	const struct rt_train *train = &plan->train;
	int64_t ranks = 1;
	if (plan->abi != RT_ABI)
		return rt_fail(
			"the program was made for runtime %u, this one is %d: build it again",
			plan->abi, RT_ABI);
	if (plan->size != sizeof *plan)
		return rt_fail("the program was made with the tables of another runtime, %u bytes "
			       "instead of %zu: build it again",
			       plan->size, sizeof *plan);
	for (uint32_t i = 0; i < plan->naxes; i++)
		ranks *= plan->axes[i].size;
	if (ranks != plan->ranks || ranks < 1)
		return rt_fail("plan: %lld ranks, but its axes hold %lld", (long long)plan->ranks,
			       (long long)ranks);
	if (train->global_batch != train->micro_batch * train->micro_batches * train->data_ranks)
		return rt_fail("plan: a batch of %lld is not %lld x %lld x %lld",
			       (long long)train->global_batch, (long long)train->micro_batch,
			       (long long)train->micro_batches, (long long)train->data_ranks);
	RT_TRY(check_roles(plan));
	RT_TRY(rt_params_check(plan));
	return check_lanes(plan);
}

/* A prompt is bytes of the vocabulary. */
static int check_sample(const struct launch *launch)
{
	const char *text = launch->options.sample;
	int64_t vocab = launch->plan->train.vocab;
	for (size_t i = 0; text != NULL && text[i] != '\0'; i++)
		if ((unsigned char)text[i] >= vocab)
			return rt_fail("option `--sample`: byte %d at offset %zu, the vocabulary "
				       "has %lld",
				       (unsigned char)text[i], i, (long long)vocab);
	return 0;
}

static int check_options(const struct launch *launch)
{
	const struct rt_plan *plan = launch->plan;
	bool bytes = plan->data.kind == RT_DATA_BYTES;
	const struct rt_role *last = &plan->roles[plan->nroles - 1];
	if (launch->options.sample != NULL && (!bytes || last->logits == NULL))
		return rt_fail("option `--sample` needs a plan whose data is bytes(..)");
	if (launch->options.bigram && !bytes)
		return rt_fail("option `--bigram` needs a plan whose data is bytes(..)");
	return check_sample(launch);
}

/* What this process has printed has arrived. */
static int flush_output(void)
{
	bool lost = ferror(stdout) != 0;
	if (fflush(stdout) == 0 && !lost)
		return 0;
	return rt_fail("cannot write standard output: %s", strerror(errno));
}

static int print_bigram(const struct launch *launch)
{
	int64_t windows = data_validation_windows(&launch->data, &launch->plan->train);
	printf("bigrams (add-one)  cross-entropy %.4f nats a byte, on the held-out bytes\n",
	       data_bigram(&launch->data, windows));
	return flush_output();
}

static int rank_body(struct world *world, void *argument)
{
	struct launch *launch = argument;
	struct rt rt = {.plan = launch->plan,
			.options = &launch->options,
			.data = &launch->data,
			.world = world};
	int failed = rt_open(&rt);
	if (!failed)
		failed = loop_run(&rt, launch->init.path != NULL ? &launch->init : NULL);
	rt_close(&rt);
	return failed;
}

static int open_data(struct launch *launch)
{
	RT_TRY(data_open(&launch->data, launch->plan, &launch->options));
	return launch->options.init != NULL
		       ? weights_open(&launch->init, launch->plan, launch->options.init)
		       : 0;
}

/* Options that do not go with the data. */
static int check_with_data(const struct launch *launch)
{
	if (launch->options.bigram && launch->data.held.windows == 0)
		return rt_fail("option `--bigram` needs held-out data");
	return files_check(&launch->options, &launch->data);
}

static int try_outputs(const struct launch *launch)
{
	if (launch->options.save != NULL)
		RT_TRY(weights_writable(launch->options.save));
	if (launch->options.dump_gradients != NULL)
		RT_TRY(weights_writable(launch->options.dump_gradients));
	return launch->options.bigram ? print_bigram(launch) : 0;
}

/* An exit code, after rt_fail unless it is 0. */
static int open_inputs(struct launch *launch)
{
	if (check_plan(launch->plan) != 0)
		return RT_EXIT_FAULT;
	if (check_options(launch) != 0)
		return RT_EXIT_USAGE;
	if (open_data(launch) != 0)
		return RT_EXIT_FAULT;
	if (check_with_data(launch) != 0)
		return RT_EXIT_USAGE;
	return try_outputs(launch) != 0 ? RT_EXIT_FAULT : 0;
}

/* "9.06 K": a count for people. */
static void add_count(struct rt_text *text, int64_t count)
{
	static const char *const units[] = {"", " K", " M", " G", " T"};
	double value = (double)count;
	int unit = 0;
	for (; value >= 999.5 && unit < 4; unit++)
		value /= 1000;
	rt_text_add(text, "%.3g%s", value, units[unit]);
}

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* Bytes of an arena, or from the smallest to the largest. */
static void add_arenas(struct rt_text *text, const struct rt_plan *plan)
{
	char low[32], high[32];
	int64_t least = INT64_MAX, most = 0;
	for (uint32_t i = 0; i < plan->nroles; i++) {
		int64_t arena = plan->roles[i].arena;
		least = arena < least ? arena : least;
		most = arena > most ? arena : most;
	}
	rt_bytes(low, least);
	rt_bytes(high, most);
	if (strcmp(low, high) == 0)
		rt_text_add(text, "%s a rank", high);
	else
		rt_text_add(text, "%s to %s a rank, by its stage", low, high);
}

/* That this process may run on, where there are more threads than that; else, or where it is not
 * known, 0. */
static int64_t cores_exceeded(const struct launch *launch)
{
	cpu_set_t set;
	int64_t cores = sched_getaffinity(0, sizeof set, &set) == 0
				? CPU_COUNT(&set)
				: sysconf(_SC_NPROCESSORS_ONLN);
	return cores > 0 && launch->plan->ranks * launch->options.threads > cores ? cores : 0;
}

/* Filling the arenas of a large plan takes a while; this comes before. */
static int say_start(const struct launch *launch)
{
	const struct rt_plan *plan = launch->plan;
	int64_t threads = launch->options.threads, cores = cores_exceeded(launch);
	char buffer[1024];
	struct rt_text text = {.at = buffer, .room = sizeof buffer};
	if (launch->options.quiet)
		return 0;
	rt_text_clear(&text);
	rt_text_add(&text, "starting `%.200s`: %lld rank%s of %lld thread%s, ", plan->name,
		    (long long)plan->ranks, plural(plan->ranks), (long long)threads,
		    plural(threads));
	add_count(&text, plan->params);
	rt_text_add(&text, " weights, ");
	add_arenas(&text, plan);
	rt_text_add(&text, "\n");
	if (cores > 0)
		rt_text_add(&text, "warning: %lld threads on %lld core%s\n",
			    (long long)(plan->ranks * threads), (long long)cores, plural(cores));
	if (rt_write(STDOUT_FILENO, text.at, text.used) != 0)
		return rt_fail("cannot write standard output: %s", strerror(errno));
	return 0;
}

/* The log must not get the number of a closed standard output. A file that may not grow
 * and a pipe that nobody reads are errors of the call that writes. */
static void settle(void)
{
	int fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < STDERR_FILENO)
		fd = open("/dev/null", O_RDWR);
	if (fd > STDERR_FILENO)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static int fail(int code)
{
	rt_log("%s", rt_status_fault()->text);
	return code;
}

static int watch_ranks(struct world *world, struct launch *launch)
{
	int code = world_run(world, rank_body, launch);
	const char *unfinished = world_unfinished(world);
	if (unfinished != NULL)
		weights_forget(unfinished);
	return code;
}

static int run_ranks(struct launch *launch)
{
	struct world world = {0};
	int ranks = (int)launch->plan->ranks, code = RT_EXIT_FAULT;
	int64_t *bytes = calloc((size_t)ranks, sizeof *bytes);
	for (int rank = 0; bytes != NULL && rank < ranks; rank++)
		bytes[rank] = rt_role_of(launch->plan, rank)->arena;
	size_t comm_bytes = shm_comm_bytes(ranks, (int)launch->plan->ngroups);
	if (bytes == NULL || say_start(launch) != 0 ||
	    world_open(&world, ranks, bytes, comm_bytes) != 0)
		fail(code);
	else
		code = watch_ranks(&world, launch);
	free(bytes);
	world_close(&world);
	return code;
}

/* Where there are more threads than cores, whoever spins takes the time of those that work: a
 * hundredfold was measured for the threads of OpenMP. That reads how to wait when a program starts,
 * so this one starts once more. Where that cannot be, it goes on as it is. */
static void share_cores(const struct launch *launch, char **argv)
{
	char self[PATH_MAX];
	if (cores_exceeded(launch) == 0)
		return;
	wait_asleep();
	if (launch->options.threads < 2 || getenv("OMP_WAIT_POLICY"))
		return;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length <= 0 || setenv("OMP_WAIT_POLICY", "passive", 1) != 0)
		return;
	self[length] = '\0';
	execv(self, argv);
}

int rt_main(int argc, char **argv, const struct rt_plan *plan)
{
	struct launch launch = {.plan = plan, .init = {.fd = -1}};
	settle();
	rt_log_name(plan->name);
	if (rt_options_parse(&launch.options, plan, argc, argv) != 0)
		return fail(RT_EXIT_USAGE);
	if (launch.options.help) {
		rt_options_help(plan, argv[0]);
		return flush_output() != 0 ? fail(RT_EXIT_FAULT) : 0;
	}
	if (launch.options.version) {
		printf("%s, runtime %d\n", plan->name, RT_ABI);
		return flush_output() != 0 ? fail(RT_EXIT_FAULT) : 0;
	}
	share_cores(&launch, argv);
	int code = open_inputs(&launch);
	code = code != 0 ? fail(code) : run_ranks(&launch);
	weights_close(&launch.init);
	data_close(&launch.data);
	return code;
}
