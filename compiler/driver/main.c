/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/commands.h"

#include <signal.h>

static void (*const commands[COMMANDS])(struct session *) = {
#define COMMAND(name, least, most, operands, summary) [COMMAND_##name] = command_##name,
#define LATER(name)
#include "driver/commands.def"
#undef COMMAND
#undef LATER
};

int main(int argc, char **argv)
{
	struct session session;

	signal(SIGXFSZ, SIG_IGN); /* write says EFBIG */
	session_open(&session, argc, argv);
	if (!session.work.diags->errors) {
		if (session.options.help)
			command_help(&session);
		else
			commands[session.options.command](&session);
	}
	return session_close(&session);
}
