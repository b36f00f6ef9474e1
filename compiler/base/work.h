/* SPDX-License-Identifier: Apache-2.0 */
/* What every pass is handed: where results live, where scratch lives, where faults go. */
#ifndef BASE_WORK_H
#define BASE_WORK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/name.h"
#include "base/source.h"

struct work {
	struct arena *keep;    /* results of passes */
	struct arena *scratch; /* reset after each pass */
	struct names *names;
	struct sources *sources;
	struct diags *diags;
	/* Of files compiled before this one. */
	uint32_t errors_before, diags_before;
	bool check_only;       /* nothing will be emitted: what cannot be is no error */
};

#endif
