/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include "base/num.h"

static const char *const region_names[] = {"before", "repeat", "after"};

static void print_dims(const struct graph *graph, struct dims dims, struct text *out)
{
	text_add(out, "[");
	for (uint32_t i = 0; i < dims.n; i++)
		text_add(out, "%s%s", i ? ", " : "", graph->model->dims[dims.at[i]].name->text);
	text_add(out, "]");
}

static void print_tensors(const struct graph *graph, const struct tensor_id *ids, uint32_t n,
			  bool types, struct text *out)
{
	for (uint32_t i = 0, some = 0; i < n; i++) {
		if (ids[i].at == NO_ID)
			continue;
		const struct tensor *t = &graph->tensors[ids[i].at];
		text_add(out, "%s%s", some++ ? ", " : "", t->name->text);
		if (types) {
			text_add(out, " %s ", graph_type_name(t->type));
			print_dims(graph, t->dims, out);
		}
	}
}

static void print_node(const struct graph *graph, const struct graph_node *node,
		       const struct work *work, struct text *out)
{
	print_tensors(graph, node->out, node->nout, !node->backward, out);
	text_add(out, " %s %s(", node->adds ? "=+" : "=", op_row(node->op)->name);
	print_tensors(graph, node->in, node->nin, false, out);
	text_add(out, ")  %s\n", sources_where(work->sources, work->scratch, node->span));
}

static void print_params(const struct graph *graph, const struct work *work, struct text *out)
{
	for (uint32_t i = 0; i < graph->nparams; i++) {
		const struct param *p = &graph->params[i];
		text_add(out, "param %s ", p->path);
		print_dims(graph, p->rows, out);
		if (p->columns.n)
			print_dims(graph, p->columns, out);
		text_add(out, " x %llu", (unsigned long long)p->layers);
		if (p->std > 0)
			text_add(out, " std %s", num_double(work->scratch, p->std));
		text_add(out, "%s%s\n", p->decay ? " decays" : "", p->sites > 1 ? " tied" : "");
	}
}

void graph_print(const struct graph *graph, const struct work *work, struct text *out)
{
	int region = -1, backward = -1;
	print_params(graph, work, out);
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		const struct graph_node *node = &graph->nodes[i];
		if ((int)node->region != region || (int)node->backward != backward) {
			region = (int)node->region;
			backward = (int)node->backward;
			text_add(out, "%s %s\n", backward ? "backward" : "forward",
				 region_names[region]);
		}
		text_add(out, "  ");
		print_node(graph, node, work, out);
	}
}
