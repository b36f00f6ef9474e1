/* SPDX-License-Identifier: Apache-2.0 */
/* The C compiler, and where the runtime that belongs to this planc lies. Known from one small file:
 * `planc.toolchain` beside the executable in a build tree, or in ../lib/planc once installed. Lines
 * `name value`; paths are relative to the file. */
#ifndef DRIVER_TOOLCHAIN_H
#define DRIVER_TOOLCHAIN_H

#include "driver/session.h"

struct toolchain {
	struct strings cc;    /* $CC, or what the build found, or cc; with its own arguments */
	const char *include;  /* folder that holds rt/rt.h */
	const char *archive;  /* libplanc_rt.a */
	struct strings flags; /* what linking the archive needs */
};

/* False with E0801 if the runtime is not where it should be. */
bool toolchain_find(struct session *session, struct toolchain *out);

/* Compiles the C files of `artifacts` in `folder` into the executable `program`, whole or not at
 * all. Messages of the compiler go to standard error. False with E0801. */
bool toolchain_compile(struct session *session, const struct toolchain *toolchain,
		       const struct artifacts *artifacts, const char *folder, const char *program);

/* True if `program` exists and is newer than the runtime archive. */
bool toolchain_current(const struct toolchain *toolchain, const char *program);

#endif
