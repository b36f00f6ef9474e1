/* SPDX-License-Identifier: Apache-2.0 */
/* The text of plans that were drawn. */
#ifndef PLAN_TEXT_H
#define PLAN_TEXT_H

#include "plan_draw.h"

/* FOLDER/NAME.plan; THIRD: the plan that holds the architecture of no known family. Ends the
 * program where a file cannot be read or written. */
void put_plan(const char *folder, const char *name, const struct base *base,
	      const struct layout *layout, const char *third);

/* One line. */
void put_summary(const struct base *base, const struct layout *layout);

#endif
