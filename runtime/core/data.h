/* SPDX-License-Identifier: Apache-2.0 */
/* Text as tokens. Files are mapped, opened by the parent before the fork and read by the ranks.
 *
 * A data set is the concatenation of the files that match a glob, in sorted order. A window is T
 * inputs and T targets, shifted by one: tokens [w T, w T + T]. Sample n of the training is window
 * order(n % W) of epoch n / W; which sample a micro-batch holds depends on step and position in the
 * global batch alone. */
#ifndef CORE_DATA_H
#define CORE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/rt.h"

struct data_file {
	char *path;
	const unsigned char *at;
	int64_t bytes, header; /* header: bytes before the first token */
	int64_t first, count;  /* tokens: number of the first, how many */
};

struct data_set {
	enum rt_data_kind kind;
	struct data_file *files;
	int nfiles;
	int64_t tokens, vocab;
};

/* A stretch of a set, cut into windows. */
struct data_view {
	const struct data_set *set;
	int64_t first, tokens, windows;
};

struct data {
	struct data_set sets[2]; /* the data, and the held-out data where it has files of its own */
	struct data_view train, held; /* held.windows 0: no validation */
	int64_t length;		      /* T */
};

struct rt_options;

/* What rt_load_batch gives. */
enum batch_mode { BATCH_TRAIN, BATCH_VALIDATE, BATCH_PROMPT };
struct batch_source {
	enum batch_mode mode;
	int64_t windows;	     /* BATCH_VALIDATE: windows in use, the rest is masked */
	const unsigned char *prompt; /* BATCH_PROMPT: row 0, at most T bytes */
	int64_t prompt_length;
};

/* -1 after rt_fail that names file and offset. data_close gives everything back. */
int data_open(struct data *data, const struct rt_plan *plan, const struct rt_options *options);
void data_close(struct data *data);

/* Lets go of the pages of the files that this process has mapped in; they come back when read. */
void data_release(const struct data *data);

/* data_set.c */
int data_set_open(struct data_set *set, const struct rt_data *from, int64_t vocab);
void data_set_close(struct data_set *set);

/* Every token of the set inside the vocabulary; -1 after rt_fail. */
int data_set_check(const struct data_set *set);

/* Window `window` of a view: inputs and targets, each unless NULL.
 * -1 after rt_fail if an id is outside the
 * vocabulary. */
int data_window(const struct data_view *view, int64_t window, int64_t length, int32_t *inputs,
		int32_t *targets);

/* Token `index` of the set, unchecked. */
int32_t data_token(const struct data_set *set, int64_t index);

/* The window that sample n reads, of `windows` (> 0): a permutation of each epoch. order.c */
int64_t data_order(uint64_t seed, int64_t n, int64_t windows);

/* Number of windows that one validation reads. */
int64_t data_validation_windows(const struct data *data, const struct rt_train *train);

/* Cross-entropy, nats a byte, of add-one bigrams counted on the training bytes, over the targets of
 * `windows` windows of the held-out view. bigram.c */
double data_bigram(const struct data *data, int64_t windows);

#endif
