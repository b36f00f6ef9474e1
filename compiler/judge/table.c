/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/table.h"

#include <string.h>

#include "base/num.h"

enum {
	PAGE = 94, /* columns that a diagnostic leaves: 100 less the gutter */
	LONGEST_BAR = 28,
	DETAIL = 36,
	DIGITS = 2
};

struct row {
	const char *name, *detail, *value;
	int depth;
	uint64_t bytes; /* of the bar; 0: none */
};

struct table {
	struct arena *arena;
	bool gib;
	VEC(struct row) rows;
	int name, detail, value; /* widths */
	uint64_t largest;
};

static int wider(int width, size_t length)
{
	return (int)length > width ? (int)length : width;
}

static const char *value_of_bytes(const struct table *table, uint64_t bytes)
{
	return table->gib ? num_gib(table->arena, bytes, DIGITS)
			  : num_bytes(table->arena, bytes, DIGITS);
}

static void add_row(struct table *table, struct row row, uint64_t bytes)
{
	row.value = value_of_bytes(table, bytes);
	table->name = wider(table->name, strlen(row.name) + 2 * (size_t)row.depth);
	table->detail = wider(table->detail, strlen(row.detail));
	table->value = wider(table->value, strlen(row.value));
	vec_push(table->arena, &table->rows, row);
}

/* Bytes that print as 0.00 GiB. */
static bool unseen(uint64_t bytes)
{
	return bytes < (UINT64_C(1) << 30) / 200;
}

static void add_lines(struct table *table, const struct verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->nlines; i++) {
		const struct verdict_line *line = &verdict->lines[i];

		if (table->gib && unseen(line->bytes))
			continue;
		if (line->bytes > table->largest)
			table->largest = line->bytes;
		add_row(table,
			(struct row){.name = line->name,
				     .detail = line->detail,
				     .depth = line->depth,
				     .bytes = line->bytes},
			line->bytes);
	}
}

/* A row below the line: its name stands to the right in the column of details. */
static void add_sum(struct table *table, const char *name, uint64_t bytes)
{
	add_row(table, (struct row){.name = "", .detail = name, .depth = -1}, bytes);
}

static void add_sums(struct table *table, const struct verdict *verdict)
{
	bool fits = verdict->peak <= verdict->limit;

	add_sum(table, "total", verdict->peak);
	add_sum(table, "limit", verdict->limit);
	if (fits)
		add_sum(table, "free", verdict->limit - verdict->peak);
	else
		add_sum(table, "over", verdict->peak - verdict->limit);
}

static int bar_length(const struct table *table, uint64_t bytes)
{
	int room = PAGE - (1 + table->name + 2 + table->detail + 2 + table->value + 2);
	unsigned __int128 length = room < LONGEST_BAR ? room : LONGEST_BAR;

	if (room <= 0 || !bytes)
		return 0;
	return (int)((2 * length * bytes + table->largest) / 2 / table->largest);
}

static void print_row(const struct table *table, const struct row *row, struct text *out)
{
	int bar = bar_length(table, row->bytes), indent = row->depth > 0 ? 2 * row->depth : 0;

	text_add(out, " %*s%-*s  ", indent, "", table->name - indent, row->name);
	text_add(out, "%*s  ", row->depth < 0 ? table->detail : -table->detail, row->detail);
	text_add(out, "%*s", table->value, row->value);
	for (int i = 0; i < bar; i++)
		text_add(out, "%s#", i ? "" : "  ");
	text_add(out, "\n");
}

static char *draw(const struct verdict *verdict, bool gib, struct arena *arena)
{
	struct table table = {.arena = arena, .gib = gib, .detail = DETAIL, .largest = 1};
	struct text out = text_new(arena);

	add_lines(&table, verdict);
	add_sums(&table, verdict);
	for (uint32_t i = 0; i < table.rows.n; i++)
		print_row(&table, &table.rows.at[i], &out);
	return out.at;
}

char *table_short(const struct verdict *verdict, struct arena *arena)
{
	return draw(verdict, verdict->peak >= UINT64_C(1) << 30, arena);
}

char *verdict_table(const struct verdict *verdict, struct arena *arena)
{
	return draw(verdict, false, arena);
}
