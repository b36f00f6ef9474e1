/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "place/layout.h"

static const char *const item_names[] = {
#define ITEM(id, name, doc) name,
#include "part/items.def"
#undef ITEM
};

static const char *const phase_names[PHASES] = {
	[PHASE_INIT] = "init",
	[PHASE_FORWARD] = "forward",
	[PHASE_BACKWARD] = "backward",
	[PHASE_UPDATE] = "update",
};

/* The columns of one buffer. */
struct row {
	const char *cells[8];
};

enum { COLUMNS = 8, OFFSET_COLUMN = 5, BYTES_COLUMN = 6 };

static const char *number(struct arena *arena, uint64_t value)
{
	return arena_text(arena, "%llu", (unsigned long long)value);
}

static const char *life_text(const struct program *program, const struct buffer *buffer,
			     struct arena *arena)
{
	static const char *const names[] = {[LIFE_RUN] = "run",
					    [LIFE_STEP] = "step",
					    [LIFE_SLOT] = "slot",
					    [LIFE_TURN] = "turn"};

	if (buffer->life != LIFE_SEGMENT)
		return names[buffer->life];
	return arena_text(arena, "%s %u..%u", program->segments[buffer->segment].name->text,
			  buffer->from, buffer->to);
}

/* The named dims, or the number of words. */
static const char *dims_text(const struct program *program, const struct buffer *buffer,
			     struct arena *arena)
{
	if (buffer->dims.n)
		return model_dims_text(program->graph->model, &buffer->dims, arena);
	return arena_text(arena, "[%llu]", (unsigned long long)buffer->elements);
}

static const char *copies_text(const struct buffer *buffer, struct arena *arena)
{
	const uint64_t counts[] = {buffer->layers, buffer->slots, buffer->levels};
	static const char *const names[] = {"layers", "slots", "levels"};
	const char *text = "";

	for (int i = 0; i < 3; i++)
		if (counts[i] != 1)
			text = arena_text(arena, "%s%s%llu %s", text, *text ? " x " : "",
					  (unsigned long long)counts[i], names[i]);
	return *text ? text : "1";
}

static struct row row_of(const struct layout *layout, const struct home *home, uint32_t index,
			 struct arena *arena)
{
	const struct buffer *buffer = &layout->program->buffers[index];

	return (struct row){{buffer->name->text, item_names[buffer->item],
			     graph_type_name(buffer->type),
			     dims_text(layout->program, buffer, arena), copies_text(buffer, arena),
			     number(arena, home->places[index].offset),
			     number(arena, buffer->bytes),
			     life_text(layout->program, buffer, arena)}};
}

/* Columns as wide as their longest cell; numbers to the right; nothing behind the last cell. */
static void print_rows(const struct row *rows, uint32_t count, struct text *out)
{
	int widths[COLUMNS] = {0};

	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < COLUMNS; k++)
			if ((int)strlen(rows[i].cells[k]) > widths[k])
				widths[k] = (int)strlen(rows[i].cells[k]);
	for (uint32_t i = 0; i < count; i++) {
		for (int k = 0; k < COLUMNS - 1; k++) {
			bool right = k == OFFSET_COLUMN || k == BYTES_COLUMN;

			text_add(out, "%*s  ", right ? widths[k] : -widths[k], rows[i].cells[k]);
		}
		text_add(out, "%s\n", rows[i].cells[COLUMNS - 1]);
	}
}

static void print_peak(const struct program *program, const char *phase, const struct peak *peak,
		       struct text *out)
{
	text_add(out, "%s %llu, gaps %llu", phase, (unsigned long long)peak->total,
		 (unsigned long long)peak->gaps);
	if (peak->segment != NO_ID)
		text_add(out, ", %s step %u", program->segments[peak->segment].name->text,
			 peak->step);
	text_add(out, "\n");
}

static void print_home(const struct layout *layout, uint32_t index, const struct work *work,
		       struct text *out)
{
	const struct program *program = layout->program;
	const struct home *home = &layout->homes[index];
	struct row *rows = ARENA_ARRAY(work->scratch, struct row, program->nbuffers + 1);

	rows[0] = (struct row){
		{"buffer", "item", "type", "dims", "copies", "offset", "bytes", "life"}};
	for (uint32_t i = 0; i < program->nbuffers; i++)
		rows[i + 1] = row_of(layout, home, i, work->scratch);
	text_add(out, "role %s: arena %llu, persistent %llu\n", program->roles[index].name->text,
		 (unsigned long long)home->arena, (unsigned long long)home->persistent);
	print_rows(rows, program->nbuffers + 1, out);
	for (int i = 0; i < PHASES; i++)
		print_peak(program, phase_names[i], &home->peak[i], out);
}

void layout_print(const struct layout *layout, const struct work *work, struct text *out)
{
	for (; layout; layout = layout->next)
		for (uint32_t i = 0; i < layout->nhomes; i++)
			print_home(layout, i, work, out);
}
