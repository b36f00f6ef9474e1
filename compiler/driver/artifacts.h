/* SPDX-License-Identifier: Apache-2.0 */
/* From a verdict to files: the emitted text, where it lies, whether it changed. */
#ifndef DRIVER_ARTIFACTS_H
#define DRIVER_ARTIFACTS_H

#include "driver/session.h"

/* The text of a plan that passed. False, with the reasons in the diagnostics, if it did not pass or
 * holds what this version cannot emit (E0901), or if the program would be called as one of its
 * files (E0702). */
bool artifacts_make(struct session *session, const struct outcome *outcome, struct artifacts *out);

/* What the rules note as checked only is an error for who asks for output. False if there is
 * any. */
bool artifacts_emittable(struct session *session);

/* All of it, each file under a line with its name. */
void artifacts_print(const struct artifacts *artifacts, struct text *out);

/* False with E0702 if the path is that of a file that the plan is read from. */
bool artifacts_spare(struct session *session, const char *path);

/* Writes those files of `folder` that differ; *changed: whether there were any. False with E0702;
 * where there is no room for all of them, or one is an input, none is touched. */
bool artifacts_write(struct session *session, const struct artifacts *artifacts, const char *folder,
		     bool *changed);

/* Names the files of `folder` that are absent or differ; sets session->differs then. */
void artifacts_compare(struct session *session, const struct artifacts *artifacts,
		       const char *folder);

/* A number that follows from the names and texts alone. */
uint64_t artifacts_hash(const struct artifacts *artifacts);

/* The one line that says what a plan came to; nothing if it failed. */
void session_summary(struct session *session, const struct outcome *outcome);

#endif
