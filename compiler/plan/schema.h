/* SPDX-License-Identifier: Apache-2.0 */
/* The schema table as data: what blocks and settings exist. */
#ifndef PLAN_SCHEMA_H
#define PLAN_SCHEMA_H

#include <stddef.h>

#include "plan/plan.h"

enum block_id {
#define BLOCK(name, doc) BLOCK_##name,
#define SETTING(block, name, type, fallback, effect, doc)
#define END(name)
#include "plan/schema.def"
#undef BLOCK
#undef SETTING
#undef END
	BLOCKS
};

/* What changes in the trained result when a setting changes: for `diff`. */
enum effect { EFFECT_NONE, EFFECT_ROUNDING, EFFECT_RESULT };

struct setting_row {
	const char *block, *name;
	enum value_type type;
	const char *fallback; /* NULL: must be given; "": may be absent */
	enum effect effect;
	const char *doc;
	size_t offset;        /* of the value in struct plan_BLOCK */
};

struct block_row {
	const char *name, *doc;
	const struct setting_row *settings;
	uint32_t nsettings;
};

const struct block_row *schema_block(enum block_id id);
const struct setting_row *schema_setting(enum block_id id, const char *name); /* or NULL */

/* True if a block or setting has this name (imports may not). */
bool schema_uses(const char *name);

/* Smallest value of a number. */
int64_t schema_least(const struct setting_row *row);
/* True if it is worked out of another statement and cannot be written. */
bool schema_inner(const struct setting_row *row);
/* Words of a TYPE_WORD setting, separated by blanks; "" if it has none. */
const char *schema_words(const struct setting_row *row);

/* True if `word` is one of the setting's words. */
bool schema_takes(const struct setting_row *row, const char *word);

/* The words of a setting, or the names that can be written in a block: an array in `arena`. */
const char *const *schema_word_list(const struct setting_row *row, struct arena *arena,
				    size_t *count);
const char *const *schema_names(enum block_id id, struct arena *arena, size_t *count);

#endif
