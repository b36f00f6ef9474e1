/* SPDX-License-Identifier: Apache-2.0 */
/* The loss: over whole rows of logits, or over a vocabulary of which each rank has a part. */
#include "part/lower.h"

static struct dims dims_of(const struct lower *l, struct tensor_id t)
{
	return l->graph->tensors[t.at].dims;
}

static struct step *kernel(struct lower *l, enum rt_row row, struct tensor_id typed,
			   struct size rows)
{
	return step_new(l, row, l->graph->tensors[typed.at].type, rows);
}

/* Adds the loss of each row and the count of valid targets to the sums of the step. */
static void sum_loss(struct lower *l, struct tensor_id loss, struct tensor_id target,
		     struct size rows)
{
	struct step *step = step_new(l, RT_ROW_loss_sum, l->program->compute, size_number(1));
	step_read(l, step, loss);
	step_read(l, step, target);
	step_use(l, step, l->sums, true);
	step_size(step, rows);
}

void lower_cross_entropy(struct lower *l, const struct graph_node *node)
{
	struct dims x = dims_of(l, node->in[0]);
	struct size rows = size_of(l, dims_head(x, x.n - 1), 1);
	struct step *step = kernel(l, RT_ROW_cross_entropy, node->in[0], rows);
	step_operands(l, step, node);
	step_size(step, size_of(l, dims_tail(x, 1), 1));
	step_size(step, size_logical(l, dims_tail(x, 1)));
	sum_loss(l, node->out[1], node->in[1], rows);
}

/* Columns here, columns of the model, the first one here. */
static void vocab_sizes(struct lower *l, struct step *step, struct tensor_id logits)
{
	struct dims x = dims_of(l, logits), vocab = dims_tail(x, 1);
	struct size here = size_in(l, logits, vocab);
	step_size(step, here);
	step_size(step, size_logical(l, vocab));
	step_size(step, size_index(l, here));
}

static void vocab_rows(struct lower *l, const struct graph_node *node, enum rt_row row)
{
	struct dims x = dims_of(l, node->in[0]);
	struct step *step =
		kernel(l, row, node->in[0], size_of(l, dims_head(x, x.n - 1), 1));
	step_operands(l, step, node);
	vocab_sizes(l, step, node->in[0]);
}

void lower_vocab_max(struct lower *l, const struct graph_node *node)
{
	vocab_rows(l, node, RT_ROW_vocab_max);
}

void lower_vocab_sum(struct lower *l, const struct graph_node *node)
{
	vocab_rows(l, node, RT_ROW_vocab_sum);
}

void lower_vocab_loss(struct lower *l, const struct graph_node *node)
{
	struct size rows = size_of(l, dims_of(l, node->out[0]), 1);
	step_operands(l, step_new(l, RT_ROW_vocab_loss, l->program->compute, rows), node);
	sum_loss(l, node->out[1], node->in[3], rows);
}

void lower_cross_entropy_backward(struct lower *l, const struct graph_node *node)
{
	struct dims x = dims_of(l, node->in[0]);
	if (size_in(l, node->in[0], dims_tail(x, 1)).cuts[0]) {
		vocab_rows(l, node, RT_ROW_vocab_backward);
		return;
	}
	struct size rows = size_of(l, dims_head(x, x.n - 1), 1);
	struct step *step = kernel(l, RT_ROW_cross_entropy_backward, node->in[0], rows);
	step_operands(l, step, node);
	step_size(step, size_of(l, dims_tail(x, 1), 1));
	step_size(step, size_logical(l, dims_tail(x, 1)));
}
