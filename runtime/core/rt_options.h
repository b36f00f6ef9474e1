/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a program. */
#ifndef CORE_RT_OPTIONS_H
#define CORE_RT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rt_log.h"
#include "rt/rt.h"

struct rt_options {
	int64_t steps, seed, threads;
	const char *data, *validation; /* globs; validation NULL: the data's end */
	bool check_data, bigram;
	const char *log;
	bool log_tensors;
	const char *dump_gradients, *init, *save;
	int64_t save_every;
	const char *sample;
	int64_t sample_bytes;
	double temperature;
	bool dry_run;
	int64_t check_replicas;
	bool quiet, help, version;
};

/* Sets what the plan says, then what the arguments say. -1 after rt_fail that names the argument.
 */
int rt_options_parse(struct rt_options *options, const struct rt_plan *plan, int argc, char **argv);

/* Help text, one line an option. */
void rt_options_help(const struct rt_plan *plan, const char *program);

/* Every option as one JSON object. */
void rt_options_json(const struct rt_options *options, struct rt_text *text);

#endif
