/* SPDX-License-Identifier: Apache-2.0 */
/* One program of a rehearsal: from a small plan to what it wrote. */
#ifndef REHEARSE_TRIAL_H
#define REHEARSE_TRIAL_H

#include "driver/artifacts.h"
#include "driver/rehearse/compare.h"
#include "driver/rehearse/scratch.h"
#include "driver/rehearse/small.h"
#include "driver/toolchain.h"

struct trial {
	const char *name; /* "fp64/split": its folder */
	struct text text; /* of the small plan */
	struct compiled compiled;
	struct artifacts artifacts;
	const char *log, *gradients, *weights; /* files */
	const char *fault; /* what went wrong when it ran, or NULL */
};

/* Text to C, nothing written. What the small plan is told about itself is told nobody. False: E0901
 * for what this version cannot emit. */
bool trial_emit(struct session *session, struct trial *trial);

/* Writes the sources below the folder, compiles them. False with E0702 or E0801. */
bool trial_build(struct session *session, const struct toolchain *toolchain,
		 const struct scratch *scratch, struct trial *trial);

/* Trains with the data file. Sets the fault of a program that does not end well. */
void trial_run(struct session *session, const struct scratch *scratch, const char *data,
	       struct trial *trial);

#endif
