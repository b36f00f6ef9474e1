/* SPDX-License-Identifier: Apache-2.0 */
/* The C compiler, and the runtime that belongs to this planc: seen from the folder of planc itself,
 * ../include/planc/rt/ and ../lib/planc/ with libplanc_rt.a, link.txt (what linking it needs) and
 * cc.txt (the compiler planc was built with). A build tree is laid out like an installed one. */
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

/* True if `program` exists and is newer than the runtime archive and the files of `artifacts` in
 * `folder`: these may have been written by a run whose compiler failed. */
bool toolchain_current(struct session *session, const struct toolchain *toolchain,
		       const struct artifacts *artifacts, const char *folder, const char *program);

#endif
