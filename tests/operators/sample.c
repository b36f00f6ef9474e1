/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <stdlib.h>

double sample_uniform(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = *state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

bool sample_padding(const struct graph *graph, struct dims dims, uint64_t i)
{
	for (uint32_t k = dims.n; k-- > 0;) {
		const struct dim *dim = &graph->model->dims[dims.at[k]];
		if (i % dim->padded >= dim->size)
			return true;
		i /= dim->padded;
	}
	return false;
}

struct sample_param sample_param(const struct interpret *in, uint32_t param)
{
	const struct param *p = &in->program->graph->params[param];
	const struct param_buffers *buffers = &in->program->params[param];
	struct sample_param sample = {.param = p,
				      .buffers = buffers,
				      .dims = p->rows,
				      .elements = in->program->buffers[buffers->weight].elements,
				      .layers = p->layers};
	for (uint32_t k = 0; k < p->columns.n; k++)
		sample.dims.at[sample.dims.n++] = p->columns.at[k];
	return sample;
}

void sample_weights(struct interpret *in, uint64_t seed)
{
	const struct graph *graph = in->program->graph;
	for (uint32_t k = 0; k < graph->nparams; k++) {
		struct sample_param p = sample_param(in, k);
		double middle = p.param->init == PARAM_ONE;
		for (uint64_t i = 0; i < p.layers * p.elements; i++) {
			struct interpret_at at = {.layer = (int64_t)(i / p.elements)};
			double value = middle + 1.4 * (sample_uniform(&seed) - 0.5);
			if (sample_padding(graph, p.dims, i % p.elements))
				value = 0;
			interpret_set(in, p.buffers->weight, at, i % p.elements, value);
		}
	}
}

struct sample_batch sample_batch(const struct plan *plan, uint64_t seed)
{
	int64_t n = plan->train.global_batch.i * plan->train.seq_len.i;
	const struct model *model = plan->model;
	double vocab = (double)model->dims[model->vocab].size;
	struct sample_batch batch = {.n = n};
	batch.tokens = malloc((size_t)n * sizeof *batch.tokens);
	batch.targets = malloc((size_t)n * sizeof *batch.targets);
	for (int64_t i = 0; i < n; i++) {
		batch.tokens[i] = (int32_t)(vocab * sample_uniform(&seed));
		batch.targets[i] = (int32_t)(vocab * sample_uniform(&seed));
		if (sample_uniform(&seed) < 0.25)
			batch.targets[i] = -1 - batch.targets[i];
		batch.counted += batch.targets[i] >= 0;
	}
	return batch;
}

void sample_free(struct sample_batch *batch)
{
	free(batch->tokens);
	free(batch->targets);
}
