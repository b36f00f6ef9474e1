/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schema.h"

#include <string.h>

#include "base/vec.h"

/* One array a block. */
#define BLOCK(name, doc) static const struct setting_row name##_rows[] = {
#define SETTING(block, name, type, fallback, effect, doc)                                          \
	{#block, #name, type, fallback, EFFECT_##effect, doc, offsetof(struct plan_##block, name)},
#define END(name)                                                                                  \
	}                                                                                          \
	;
#include "plan/schema.def"
#undef BLOCK
#undef SETTING
#undef END

static const struct block_row blocks[BLOCKS] = {
#define BLOCK(name, doc) {#name, doc, name##_rows, sizeof name##_rows / sizeof *name##_rows},
#define SETTING(block, name, type, fallback, effect, doc)
#define END(name)
#include "plan/schema.def"
#undef BLOCK
#undef SETTING
#undef END
};

/* What stands in the smaller tables, by block and setting. */
struct extra {
	const char *block, *setting, *words;
	int64_t least;
	bool inner;
};

static const struct extra extras[] = {
#define WORDS(block, setting, words) {#block, #setting, words, 0, false},
#include "plan/setting_words.def"
#undef WORDS
#define LEAST(block, setting, value) {#block, #setting, NULL, value, false},
#define INNER(block, setting) {#block, #setting, NULL, 0, true},
#include "plan/resolve/limits.def"
#undef LEAST
#undef INNER
};

enum { EXTRAS = sizeof extras / sizeof *extras };

static bool is_of(const struct extra *extra, const struct setting_row *row)
{
	return !strcmp(extra->block, row->block) && !strcmp(extra->setting, row->name);
}

const struct block_row *schema_block(enum block_id id)
{
	return &blocks[id];
}

const struct setting_row *schema_setting(enum block_id id, const char *name)
{
	const struct block_row *block = &blocks[id];

	for (uint32_t k = 0; k < block->nsettings; k++)
		if (!strcmp(block->settings[k].name, name))
			return &block->settings[k];
	return NULL;
}

bool schema_uses(const char *name)
{
	static const char *const others[] = {"mesh", "split", "node", "fabric", "flops", "require"};

	for (size_t k = 0; k < sizeof others / sizeof *others; k++)
		if (!strcmp(others[k], name))
			return true;
	for (int id = 0; id < BLOCKS; id++)
		if (!strcmp(blocks[id].name, name) || schema_setting((enum block_id)id, name))
			return true;
	return false;
}

int64_t schema_least(const struct setting_row *row)
{
	for (int k = 0; k < EXTRAS; k++)
		if (extras[k].least && is_of(&extras[k], row))
			return extras[k].least;
	return 0;
}

bool schema_inner(const struct setting_row *row)
{
	for (int k = 0; k < EXTRAS; k++)
		if (extras[k].inner && is_of(&extras[k], row))
			return true;
	return false;
}

const char *schema_words(const struct setting_row *row)
{
	for (int k = 0; k < EXTRAS; k++)
		if (extras[k].words && is_of(&extras[k], row))
			return extras[k].words;
	return "";
}

const char *const *schema_word_list(const struct setting_row *row, struct arena *arena,
				    size_t *count)
{
	VEC(const char *) list = {0};

	for (const char *at = schema_words(row); *at;) {
		size_t length = strcspn(at, " ");

		vec_push(arena, &list, arena_copy(arena, at, length));
		at += length + (at[length] == ' ');
	}
	*count = list.n;
	return list.at;
}

bool schema_takes(const struct setting_row *row, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = schema_words(row); *at;) {
		size_t next = strcspn(at, " ");

		if (next == length && !memcmp(at, word, length))
			return true;
		at += next + (at[next] == ' ');
	}
	return false;
}

const char *const *schema_names(enum block_id id, struct arena *arena, size_t *count)
{
	const struct block_row *block = &blocks[id];
	VEC(const char *) list = {0};

	for (uint32_t k = 0; k < block->nsettings; k++)
		if (!schema_inner(&block->settings[k]))
			vec_push(arena, &list, block->settings[k].name);
	*count = list.n;
	return list.at;
}
