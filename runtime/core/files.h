/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a run writes must not be files that it reads or writes otherwise. */
#ifndef CORE_FILES_H
#define CORE_FILES_H

struct data;
struct rt_options;

/* -1 after rt_fail that names two options and the file; asked before anything is written. One file
 * may have several names. `--init` and `--save` may agree: the one is read before the other. */
int files_check(const struct rt_options *options, const struct data *data);

#endif
