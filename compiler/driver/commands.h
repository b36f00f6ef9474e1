/* SPDX-License-Identifier: Apache-2.0 */
/* What each `planc NAME` does. A command writes into session->out and session->lines and adds
 * diagnostics; the exit code follows from them. */
#ifndef DRIVER_COMMANDS_H
#define DRIVER_COMMANDS_H

#include "driver/session.h"

#define COMMAND(name, least, most, operands, summary) void command_##name(struct session *session);
#define LATER(name)
#include "driver/commands.def"
#undef COMMAND
#undef LATER

/* Adds E0602 at an operand. */
struct diag *wrong_operand(struct session *session, struct argument operand,
			   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
