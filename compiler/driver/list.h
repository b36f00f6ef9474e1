/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of `planc list` that have a file of their own. */
#ifndef DRIVER_LIST_H
#define DRIVER_LIST_H

#include "driver/commands.h"

void list_combinations(struct session *session, const struct argument *unused);

#endif
