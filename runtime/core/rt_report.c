/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rt_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rt_status.h"
#include "comm/wait.h"
#include "core/rt_core.h"
#include "core/weights.h"

enum { LINES = 40, BAR = 24, ROOM = 1 << 16, ROOM_TENSOR = 640, ROOM_ITEM = 256,
       ROOM_RANK = 96 };

static size_t room_for(const struct rt *rt)
{
	size_t room = ROOM + (rt->plan->manifest != NULL ? strlen(rt->plan->manifest) : 0);
	for (uint32_t p = 0; p < rt->plan->nparam; p++)
		room += (size_t)rt->plan->param[p].layers * ROOM_TENSOR;
	for (uint32_t i = 0; i < rt->plan->nroles; i++)
		room += (rt->plan->roles[i].nitems + 2) * (size_t)ROOM_ITEM;
	return room + rt->role->nitems * (size_t)ROOM_ITEM + (size_t)rt->world->ranks * ROOM_RANK;
}

int report_open(struct report *report, struct rt *rt, int64_t steps)
{
	memset(report, 0, sizeof *report);
	report->rt = rt;
	report->log = -1;
	report->steps = steps;
	report->every = steps > LINES ? steps / LINES : 1;
	if (rt->rank != 0)
		return 0;
	report->speaks = !rt->options->quiet;
	report->terminal = report->speaks && isatty(STDOUT_FILENO);
	report->line.room = room_for(rt);
	report->line.at = malloc(report->line.room);
	report->ranks = calloc((size_t)rt->world->ranks, sizeof *report->ranks);
	if (report->line.at == NULL || report->ranks == NULL)
		return rt_fail("out of memory for the log");
	memset(report->line.at, 0, report->line.room);
	if (rt->options->log == NULL)
		return 0;
	report->log = open(rt->options->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (report->log < 0)
		return rt_fail("cannot write the log `%s`: %s", rt->options->log, strerror(errno));
	return 0;
}

void report_write(struct report *report, const void *bytes, size_t count)
{
	if (report->lost == 0 && rt_write(STDOUT_FILENO, bytes, count) != 0)
		report->lost = errno;
}

int report_lost(const struct report *report)
{
	if (report->lost == 0)
		return 0;
	return rt_fail("cannot write standard output: %s", strerror(report->lost));
}

void report_close(struct report *report)
{
	if (report->bar)
		report_write(report, "\n", 1);
	if (report->log >= 0)
		close(report->log);
	free(report->line.at);
	free(report->ranks);
	report->line.at = NULL;
	report->ranks = NULL;
	report->log = -1;
}

/* ---- the log ------------------------------------------------------------------------------ */

static struct rt_text *begin(struct report *report, const char *event)
{
	rt_text_clear(&report->line);
	if (event == NULL)
		rt_text_add(&report->line, "{");
	else
		rt_text_add(&report->line, "{\"event\":\"%s\",", event);
	return &report->line;
}

/* A line that does not fit the disk is not there at all, unless the log is no file. */
static int end(struct report *report)
{
	rt_text_add(&report->line, "}\n");
	if (report->line.full)
		return rt_fail("a line of the log is too long");
	off_t before = lseek(report->log, 0, SEEK_CUR);
	if (rt_write(report->log, report->line.at, report->line.used) == 0)
		return 0;
	rt_fail("cannot write the log `%s`: %s", report->rt->options->log, strerror(errno));
	if (before >= 0 && ftruncate(report->log, before) == 0)
		lseek(report->log, before, SEEK_SET);
	return -1;
}

void report_start(struct report *report)
{
	const struct rt_plan *plan = report->rt->plan;
	if (report->log < 0)
		return;
	struct rt_text *line = begin(report, "start");
	rt_text_add(line, "\"plan\":");
	rt_text_json(line, plan->name);
	rt_text_add(line, ",\"source\":");
	rt_text_json(line, plan->source);
	rt_text_add(line, ",\"params\":%lld,\"ranks\":%lld,\"options\":", (long long)plan->params,
		    (long long)plan->ranks);
	rt_options_json(report->rt->options, line);
	rt_text_add(line, ",\"manifest\":%s", plan->manifest != NULL ? plan->manifest : "null");
	end(report);
}

/* Mean-loss gradient norm of each tensor. */
static void add_tensors(struct rt *rt, struct rt_text *line)
{
	double count = rt_control_block(rt)[RT_CONTROL_COUNT];
	char name[STORED_NAME];
	const char *comma = "";
	rt_text_add(line, ",\"tensors\":{");
	for (uint32_t p = 0; p < rt->plan->nparam; p++) {
		const struct rt_param *param = &rt->plan->param[p];
		for (int64_t layer = 0; layer < param->layers; layer++) {
			double norm = weights_gradient_norm(rt, param, layer);
			stored_param_name(param, layer, name);
			rt_text_add(line, "%s", comma);
			rt_text_json(line, name);
			rt_text_add(line, ":");
			rt_text_number(line, count > 0 ? norm / count : 0);
			comma = ",";
		}
	}
	rt_text_add(line, "}");
}

static int log_step(struct report *report, const struct report_step *step, double rate)
{
	if (report->log < 0)
		return 0;
	struct rt_text *line = begin(report, NULL);
	rt_text_add(line, "\"step\":%lld,\"loss\":", (long long)step->step);
	rt_text_number(line, step->loss);
	rt_text_add(line, ",\"grad_norm\":");
	rt_text_number(line, step->norm);
	rt_text_add(line, ",\"lr\":");
	rt_text_number(line, step->lr);
	rt_text_add(line, ",\"tokens\":%lld,\"tokens_per_s\":%.1f,\"seconds\":%.6f",
		    (long long)step->tokens, rate, step->seconds);
	if (report->rt->options->log_tensors)
		add_tensors(report->rt, line);
	return end(report);
}

/* ---- people ------------------------------------------------------------------------------- */

static void clear_bar(struct report *report)
{
	if (report->bar)
		report_write(report, "\r\033[K", 4);
	report->bar = false;
}

void report_say(struct report *report, bool result, const char *format, ...)
{
	char text[1024];
	if (report->rt->rank != 0 || (!report->speaks && !result))
		return;
	clear_bar(report);
	va_list args;
	va_start(args, format);
	int length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length > (int)sizeof text - 1)
		length = sizeof text - 1;
	report_write(report, text, (size_t)length);
}

static void add_left(struct rt_text *text, double seconds)
{
	long long left = seconds > 0 && seconds < 1e9 ? (long long)(seconds + 0.5) : 0;
	if (left >= 3600)
		rt_text_add(text, "%lld:%02lld:%02lld left", left / 3600, left / 60 % 60,
			    left % 60);
	else
		rt_text_add(text, "%lld:%02lld left", left / 60, left % 60);
}

static void add_bar(struct rt_text *text, int64_t done, int64_t steps)
{
	int full = (int)(done * BAR / (steps > 0 ? steps : 1));
	rt_text_add(text, "\r\033[K[");
	for (int i = 0; i < BAR; i++)
		rt_text_add(text, "%c", i < full ? '#' : '.');
	rt_text_add(text, "] ");
}

static void show_step(struct report *report, const struct report_step *step, double rate,
		      double left)
{
	char buffer[256];
	struct rt_text text = {.at = buffer, .room = sizeof buffer};
	rt_text_clear(&text);
	if (report->terminal)
		add_bar(&text, step->step + 1, report->steps);
	rt_text_add(&text, "step %lld/%lld  loss %.4f  lr %.2e  norm %.4f  %.0f tokens/s  ",
		    (long long)step->step + 1, (long long)report->steps, step->loss, step->lr,
		    step->norm, rate);
	add_left(&text, left);
	bool last = step->step + 1 == report->steps;
	if (!report->terminal || last)
		rt_text_add(&text, "\n");
	report_write(report, text.at, text.used);
	report->bar = report->terminal && !last;
}

int report_step(struct report *report, const struct report_step *step)
{
	const struct rt_train *train = &report->rt->plan->train;
	if (report->rt->rank != 0)
		return 0;
	double now = wait_clock(), tokens = (double)(train->global_batch * train->tokens);
	double rate = step->seconds > 0 ? tokens / step->seconds : 0;
	if (step->step == 0)
		report->start = now;
	double mean = step->step > 0 ? (now - report->start) / (double)step->step : step->seconds;
	bool last = step->step + 1 == report->steps;
	bool due = report->terminal ? now - report->shown > 0.1 : step->step % report->every == 0;
	if (report->speaks && (due || last)) {
		report->shown = now;
		show_step(report, step, mean > 0 ? tokens / mean : 0,
			  mean * (double)(report->steps - step->step - 1));
	}
	return log_step(report, step, rate);
}

int report_memory(struct report *report, const struct memory_use *use)
{
	if (report->rt->rank != 0)
		return 0;
	if (report->speaks) {
		clear_bar(report);
		rt_text_clear(&report->line);
		memory_table(report->rt, use, report->ranks, &report->line);
		memory_ranks_table(report->rt, report->ranks, &report->line);
		report_write(report, report->line.at, report->line.used);
	}
	if (report->log < 0)
		return 0;
	memory_json(report->rt, use, report->ranks, begin(report, "memory"));
	memory_ranks_json(report->rt, report->ranks, &report->line);
	return end(report);
}

int report_validation(struct report *report, int64_t steps, double loss)
{
	bool bytes = report->rt->plan->data.kind == RT_DATA_BYTES;
	if (report->rt->rank != 0)
		return 0;
	report_say(report, true, "step %lld  validation loss %.4f nats a %s\n", (long long)steps,
		   loss, bytes ? "byte" : "token");
	if (report->log < 0)
		return 0;
	struct rt_text *line = begin(report, "validation");
	rt_text_add(line, "\"steps\":%lld,\"validation_loss\":", (long long)steps);
	rt_text_number(line, loss);
	return end(report);
}

int report_end(struct report *report, int64_t steps, const struct memory_use *use)
{
	struct rt *rt = report->rt;
	uint64_t hash = 0;
	if (report->log < 0)
		return 0;
	for (uint32_t p = 0; p < rt->plan->nparam; p++)
		hash = hash * 31 + weights_hash(rt, &rt->plan->param[p]);
	struct rt_text *line = begin(report, "end");
	rt_text_add(line, "\"steps\":%lld,\"weights_hash\":\"%016llx\",\"resident\":%lld,",
		    (long long)steps, (unsigned long long)hash, (long long)use->arena);
	rt_text_add(line, "\"outside\":%lld,\"anonymous\":%lld,\"heap\":%lld",
		    (long long)use->outside, (long long)use->anonymous, (long long)use->heap);
	return end(report);
}
