/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and segments while they are made; the live range of a temporary follows from its uses. */
#include "part/lower.h"

#include "base/bug.h"
#include "base/num.h"

void lower_refuse(struct lower *l, const char *what)
{
	if (!l->refused)
		diag_add(l->work->diags, l->work->check_only ? N0901 : E0901, l->span,
			 "%s cannot be emitted yet", what);
	l->refused = true;
}

struct dims dims_head(struct dims dims, uint32_t n)
{
	BUG_IF(n > dims.n, "%u dims of %u", n, dims.n);
	dims.n = n;
	return dims;
}

struct dims dims_tail(struct dims dims, uint32_t n)
{
	struct dims tail = {.n = n};
	BUG_IF(n > dims.n, "%u dims of %u", n, dims.n);
	for (uint32_t i = 0; i < n; i++)
		tail.at[i] = dims.at[dims.n - n + i];
	return tail;
}

struct dims dims_join(struct dims a, struct dims b)
{
	BUG_IF(a.n + b.n > DIM_MAX, "a tensor of %u dims", a.n + b.n);
	for (uint32_t i = 0; i < b.n; i++)
		a.at[a.n++] = b.at[i];
	return a;
}

static struct size sized(struct lower *l, struct dims dims, int64_t factor, bool logical)
{
	struct size size = {.dims = dims, .factor = factor, .logical = logical};
	uint64_t value = 0;
	if (!num_mul(graph_elements(l->graph, dims, !logical), (uint64_t)factor, &value) ||
	    value > INT64_MAX) {
		l->overflow = true;
		value = INT64_MAX;
	}
	size.value = (int64_t)value;
	return size;
}

struct size size_of(struct lower *l, struct dims dims, int64_t factor)
{
	return sized(l, dims, factor, false);
}

struct size size_logical(struct lower *l, struct dims dims)
{
	return sized(l, dims, 1, true);
}

struct size size_in(struct lower *l, struct tensor_id t, struct dims dims)
{
	struct size size = sized(l, dims, 1, false);
	const struct spread *spread = &l->flow->spreads[t.at];
	int64_t over = 1;
	for (uint32_t i = 0; i < dims.n; i++) {
		uint32_t cuts = spread_cuts(spread, &l->flow->factors, dims.at[i]);
		size.cuts[i] = (uint16_t)cuts;
		over *= (int64_t)factors_ranks(&l->flow->factors, cuts);
	}
	BUG_IF(!l->overflow && size.value % over, "a part of a tensor with broken elements");
	size.value /= over;
	return size;
}

struct size size_index(struct lower *l, struct size size)
{
	for (uint32_t i = 0; i < size.dims.n; i++)
		size.index_in |= size.cuts[i];
	if (size.index_in)
		group_of(l, size.index_in);
	return size.index_in ? size : size_number(0);
}

struct size size_number(int64_t value)
{
	return (struct size){.factor = value, .value = value};
}

struct step *step_new(struct lower *l, enum rt_row row, enum rt_type type, struct size rows)
{
	struct step step = {
		.kind = STEP_KERNEL,
		.span = l->span,
		.row = row,
		.type = type,
		.node = l->node,
		.rows = rows,
	};
	vec_push(l->work->keep, &l->steps, step);
	return &l->steps.at[l->steps.n - 1];
}

void step_use(struct lower *l, struct step *step, uint32_t buffer, bool write)
{
	struct buffer *b = &l->buffers.at[buffer];
	uint32_t now = l->steps.n - 1;
	struct use use = {
		.buffer = buffer,
		.by_layer = b->layers > 1,
		.by_slot = b->slots > 1,
		.by_level = b->levels > 1,
		.write = write,
	};
	BUG_IF(step->nuses == RT_MAX_IN + RT_MAX_OUT, "a step with too many operands");
	step->uses[step->nuses++] = use;
	if (b->life != LIFE_SEGMENT)
		return;
	if (b->from == NO_ID) {
		b->from = now;
		b->segment = l->segments.n;
	}
	BUG_IF(b->segment != l->segments.n, "`%s` leaves its segment", b->name->text);
	b->to = now;
}

static void step_tensor(struct lower *l, struct step *step, struct tensor_id t, bool write)
{
	struct site site = l->sites[t.at];
	BUG_IF(site.buffer == NO_ID, "`%s` has no buffer", l->graph->tensors[t.at].name->text);
	step_use(l, step, site.buffer, write);
	struct use *use = &step->uses[step->nuses - 1];
	use->layer_plus = site.layer_plus;
	use->by_layer |= site.layer_plus != 0;
}

void step_read(struct lower *l, struct step *step, struct tensor_id t)
{
	step_tensor(l, step, t, false);
}

void step_write(struct lower *l, struct step *step, struct tensor_id t)
{
	step_tensor(l, step, t, true);
}

void step_operands(struct lower *l, struct step *step, const struct graph_node *node)
{
	for (uint32_t i = 0; i < node->nin + node->nout; i++) {
		bool write = i >= node->nin;
		struct tensor_id t = write ? node->out[i - node->nin] : node->in[i];
		if (t.at == NO_ID)
			step_absent(step);
		else
			step_tensor(l, step, t, write);
	}
}

void step_absent(struct step *step)
{
	step->uses[step->nuses++] = (struct use){.buffer = NO_ID};
}

void step_size(struct step *step, struct size size)
{
	BUG_IF(step->nsizes == RT_MAX_SIZE, "a step with too many sizes");
	step->sizes[step->nsizes++] = size;
}

void step_scalar(struct step *step, double scalar)
{
	BUG_IF(step->nscalars == RT_MAX_SCALAR, "a step with too many scalars");
	step->scalars[step->nscalars++] = scalar;
}

uint32_t segment_end(struct lower *l, const char *name, struct span span, enum phase phase,
		     enum region region, bool by_layer)
{
	if (l->steps.n == 0)
		return NO_ID;
	struct segment segment = {
		.name = name_of(l->work->names, name),
		.span = span,
		.phase = phase,
		.region = region,
		.by_layer = by_layer,
		.steps = l->steps.at,
		.nsteps = l->steps.n,
	};
	vec_push(l->work->keep, &l->segments, segment);
	l->steps.at = NULL;
	l->steps.n = l->steps.room = 0;
	return l->segments.n - 1;
}

struct body body_once(struct lower *l, uint32_t segment)
{
	if (segment == NO_ID)
		return (struct body){0};
	struct call *call = ARENA_NEW(l->work->keep, struct call);
	struct sweep *sweep = ARENA_NEW(l->work->keep, struct sweep);
	call->segment = segment;
	*sweep = (struct sweep){.step = 1, .calls = call, .ncalls = 1};
	return (struct body){sweep, 1};
}
