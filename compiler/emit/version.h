/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EMIT_VERSION_H
#define EMIT_VERSION_H

#define PLANC_VERSION "0.1.0"

#endif
