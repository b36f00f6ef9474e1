/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a model from its text: operator calls over named dims, as the operators table of the
 * language says, element by element. Knows no graph, buffer, kernel or padding; weights are read
 * from an interpreted program by name. */
#ifndef OPERATORS_FORWARD_H
#define OPERATORS_FORWARD_H

#include "interpret.h"

/* Sum over the targets of all micro-batches; dropout is the identity. */
double forward_loss(const struct interpret *in);

#endif
