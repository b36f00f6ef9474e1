/* SPDX-License-Identifier: Apache-2.0 */
/* What a session prints, and where: human and short text to standard error, the JSON document and
 * the command's own output to standard output. */
#ifndef DRIVER_TELL_H
#define DRIVER_TELL_H

#include "driver/session.h"

/* Prints once. `verdict` replaces the word that follows from the exit code, or NULL. Gives the exit
 * code; 3 if something could not be printed. */
int tell(struct session *session, const char *verdict);

#endif
