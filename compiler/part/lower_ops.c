/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes to steps: which kernel row computes an operator, over how many rows, with which arguments.
 * The order of arguments is that of runtime/include/rt/kernels.def. */
#include "part/lower.h"

#include "base/bug.h"
#include "base/num.h"
#include "rt/workspace.h"

typedef void lower_rule(struct lower *l, const struct graph_node *node);

static struct dims dims_of(const struct lower *l, struct tensor_id t)
{
	return l->graph->tensors[t.at].dims;
}

static enum rt_type type_of(const struct lower *l, struct tensor_id t)
{
	return l->graph->tensors[t.at].type;
}

/* Rows of `row` in each block, as kernels.def says. */
static int64_t row_block(enum rt_row row)
{
	static const int64_t blocks[] = {
#define LIB(name) 0,
#define LOOP(name, block, ins, outs, sizes, scalars) block,
#include "rt/kernels.def"
#undef LIB
#undef LOOP
	};
	return blocks[row];
}

static struct step *kernel(struct lower *l, enum rt_row row, struct tensor_id typed,
			   struct size rows)
{
	return step_new(l, row, type_of(l, typed), rows);
}

static void lower_elements(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	struct size rows = size_in(l, node->out[0], dims_of(l, node->out[0]));
	step_operands(l, kernel(l, row, node->out[0], rows), node);
}

#define ELEMENTS(name)                                                                             \
	static void lower_##name(struct lower *l, const struct graph_node *node)                   \
	{                                                                                          \
		lower_elements(l, node, RT_ROW_##name);                                            \
	}
ELEMENTS(gelu)
ELEMENTS(gelu_erf)
ELEMENTS(silu)
ELEMENTS(relu)
ELEMENTS(gelu_backward)
ELEMENTS(gelu_erf_backward)
ELEMENTS(silu_backward)
ELEMENTS(relu_backward)

/* A table whose rows are cut: sizes go on with the rows here, and the number of the first. */
static void part_of_table(struct lower *l, struct step *step, struct tensor_id table,
			  const struct graph_node *node)
{
	struct size here = size_in(l, table, node->from);
	uint32_t cuts = 0;
	for (uint32_t i = 0; i < here.dims.n; i++)
		cuts |= here.cuts[i];
	if (cuts == 0)
		return;
	step->row = step->row == RT_ROW_lookup ? RT_ROW_lookup_part : RT_ROW_lookup_part_backward;
	step_size(step, here);
	step_size(step, size_index(l, here));
}

static void lower_lookup(struct lower *l, const struct graph_node *node)
{
	struct size rows = size_in(l, node->in[0], dims_of(l, node->in[0]));
	struct step *step = kernel(l, RT_ROW_lookup, node->out[0], rows);
	step_operands(l, step, node);
	step_size(step, size_in(l, node->in[1], node->to));
	step_size(step, size_logical(l, node->from));
	part_of_table(l, step, node->in[1], node);
}

static void lower_lookup_backward(struct lower *l, const struct graph_node *node)
{
	struct step *step =
		kernel(l, RT_ROW_lookup_backward, node->in[1], size_logical(l, node->from));
	step_operands(l, step, node);
	step_size(step, size_in(l, node->out[0], node->to));
	step_size(step, size_in(l, node->in[0], dims_of(l, node->in[0])));
	part_of_table(l, step, node->out[0], node);
	if (step->row == RT_ROW_lookup_part_backward) {
		step->rows = size_in(l, node->out[0], node->from);
		step->sizes[2] = size_logical(l, node->from);
	}
}

/* c[m, n] = a b; k is summed over. The scratch buffer grows to the largest that any product needs.
 */
static struct step *matmul(struct lower *l, struct tensor_id a, struct tensor_id b,
			   struct tensor_id bias, struct tensor_id c, const struct size size[3],
			   uint32_t flags)
{
	struct step *step = kernel(l, RT_ROW_matmul, a, size_number(1));
	step->flags = flags | (type_of(l, c) != type_of(l, a) ? STEP_WIDE : 0);
	step_read(l, step, a);
	step_read(l, step, b);
	if (bias.at == NO_ID)
		step_absent(step);
	else
		step_read(l, step, bias);
	step_write(l, step, c);
	for (int i = 0; i < 3; i++)
		step_size(step, size[i]);
	int64_t threads = l->plan->device.cores.i > 1 ? l->plan->device.cores.i : 1;
	uint64_t bytes = rt_matmul_workspace_threads(
		step->type, (uint64_t)size[0].value, (uint64_t)size[1].value,
		(uint64_t)size[2].value, (uint64_t)threads);
	struct buffer *workspace = &l->buffers.at[l->workspace];
	uint64_t words = bytes / 8 + (bytes % 8 != 0);
	if (words > workspace->elements) {
		workspace->elements = words;
		workspace->bytes = num_times(num_from(words), 8).value;
	}
	step_use(l, step, l->workspace, true);
	struct num flops = num_times(num_from((uint64_t)size[0].value), (uint64_t)size[1].value);
	step->flops = num_times(num_times(flops, (uint64_t)size[2].value), 2).value;
	return step;
}

static void lower_linear(struct lower *l, const struct graph_node *node)
{
	struct dims x = dims_of(l, node->in[0]);
	struct size size[3] = {size_in(l, node->in[0], dims_head(x, x.n - node->from.n)),
			       size_in(l, node->in[1], node->to),
			       size_in(l, node->in[1], node->from)};
	struct step *step = matmul(l, node->in[0], node->in[1], node->in[2], node->out[0], size,
				   STEP_TRANS_B);
	if (node->in[2].at == NO_ID)
		return;
	step->bias_by = spread_mask(&l->flow->spreads[node->out[0].at], SPREAD_PARTIAL);
	if (step->bias_by)
		group_of(l, step->bias_by);
}

static void lower_linear_input(struct lower *l, const struct graph_node *node)
{
	const struct tensor_id none = {NO_ID};
	struct dims dy = dims_of(l, node->in[0]);
	struct size size[3] = {size_in(l, node->in[0], dims_head(dy, dy.n - node->to.n)),
			       size_in(l, node->in[1], node->from),
			       size_in(l, node->in[1], node->to)};
	matmul(l, node->in[0], node->in[1], none, node->out[0], size,
	       node->adds ? STEP_ADDS : 0);
}

static void lower_linear_weight(struct lower *l, const struct graph_node *node)
{
	const struct tensor_id none = {NO_ID};
	struct dims dy = dims_of(l, node->in[0]);
	struct size size[3] = {size_in(l, node->out[0], node->to),
			       size_in(l, node->out[0], node->from),
			       size_in(l, node->in[0], dims_head(dy, dy.n - node->to.n))};
	matmul(l, node->in[0], node->in[1], none, node->out[0], size, STEP_TRANS_A | STEP_ADDS);
}

/* Blocks of `row` over these rows. */
static int64_t blocks_of(enum rt_row row, struct size rows)
{
	int64_t block = row_block(row);
	return rows.value / block + (rows.value % block != 0);
}

/* Sums of blocks to an accumulator, by the balanced tree. */
static void tree(struct lower *l, uint32_t partials, int64_t blocks, struct size columns,
		 struct tensor_id to)
{
	struct step *step = kernel(l, RT_ROW_tree_rows, to, columns);
	step_use(l, step, partials, false);
	step_write(l, step, to);
	step_size(step, size_number(blocks));
	step_size(step, columns);
}

static uint32_t partials_of(struct lower *l, const char *what, int64_t blocks,
			    struct size columns)
{
	struct size size = columns;
	uint64_t value = 0;
	if (!num_mul((uint64_t)blocks, (uint64_t)columns.value, &value) || value > INT64_MAX)
		l->overflow = true;
	size.value = (int64_t)value;
	return buffer_scratch(l, what, size, l->program->statistics);
}

static void lower_linear_bias(struct lower *l, const struct graph_node *node)
{
	struct dims dy = dims_of(l, node->in[0]);
	struct size rows = size_in(l, node->in[0], dims_head(dy, dy.n - node->to.n));
	struct size columns = size_in(l, node->out[0], node->to);
	int64_t blocks = blocks_of(RT_ROW_columns, rows);
	uint32_t partials = partials_of(l, "partials", blocks, columns);
	struct step *step = kernel(l, RT_ROW_columns, node->in[0], rows);
	step_read(l, step, node->in[0]);
	step_use(l, step, partials, true);
	step_size(step, columns);
	tree(l, partials, blocks, columns, node->out[0]);
}

static void norm(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	struct dims x = dims_of(l, node->in[0]);
	struct size rows = size_in(l, node->in[0], dims_head(x, x.n - 1));
	struct step *step = kernel(l, row, node->in[0], rows);
	step_operands(l, step, node);
	step_size(step, size_of(l, dims_tail(x, 1), 1));
	step_scalar(step, node->scalar[0]);
}

static void lower_layernorm(struct lower *l, const struct graph_node *node)
{
	norm(l, node, RT_ROW_layernorm);
}

static void lower_rmsnorm(struct lower *l, const struct graph_node *node)
{
	norm(l, node, RT_ROW_rmsnorm);
}

static void norm_backward(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	static const char *const names[] = {"", "partials", "bias_partials"};
	struct dims x = dims_of(l, node->in[0]);
	struct size rows = size_in(l, node->in[0], dims_head(x, x.n - 1));
	struct size columns = size_of(l, dims_tail(x, 1), 1);
	int64_t blocks = blocks_of(row, rows);
	uint32_t partials[3] = {0};
	for (uint32_t i = 1; i < node->nout; i++)
		partials[i] = partials_of(l, names[i], blocks, columns);
	struct step *step = kernel(l, row, node->in[0], rows);
	for (uint32_t i = 0; i < node->nin; i++)
		step_read(l, step, node->in[i]);
	step_write(l, step, node->out[0]);
	for (uint32_t i = 1; i < node->nout; i++)
		step_use(l, step, partials[i], true);
	step_size(step, columns);
	for (uint32_t i = 1; i < node->nout; i++)
		tree(l, partials[i], blocks, columns, node->out[i]);
}

static void lower_layernorm_backward(struct lower *l, const struct graph_node *node)
{
	norm_backward(l, node, RT_ROW_layernorm_backward);
}

static void lower_rmsnorm_backward(struct lower *l, const struct graph_node *node)
{
	norm_backward(l, node, RT_ROW_rmsnorm_backward);
}

static void lower_rope_table(struct lower *l, const struct graph_node *node)
{
	struct dims dims = dims_of(l, node->out[0]);
	struct step *step =
		kernel(l, RT_ROW_rope_table, node->out[0], size_of(l, dims_head(dims, 1), 1));
	step_operands(l, step, node);
	step_size(step, size_of(l, node->from, 1));
	step_size(step, size_number(0));
	for (int i = 0; i < 5; i++)
		step_scalar(step, node->scalar[i]);
}

/* Rows are the tokens of all samples; every dim between them and the one that turns is a head. */
static void rotate(struct lower *l, const struct graph_node *node, double sign)
{
	struct dims x = dims_of(l, node->in[0]), heads = {0};
	uint32_t tokens = 0;
	while (x.at[tokens] != l->model->tokens)
		tokens++;
	for (uint32_t i = tokens + 1; i + 1 < x.n; i++)
		heads.at[heads.n++] = x.at[i];
	struct size rows = size_in(l, node->in[0], dims_head(x, tokens + 1));
	struct step *step = kernel(l, RT_ROW_rope, node->in[0], rows);
	step_operands(l, step, node);
	step_size(step, size_of(l, (struct dims){1, {l->model->tokens}}, 1));
	step_size(step, size_in(l, node->in[0], heads));
	step_size(step, size_of(l, dims_tail(x, 1), 1));
	step_scalar(step, sign);
}

static void lower_rope(struct lower *l, const struct graph_node *node)
{
	rotate(l, node, 1);
}

static void lower_rope_backward(struct lower *l, const struct graph_node *node)
{
	rotate(l, node, -1);
}

/* After the operands: control words for the mask, sizes batch, tokens, heads, kv_heads, head, and
 * where the mask of these heads begins; scalars: rate. `products`: of queries by keys by head. */
static void attend_sizes(struct lower *l, struct step *step, const struct graph_node *node,
			 uint64_t products)
{
	struct dims q = dims_of(l, node->in[0]), k = dims_of(l, node->in[1]);
	if (node->scalar[0] > 0)
		step_use(l, step, l->control, false);
	else
		step_absent(step);
	struct dims heads = {1, {q.at[q.n - 2]}}, kv_heads = {1, {k.at[k.n - 2]}};
	step_size(step, size_of(l, dims_head(q, q.n - 3), 1));
	step_size(step, size_of(l, (struct dims){1, {q.at[q.n - 3]}}, 1));
	step_size(step, size_in(l, node->in[0], heads));
	step_size(step, size_in(l, node->in[1], kv_heads));
	step_size(step, size_of(l, dims_tail(q, 1), 1));
	step_size(step, size_number(node->stream));
	step_size(step, size_index(l, size_in(l, node->in[0], heads)));
	step_size(step, size_of(l, heads, 1));
	step_scalar(step, node->scalar[0]);
	step->stream_by_layer = node->scalar[0] > 0 && node->region == REGION_REPEAT;
	step->flags = node->causal ? STEP_CAUSAL : 0;
	struct num flops = num_from((uint64_t)step->sizes[0].value);
	for (int i = 1; i < 5; i++)
		if (i != 3)
			flops = num_times(flops, (uint64_t)step->sizes[i].value);
	flops = num_times(flops, (uint64_t)step->sizes[1].value);
	step->flops = num_times(flops, 2 * products).value;
}

static void lower_attend(struct lower *l, const struct graph_node *node)
{
	struct step *step = kernel(l, RT_ROW_attend_forward, node->in[0], size_number(1));
	step_operands(l, step, node);
	attend_sizes(l, step, node, 2);
}

static void lower_attend_backward(struct lower *l, const struct graph_node *node)
{
	struct step *step = kernel(l, RT_ROW_attend_backward, node->in[0], size_number(1));
	step_operands(l, step, node);
	attend_sizes(l, step, node, 5);
}

/* Uses: q, k, v, y, probabilities, dropped, mask, scores. */
static void lower_attend_stored(struct lower *l, const struct graph_node *node)
{
	struct tensor_id kept = node->out[1];
	uint32_t scores = buffer_scratch(l, "scores", size_in(l, kept, dims_of(l, kept)),
					 type_of(l, kept));
	struct step *step = kernel(l, RT_ROW_attend_stored_forward, node->in[0], size_number(1));
	step_operands(l, step, node);
	step_use(l, step, scores, true);
	attend_sizes(l, step, node, 2);
}

static void lower_attend_stored_backward(struct lower *l, const struct graph_node *node)
{
	struct step *step = kernel(l, RT_ROW_attend_stored_backward, node->in[0], size_number(1));
	step_operands(l, step, node);
	attend_sizes(l, step, node, 4);
}

/* Dims in front that number rows. */
static uint32_t row_dims(const struct lower *l, struct dims x)
{
	uint32_t rows = 0;
	while (rows < x.n && (x.at[rows] == l->model->batch || x.at[rows] == l->model->tokens))
		rows++;
	return rows;
}

/* The one dim within rows that is cut; x.n: none. */
static uint32_t cut_in_rows(struct lower *l, struct tensor_id t, struct dims x, uint32_t rows)
{
	uint32_t found = x.n;
	for (uint32_t i = rows; i < x.n; i++) {
		if (!spread_cuts(&l->flow->spreads[t.at], &l->flow->factors, x.at[i]))
			continue;
		if (found < x.n)
			lower_refuse(l, "dropout of a tensor that is cut along two dims");
		found = i;
	}
	return found;
}

/* Elements before this rank's rows, which are cut as one run. */
static struct size rows_before(struct lower *l, struct tensor_id t, struct dims x, uint32_t rows)
{
	struct size before = size_of(l, x, 1), here = size_in(l, t, dims_head(x, rows));
	for (uint32_t i = 0; i < rows; i++) {
		before.cuts[i] = here.cuts[i];
		before.value /= (int64_t)factors_ranks(&l->flow->factors, here.cuts[i]);
	}
	return size_index(l, before);
}

/* A mask goes by the element's place in the whole tensor: rows may be cut, and a dim in them. */
static void part_of_mask(struct lower *l, struct step *step, struct tensor_id t)
{
	struct dims x = dims_of(l, t);
	uint32_t rows = row_dims(l, x), cut = cut_in_rows(l, t, x, rows);
	bool apart = spread_cuts(&l->flow->spreads[t.at], &l->flow->factors, l->model->tokens);
	if (cut == x.n && !apart)
		return;
	uint32_t inner = cut < x.n ? x.n - cut : x.n - rows;
	struct size here = size_in(l, t, dims_tail(x, inner));
	step->row = RT_ROW_dropout_part;
	step_size(step, here);
	step_size(step, size_of(l, dims_tail(x, inner), 1));
	step_size(step, size_index(l, here));
	step_size(step, apart ? rows_before(l, t, x, rows) : size_number(0));
}

static void lower_dropout(struct lower *l, const struct graph_node *node)
{
	struct dims x = dims_of(l, node->in[0]);
	struct step *step = kernel(l, RT_ROW_dropout, node->in[0], size_in(l, node->in[0], x));
	step_read(l, step, node->in[0]);
	step_use(l, step, l->control, false);
	step_write(l, step, node->out[0]);
	step_size(step, size_number(node->stream));
	/* what all samples share has one mask: no element of it belongs to a sample */
	if (x.at[0] == l->model->batch)
		step_size(step, size_of(l, dims_tail(x, x.n - 1), 1));
	else
		step_size(step, size_number(0));
	step_scalar(step, node->scalar[0]);
	step->stream_by_layer = node->region == REGION_REPEAT;
	part_of_mask(l, step, node->in[0]);
}

static void lower_scale(struct lower *l, const struct graph_node *node)
{
	struct size rows = size_in(l, node->out[0], dims_of(l, node->out[0]));
	struct step *step = kernel(l, RT_ROW_scale, node->out[0], rows);
	step_operands(l, step, node);
	step_scalar(step, node->scalar[0]);
}

static lower_rule *const rules[] = {
#define OP(name, ins, outs, gradient, backward, doc) lower_##name,
#include "graph/ops.def"
#undef OP
#define MEND(name, ins, outs, doc) lower_##name,
#include "part/mends.def"
#undef MEND
};

void lower_node(struct lower *l, uint32_t node)
{
	l->node = node;
	l->span = l->graph->nodes[node].span;
	rules[l->graph->nodes[node].op](l, &l->graph->nodes[node]);
}
