/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rt_options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt_status.h"
#include "device/cpu/cpu_threads.h"

enum kind { FLAG, COUNT, NUMBER, TEXT, PROMPT };

struct option {
	const char *name, *argument;
	enum kind kind;
	int64_t least, most; /* COUNT and NUMBER */
	size_t at;
	const char *help;
};

#define AT(field) offsetof(struct rt_options, field)
#define ANY INT64_MAX

static const struct option table[] = {
	{"steps", "N", COUNT, 0, ANY, AT(steps), "optimizer steps"},
	{"seed", "N", COUNT, 0, ((int64_t)1 << 53) - 1, AT(seed),
	 "seed of weights, order and dropout"},
	{"threads", "N", COUNT, 1, CPU_MAX_THREADS, AT(threads), "threads a rank"},
	{"data", "GLOB", TEXT, 0, 0, AT(data), "training data"},
	{"validation", "GLOB", TEXT, 0, 0, AT(validation), "held-out data"},
	{"check-data", NULL, FLAG, 0, 0, AT(check_data), "look at every token before the start"},
	{"bigram", NULL, FLAG, 0, 0, AT(bigram), "print the cross-entropy of add-one bigrams"},
	{"log", "FILE", TEXT, 0, 0, AT(log), "write one JSON object a line"},
	{"log-tensors", NULL, FLAG, 0, 0, AT(log_tensors), "log the gradient norm of each tensor"},
	{"dump-gradients", "FILE", TEXT, 0, 0, AT(dump_gradients),
	 "write the gradients of the first step (safetensors)"},
	{"init", "FILE", TEXT, 0, 0, AT(init), "start from these weights (safetensors)"},
	{"save", "FILE", TEXT, 0, 0, AT(save), "write the weights at the end (safetensors)"},
	{"save-every", "N", COUNT, 1, ANY, AT(save_every), "and every N steps"},
	{"sample", "TEXT N", PROMPT, 0, 1 << 20, AT(sample), "continue TEXT by N bytes at the end"},
	{"temperature", "T", NUMBER, 0, 100, AT(temperature), "of samples; 0: the likeliest byte"},
	{"dry-run", NULL, FLAG, 0, 0, AT(dry_run), "one step, then predicted and measured memory"},
	{"check-replicas", "N", COUNT, 1, ANY, AT(check_replicas),
	 "compare replicated weights every N steps"},
	{"quiet", NULL, FLAG, 0, 0, AT(quiet), "print results only"},
	{"help", NULL, FLAG, 0, 0, AT(help), "print this (-h)"},
	{"version", NULL, FLAG, 0, 0, AT(version), "print the version"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static void *field(struct rt_options *options, const struct option *option)
{
	return (unsigned char *)options + option->at;
}

static const void *value_of(const struct rt_options *options, const struct option *option)
{
	return (const unsigned char *)options + option->at;
}

/* The option of "--name" or "--name=value"; *value is what follows the '='. */
static const struct option *find(const char *argument, const char **value)
{
	*value = NULL;
	if (strcmp(argument, "-h") == 0)
		argument = "--help";
	if (strncmp(argument, "--", 2) != 0)
		return NULL;
	const char *name = argument + 2, *equals = strchr(name, '=');
	size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
	if (equals != NULL)
		*value = equals + 1;
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
			return &table[i];
	return NULL;
}

static int set_count(const struct option *option, const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	const char *digit = text + (*text == '-');
	if (*digit < '0' || *digit > '9' || *end != '\0')
		return rt_fail("option `--%s`: `%s` is not a whole number", option->name, text);
	if (value < option->least && option->most == ANY)
		return rt_fail("option `--%s`: `%s` is out of range, the least is %lld",
			       option->name, text, (long long)option->least);
	if (errno != 0 || value < option->least || value > option->most)
		return rt_fail("option `--%s`: `%s` is out of range, %lld to %lld", option->name,
			       text, (long long)option->least, (long long)option->most);
	*out = value;
	return 0;
}

static int set_number(const struct option *option, const char *text, double *out)
{
	char *end;
	double value = strtod(text, &end);
	if (*text == '\0' || *end != '\0' || !isfinite(value))
		return rt_fail("option `--%s`: `%s` is not a number", option->name, text);
	if (value < (double)option->least || value > (double)option->most)
		return rt_fail("option `--%s`: `%s` is out of range", option->name, text);
	*out = value;
	return 0;
}

static int set(struct rt_options *options, const struct option *option, const char *text)
{
	switch (option->kind) {
	case COUNT:
		return set_count(option, text, field(options, option));
	case NUMBER:
		return set_number(option, text, field(options, option));
	case TEXT:
	case PROMPT:
		if (*text == '\0')
			return rt_fail("option `--%s`: its %s is empty", option->name,
				       option->argument);
		*(const char **)field(options, option) = text;
		return 0;
	case FLAG:
		break;
	}
	*(bool *)field(options, option) = true;
	return 0;
}

static void set_defaults(struct rt_options *options, const struct rt_plan *plan)
{
	memset(options, 0, sizeof *options);
	options->steps = plan->train.steps;
	options->seed = (int64_t)plan->train.seed;
	options->threads = plan->threads > 0 ? plan->threads : 1;
	options->data = plan->data.glob;
	options->validation = plan->validation.glob;
	options->temperature = 0.8;
}

static int check_together(const struct rt_options *options)
{
	if (options->save_every > 0 && options->save == NULL)
		return rt_fail("option `--save-every` needs `--save FILE`");
	if (options->log_tensors && options->log == NULL)
		return rt_fail("option `--log-tensors` needs `--log FILE`");
	if (options->threads > CPU_MAX_THREADS)
		return rt_fail("the plan asks for %lld threads a rank, the most are %d: use "
			       "`--threads N`",
			       (long long)options->threads, CPU_MAX_THREADS);
	return 0;
}

/* Of two values one would be lost; a flag may be repeated. */
static int note_given(bool given[OPTIONS], const struct option *option)
{
	size_t i = (size_t)(option - table);
	if (given[i] && option->kind != FLAG)
		return rt_fail("option `--%s` is given twice", option->name);
	given[i] = true;
	return 0;
}

static int parse_one(struct rt_options *options, int argc, char **argv, int *i, bool *given)
{
	const char *value;
	const struct option *option = find(argv[*i], &value);
	if (option == NULL)
		return rt_fail("unknown %s `%s`", argv[*i][0] == '-' ? "option" : "argument",
			       argv[*i]);
	RT_TRY(note_given(given, option));
	if (option->kind == FLAG) {
		if (value != NULL)
			return rt_fail("option `--%s` takes no value", option->name);
		return set(options, option, "");
	}
	if (value == NULL && *i + 1 < argc)
		value = argv[++*i];
	if (value == NULL)
		return rt_fail("option `--%s` needs %s", option->name, option->argument);
	if (set(options, option, value) != 0)
		return -1;
	if (option->kind != PROMPT)
		return 0;
	if (*i + 1 >= argc)
		return rt_fail("option `--%s` needs %s", option->name, option->argument);
	return set_count(option, argv[++*i], &options->sample_bytes);
}

int rt_options_parse(struct rt_options *options, const struct rt_plan *plan, int argc, char **argv)
{
	bool given[OPTIONS] = {false};
	set_defaults(options, plan);
	for (int i = 1; i < argc; i++)
		if (parse_one(options, argc, argv, &i, given) != 0)
			return -1;
	return check_together(options);
}

void rt_options_help(const struct rt_plan *plan, const char *program)
{
	printf("usage: %s [OPTION]..\n\nTrains `%s` (%s), %lld weights, on %lld ranks.\n\n",
	       program, plan->name, plan->source, (long long)plan->params, (long long)plan->ranks);
	for (size_t i = 0; i < OPTIONS; i++) {
		char left[64];
		snprintf(left, sizeof left, "--%s%s%s", table[i].name,
			 table[i].argument != NULL ? " " : "",
			 table[i].argument != NULL ? table[i].argument : "");
		printf("  %-24s %s\n", left, table[i].help);
	}
}

void rt_options_json(const struct rt_options *options, struct rt_text *text)
{
	rt_text_add(text, "{");
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *option = &table[i];
		const void *at = value_of(options, option);
		if (strcmp(option->name, "help") == 0 || strcmp(option->name, "version") == 0)
			continue;
		rt_text_add(text, "%s\"%s\":", i > 0 ? "," : "", option->name);
		if (option->kind == FLAG)
			rt_text_add(text, *(const bool *)at ? "true" : "false");
		else if (option->kind == COUNT)
			rt_text_add(text, "%lld", (long long)*(const int64_t *)at);
		else if (option->kind == NUMBER)
			rt_text_number(text, *(const double *)at);
		else if (*(const char *const *)at == NULL)
			rt_text_add(text, "null");
		else
			rt_text_json(text, *(const char *const *)at);
	}
	rt_text_add(text, ",\"sample-bytes\":%lld}", (long long)options->sample_bytes);
}
