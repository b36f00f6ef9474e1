/* SPDX-License-Identifier: Apache-2.0 */
/* The long text of each code, and an example: the first golden case of that code, which the tests
 * run, with what planc says about it. */
#ifndef DRIVER_EXPLAIN_H
#define DRIVER_EXPLAIN_H

/* Made from the cases in tests/diag when planc is built; ends with a NULL code. */
struct explain_case {
	const char *code, *plan, *message;
};
extern const struct explain_case explain_cases[];

#endif
