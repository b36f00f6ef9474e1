/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a rehearsal and the programs that run in it. Neither outlives planc, ended by a
 * signal or not, unless the folder is to be kept. */
#ifndef REHEARSE_SCRATCH_H
#define REHEARSE_SCRATCH_H

#include "driver/session.h"

struct scratch {
	const char *path;
	bool kept;
};

/* `keep`: the folder that stays, or NULL for one of its own below $TMPDIR. From here on SIGINT,
 * SIGTERM and SIGHUP are taken note of. False with E0702. */
bool scratch_open(struct session *session, const char *keep, struct scratch *out);
/* Removes the folder; a signal that was taken note of ends planc. */
void scratch_close(struct session *session, const struct scratch *scratch);
/* True once a signal has come. */
bool scratch_stopped(void);

enum ended { ENDED_WELL, ENDED_BADLY, ENDED_LATE, ENDED_STOPPED, ENDED_NEVER_STARTED };

/* Runs a command, what it says in the file `said`, for at most `seconds`; all processes of its
 * group are gone afterwards. *code: the exit code, or 128 + signal. */
enum ended scratch_run(struct strings *line, const char *said, double seconds, int *code,
		       struct arena *arena);

/* Seconds of a clock that only goes forward. */
double scratch_clock(void);

#endif
