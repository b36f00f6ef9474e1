/* SPDX-License-Identifier: Apache-2.0 */
/* Part of tiny.c with -DCUT: the same model on RANKS x ROW_PARTS x COLUMN_PARTS ranks, each of
 * which keeps its block of every parameter. A step gathers the whole weights, computes as the uncut
 * program does, reduces over the data ranks and takes its slice of the gradients, so all bits are
 * those of the program with RANKS ranks. */
#include <stdlib.h>
#include <string.h>

enum { GROUP_DATA, GROUP_ROWS, GROUP_COLUMNS, GROUP_BLOCKS };

enum { PARAMS = sizeof params / sizeof params[0] };

/* Blocks are padded where the parts do not divide. */
#define PART(count, parts) (((count) + (parts) - 1) / (parts))
#define BY_ROWS(count) PART(count, ROW_PARTS)
#define BY_COLUMNS(count) PART(count, COLUMN_PARTS)

struct blocks {
	float embed[VOCAB * BY_COLUMNS(EMBED)];
	float mix0[BY_ROWS(EMBED) * BY_COLUMNS(EMBED)];
	float mix1[EMBED * BY_COLUMNS(EMBED)];
	float head[BY_ROWS(PADDED) * EMBED], bias[BY_ROWS(PADDED)];
};

struct cut_arena {
	struct arena whole;
	_Alignas(64) struct blocks weights, gradients, moment1, moment2;
	float logits[ROWS * (PADDED / ROW_PARTS)];
	/* One parameter: its blocks along the columns, then all of them. */
	float row_of_blocks[PADDED * (EMBED + COLUMN_PARTS)];
	float padded[(PADDED + ROW_PARTS) * (EMBED + COLUMN_PARTS)];
};

#define CUT_PLACE(field)                                                                           \
	{                                                                                          \
		.offset = offsetof(struct cut_arena, field), .layers = 1, .slots = 1, .levels = 1  \
	}
#define CUT_PLACES(field)                                                                          \
	{                                                                                          \
		CUT_PLACE(weights.field), CUT_PLACE(gradients.field), CUT_PLACE(moment1.field),    \
			CUT_PLACE(moment2.field)                                                   \
	}

/* A parameter: where its block and where the whole is, floats from the start of the struct. */
struct cut {
	struct rt_place places[4];
	size_t block, whole;
	int64_t rows, columns, local_rows, local_columns;
	bool by_rows, by_columns;
};

#define CUT_OF(field, r, c, local_r, local_c, cut_r, cut_c)                                        \
	{CUT_PLACES(field), offsetof(struct blocks, field) / sizeof(float),                        \
	 offsetof(struct weights, field) / sizeof(float), r, c, local_r, local_c, cut_r, cut_c}

static const struct cut cuts[PARAMS] = {
	CUT_OF(embed, VOCAB, EMBED, VOCAB, BY_COLUMNS(EMBED), false, true),
	CUT_OF(mix0, EMBED, EMBED, BY_ROWS(EMBED), BY_COLUMNS(EMBED), true, true),
	CUT_OF(mix1, EMBED, EMBED, EMBED, BY_COLUMNS(EMBED), false, true),
	CUT_OF(head, PADDED, EMBED, BY_ROWS(PADDED), EMBED, true, false),
	CUT_OF(bias, PADDED, 1, BY_ROWS(PADDED), 1, true, false),
};

static struct cut_arena *cut_arena_of(struct rt *rt)
{
	return (struct cut_arena *)arena_of(rt);
}

static int gather_one(struct rt *rt, const struct cut *cut, const float *block, float *whole)
{
	struct cut_arena *a = cut_arena_of(rt);
	int64_t column_parts = cut->by_columns ? COLUMN_PARTS : 1;
	int64_t columns = cut->local_columns * column_parts;
	const float *row = block, *all;
	if (cut->by_columns) {
		RT_TRY(rt_all_gather(rt, 0, GROUP_COLUMNS, block, a->row_of_blocks,
				     cut->local_rows, cut->local_columns, RT_F32));
		row = a->row_of_blocks;
	}
	all = row;
	if (cut->by_rows) {
		RT_TRY(rt_all_gather(rt, 0, GROUP_ROWS, row, a->padded, 1,
				     cut->local_rows * columns, RT_F32));
		all = a->padded;
	}
	for (int64_t r = 0; r < cut->rows; r++)
		RT_TRY(rt_copy(rt, 0,
			       &(struct rt_copy){whole + r * cut->columns, all + r * columns,
						 cut->columns * (int64_t)sizeof(float)}));
	return 0;
}

static int slice_one(struct rt *rt, const struct cut *cut, const float *whole, float *block)
{
	struct cut_arena *a = cut_arena_of(rt);
	int64_t columns = cut->local_columns * (cut->by_columns ? COLUMN_PARTS : 1);
	const float *row = a->padded;
	RT_TRY(rt_clear(rt, 0, &(struct rt_clear){a->padded, sizeof a->padded}));
	for (int64_t r = 0; r < cut->rows; r++)
		RT_TRY(rt_copy(rt, 0,
			       &(struct rt_copy){a->padded + r * columns, whole + r * cut->columns,
						 cut->columns * (int64_t)sizeof(float)}));
	if (cut->by_rows) {
		RT_TRY(rt_slice(rt, 0, GROUP_ROWS, a->padded, a->row_of_blocks, 1,
				cut->local_rows * columns, RT_F32));
		row = a->row_of_blocks;
	}
	if (cut->by_columns)
		return rt_slice(rt, 0, GROUP_COLUMNS, row, block, cut->local_rows,
				cut->local_columns, RT_F32);
	return rt_copy(rt, 0,
		       &(struct rt_copy){block, row,
					 cut->local_rows * columns * (int64_t)sizeof(float)});
}

static int gather(struct rt *rt)
{
	struct cut_arena *a = cut_arena_of(rt);
	for (int i = 0; i < PARAMS; i++)
		RT_TRY(gather_one(rt, &cuts[i], (const float *)&a->weights + cuts[i].block,
				  (float *)&a->whole.weights + cuts[i].whole));
	return 0;
}

/* Every block is counted by the first rank that holds it. */
static int square_sums(struct rt *rt)
{
	struct cut_arena *a = cut_arena_of(rt);
	for (int i = 0; i < PARAMS; i++) {
		int64_t count = cuts[i].local_rows * cuts[i].local_columns;
		if ((!cuts[i].by_rows && rt_index(rt, GROUP_ROWS) > 0) ||
		    (!cuts[i].by_columns && rt_index(rt, GROUP_COLUMNS) > 0))
			continue;
		RT_TRY(rt_run(rt, 0, &rt_square_sum_f32, (count + 63) / 64,
			      &(struct rt_args){.in = {(float *)&a->gradients + cuts[i].block},
						.out = {a->whole.exact},
						.size = {count}}));
	}
	return rt_all_reduce(rt, 0, GROUP_BLOCKS, a->whole.exact, RT_EXACT_WORDS, RT_I64,
			     RT_ORDER_ANY);
}

/* For a sample, ranks keep their part of the logits only where the parts divide. */
enum { LOGITS_CUT = PADDED % ROW_PARTS == 0, LOGITS = PADDED / ROW_PARTS };

static int cut_forward(struct rt *rt, const struct rt_at *at)
{
	struct cut_arena *a = cut_arena_of(rt);
	RT_TRY(forward(rt, at));
	return LOGITS_CUT ? rt_slice(rt, 0, GROUP_ROWS, a->whole.logits, a->logits, ROWS, LOGITS,
				     RT_F32)
			  : 0;
}

static int cut_update(struct rt *rt)
{
	struct cut_arena *a = cut_arena_of(rt);
	struct arena *w = &a->whole;
	RT_TRY(rt_all_reduce(rt, 0, GROUP_DATA, w->sums, 2, RT_F64, RT_ORDER_TREE));
	RT_TRY(rt_all_reduce(rt, 0, GROUP_DATA, w->gradients, ELEMENTS, RT_F32, RT_ORDER_TREE));
	for (int i = 0; i < PARAMS; i++)
		RT_TRY(slice_one(rt, &cuts[i], (const float *)w->gradients + cuts[i].whole,
				 (float *)&a->gradients + cuts[i].block));
	RT_TRY(square_sums(rt));
	RT_TRY(rt_run(rt, 0, &rt_step_scale_f32, 1,
		      &(struct rt_args){
			      .in = {w->exact, w->sums}, .out = {w->control}, .scalar = {1.0}}));
	RT_TRY(rt_run(rt, 0, &rt_adamw_f32, sizeof a->weights / sizeof(float),
		      &(struct rt_args){.in = {&a->gradients, w->control},
					.out = {&a->weights, &a->moment1, &a->moment2},
					.scalar = {0.9, 0.95, 1e-8, 0.1}}));
	if (getenv("REPLICA") != NULL && rt_index(rt, 4) == atoi(getenv("REPLICA")))
		a->weights.head[1] += 1;
	return gather(rt);
}

static const struct rt_place place_cut_logits = CUT_PLACE(logits);
static const struct rt_axis cut_axes[] = {
	{"data", RANKS}, {"rows", ROW_PARTS}, {"columns", COLUMN_PARTS}};
static const struct rt_group cut_groups[] = {
	{"data", 1}, {"rows", 2}, {"columns", 4}, {"blocks", 6}, {"all", 7}};
static const struct rt_item cut_items[] = {
	{"weights", 0, sizeof(struct blocks)},
	{"gradients", 0, sizeof(struct blocks)},
	{"optimizer", 0, 2 * sizeof(struct blocks)},
};

static void cut_param(struct rt_param *param, const struct cut *cut)
{
	param->weight = &cut->places[0];
	param->gradient = &cut->places[1];
	param->moment1 = &cut->places[2];
	param->moment2 = &cut->places[3];
	param->local_rows = cut->local_rows;
	param->local_columns = param->columns > 0 ? cut->local_columns : 0;
	param->row_group = cut->by_rows ? GROUP_ROWS : -1;
	param->column_group = cut->by_columns ? GROUP_COLUMNS : -1;
}

int main(int argc, char **argv)
{
	static struct rt_param cut_params[PARAMS];
	struct rt_role cut_role = role;
	struct rt_plan cut_plan = plan;
	memcpy(cut_params, params, sizeof params);
	for (int i = 0; i < PARAMS; i++)
		cut_param(&cut_params[i], &cuts[i]);
	cut_role.arena = sizeof(struct cut_arena);
	cut_role.start = gather;
	cut_role.forward = cut_forward;
	cut_role.update = cut_update;
	if (LOGITS_CUT) {
		cut_role.logits = &place_cut_logits;
		cut_role.logits_columns = LOGITS;
		cut_role.logits_group = GROUP_ROWS;
	}
	cut_role.items = cut_items;
	cut_role.nitems = 3;
	cut_plan.axes = cut_axes;
	cut_plan.naxes = 3;
	cut_plan.ranks = RANKS * ROW_PARTS * COLUMN_PARTS;
	cut_plan.roles = &cut_role;
	cut_plan.groups = cut_groups;
	cut_plan.ngroups = 5;
	cut_plan.param = cut_params;
	return rt_main(argc, argv, &cut_plan);
}
