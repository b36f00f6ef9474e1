/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 64 bits: names a text shortly. Not for anything an attacker may choose. */
#ifndef DRIVER_HASH_H
#define DRIVER_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_add(uint64_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
