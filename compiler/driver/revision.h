/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a git revision, REV:PATH: read by a child process, no shell, no filter of the
 * repository's configuration. */
#ifndef DRIVER_REVISION_H
#define DRIVER_REVISION_H

#include "driver/session.h"

/* "origin/main:" of "origin/main:a/b.plan", in `arena`; NULL if the operand names a file that
 * exists or has no colon. */
const char *revision_of(const char *operand, struct arena *arena);

/* The bytes of REV:PATH, or NULL: *said is then what git said, or why it could not be started. */
char *revision_read(const char *name, struct arena *arena, size_t *length, const char **said);

#endif
