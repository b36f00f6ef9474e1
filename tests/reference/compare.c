/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what two trainings wrote, by the bounds of the caller, and prints the worst difference.
 *
 *	compare gradients WANT GOT BOUND    safetensors, tensor by tensor
 *	compare weights WANT GOT BOUND      safetensors, all tensors as one vector
 *	compare log WANT GOT LOSS NORM      JSON lines with `loss` and `grad_norm`, step by step
 *
 * What is compared how stands in driver/rehearse/compare.h. `compare log` looks at as many steps as
 * GOT has, at least one, at most WANT's. Exit code 0: within the bounds; 1: not; 2: a file is
 * missing or makes no sense. */
#include "driver/rehearse/compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void refuse(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static int verdict(const char *what, double worst, double bound)
{
	bool good = compare_within(worst, bound);
	printf("%s: %.2e, at most %.0e%s\n", what, worst, bound, good ? "" : ": TOO MUCH");
	return good ? 0 : 1;
}

static int gradients(const struct tensors_difference *difference, double bound)
{
	for (uint32_t i = 0; i < difference->n; i++)
		if (!compare_within(difference->all[i].off, bound))
			printf("  %s: %.2e\n", difference->all[i].name, difference->all[i].off);
	printf("worst tensor %s\n", difference->all[difference->worst].name);
	return verdict("gradients", difference->all[difference->worst].off, bound);
}

static int compare_files(const char *kind, const char *want, const char *got, double bound,
			 struct arena *arena)
{
	struct tensors_difference difference;
	const char *fault = tensors_compare(want, got, &difference, arena);
	if (fault != NULL)
		refuse("%s", fault);
	if (strcmp(kind, "weights") == 0)
		return verdict("weights", difference.whole, bound);
	return gradients(&difference, bound);
}

static int compare_logs(const char *want_path, const char *got_path, double loss, double norm,
			struct arena *arena)
{
	struct run_log want, got;
	const char *fault = log_read(want_path, &want, arena);
	if (fault == NULL)
		fault = log_read(got_path, &got, arena);
	if (fault != NULL)
		refuse("%s", fault);
	if (got.nsteps == 0 || got.nsteps > want.nsteps)
		refuse("%s: %u steps, %s has %u", got_path, got.nsteps, want_path, want.nsteps);
	struct log_difference difference = log_compare(&want, &got);
	printf("%u steps\n", got.nsteps);
	return verdict("loss", difference.loss, loss) |
	       verdict("gradient norm", difference.norm, norm);
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new();
	const char *kind = argc > 1 ? argv[1] : "";
	int code;
	if (argc == 6 && strcmp(kind, "log") == 0)
		code = compare_logs(argv[2], argv[3], atof(argv[4]), atof(argv[5]), arena);
	else if (argc == 5 && (strcmp(kind, "gradients") == 0 || strcmp(kind, "weights") == 0))
		code = compare_files(kind, argv[2], argv[3], atof(argv[4]), arena);
	else
		refuse("usage: compare gradients|weights WANT GOT BOUND, "
		       "compare log WANT GOT LOSS NORM");
	arena_delete(arena);
	return code;
}
