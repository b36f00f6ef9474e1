/* SPDX-License-Identifier: Apache-2.0 */
/* Growable typed array that lives in an arena: VEC(struct x) list = {0};
 * vec_push(arena, &list, value); list.at[i] for i < list.n. Growing copies; old storage stays
 * valid (stale) until the arena is reset, so take indices, not pointers, across a push. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		uint32_t n, room;                                                                  \
	}

#define vec_push(arena, vec, ...)                                                                  \
	do {                                                                                       \
		if ((vec)->n == (vec)->room) {                                                     \
			uint32_t vec_room_ = (vec)->room ? 2 * (vec)->room : 8;                    \
			void *vec_new_ = arena_array((arena), vec_room_, sizeof *(vec)->at);       \
			if ((vec)->n)                                                              \
				memcpy(vec_new_, (vec)->at, (vec)->n * sizeof *(vec)->at);         \
			(vec)->at = vec_new_;                                                      \
			(vec)->room = vec_room_;                                                   \
		}                                                                                  \
		(vec)->at[(vec)->n++] = __VA_ARGS__;                                               \
	} while (0)

#endif
