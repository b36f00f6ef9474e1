/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) of what goes into a manifest. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#include "base/arena.h"

/* 64 lower-case hexadecimal digits. */
char *sha256_hex(struct arena *arena, const char *bytes, size_t length);

#endif
