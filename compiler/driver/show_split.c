/* SPDX-License-Identifier: Apache-2.0 */
/* planc show split: each weight as a rank holds it, [dim size@factor, ...]; gradients and state of
 * the optimizer; the collectives of the parts of a turn, and those of a step. */
#include "driver/show.h"

#include <string.h>

#include "base/num.h"
#include "driver/columns.h"
#include "judge/traffic.h"

/* The node takes rows of this weight. */
static bool looks_up(const struct graph_node *node, struct tensor_id weight)
{
	bool found = false;

	for (uint32_t k = 0; k < node->nin; k++)
		found |= node->in[k].at == weight.at;
	return found && node->op == OP_lookup;
}

/* Dims in the order in which the architecture writes them: `A -> B` of linear and lookup. */
static struct dims written_dims(const struct graph *graph, uint32_t param)
{
	const struct param *p = &graph->params[param];
	struct dims first = p->columns, second = p->rows;

	for (uint32_t i = 0; i < graph->nnodes; i++)
		if (looks_up(&graph->nodes[i], p->weight)) {
			first = p->rows;
			second = p->columns;
		}
	for (uint32_t i = 0; i < second.n; i++)
		first.at[first.n++] = second.at[i];
	return first;
}

/* Factors that cut a dim of a weight. */
static uint32_t cuts_of(const struct program *program, uint32_t buffer, uint32_t dim)
{
	return spread_cuts(&program->buffers[buffer].spread, &program->flow->factors, dim);
}

static const char *dims_text(const struct show *show, const struct program *p, uint32_t param)
{
	struct dims dims = written_dims(p->graph, param);
	const char *text = "";

	for (uint32_t i = 0; i < dims.n; i++) {
		const struct dim *dim = &p->graph->model->dims[dims.at[i]];
		uint32_t cut = cuts_of(p, p->params[param].weight, dims.at[i]);

		text = arena_text(show->arena, "%s%s%s %llu%s%s", text, i ? ", " : "",
				  dim->name->text, (unsigned long long)dim->padded, cut ? "@" : "",
				  show_factors(&p->flow->factors, cut, "*", show->arena));
	}
	return arena_text(show->arena, "[%s]", text);
}

/* Factors of more than one rank that tell ranks of a stage apart. */
static uint32_t factors_here(const struct program *p)
{
	const struct factors *factors = &p->flow->factors;
	uint32_t mask = 0;

	for (uint32_t i = 0; i < factors->n; i++)
		if (factors->at[i].size > 1 && !factors->at[i].pipeline)
			mask |= 1u << i;
	return mask;
}

static uint32_t cut_of_all(const struct program *p, uint32_t buffer)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < p->graph->model->ndims; i++)
		mask |= cuts_of(p, buffer, i);
	return mask & factors_here(p);
}

static const char *word(const struct show *show, const struct program *p, const char *text,
			const char *what, uint32_t mask)
{
	if (!mask)
		return text;
	return arena_text(show->arena, "%s%s%s %s", text, *text ? ", " : "", what,
			  show_factors(&p->flow->factors, mask, " ", show->arena));
}

/* "cut tp, flat dp": ranks of the factors hold other parts; "copy dp": the same. */
static const char *held_text(const struct show *show, const struct program *p, uint32_t buffer)
{
	uint32_t cut = cut_of_all(p, buffer), flat = p->buffers[buffer].flat & factors_here(p);
	const char *text = word(show, p, "", "cut", cut);

	text = word(show, p, text, "flat", flat);
	return word(show, p, text, "copy", factors_here(p) & ~(cut | flat));
}

/* The path of a weight is its name in a checkpoint; a bias says so. */
static const char *path_of(const struct show *show, const struct param *param)
{
	static const char suffix[] = ".weight";
	size_t length = strlen(param->path), tail = sizeof suffix - 1;

	if (length > tail && !strcmp(param->path + length - tail, suffix))
		length -= tail;
	return arena_copy(show->arena, param->path, length);
}

static void add_param(const struct show *show, const struct program *p, uint32_t param,
		      struct columns *table)
{
	const struct buffer *b = &p->buffers[p->params[param].weight];
	const char *copies = p->graph->params[param].region == REGION_REPEAT
				     ? arena_text(show->arena, "x %llu",
						  (unsigned long long)b->layers)
				     : "";

	columns_row(table, path_of(show, &p->graph->params[param]), graph_type_name(b->type),
		    dims_text(show, p, param), num_bytes(show->arena, b->bytes, 1), copies,
		    held_text(show, p, p->params[param].weight));
}

/* Bytes, and the factors over which slices lie, of all gradients or of the optimizer's state. */
struct state {
	struct num bytes;
	uint32_t flat;
	const struct buffer *one;
};

static void add_state(const struct program *p, uint32_t buffer, struct state *state)
{
	const struct buffer *b;
	struct num copies;

	if (buffer == NO_ID)
		return;
	b = &p->buffers[buffer];
	copies = num_times(num_times(num_from(b->bytes), b->layers), b->slots);
	state->bytes = num_plus(state->bytes, num_times(copies, b->levels));
	state->flat |= b->flat;
	state->one = b;
}

static struct state gradients_of(const struct program *p)
{
	struct state state = {.bytes = num_from(0)};

	for (uint32_t i = 0; i < p->graph->nparams; i++)
		for (uint32_t k = 0; p->params[i].weight != NO_ID && k < p->graph->params[i].sites;
		     k++)
			add_state(p, p->params[i].gradient[k], &state);
	return state;
}

static struct state optimizer_of(const struct program *p)
{
	struct state state = {.bytes = num_from(0)};

	for (uint32_t i = 0; i < p->graph->nparams; i++) {
		if (p->params[i].weight == NO_ID)
			continue;
		add_state(p, p->params[i].master, &state);
		add_state(p, p->params[i].moment1, &state);
		add_state(p, p->params[i].moment2, &state);
	}
	return state;
}

static void add_state_row(const struct show *show, const struct program *p, const char *name,
			  const struct state *state, struct columns *table)
{
	const char *what = "of all of the above";

	if (state->flat)
		what = arena_text(show->arena, "%s, flat over %s", what,
				  show_factors(&p->flow->factors, state->flat, " * ", show->arena));
	if (state->one)
		columns_row(table, name, graph_type_name(state->one->type), what,
			    num_bytes(show->arena, state->bytes.value, 1), "", "");
}

/* Collectives of one kind over one group in a segment. */
struct call_count {
	uint32_t kind, group, count;
	bool once; /* of a step only, not of each micro-batch */
};

struct call_counts {
	struct call_count *at;
	uint32_t n, room;
};

static void count(const struct show *show, struct call_counts *counts, const struct step *step)
{
	uint32_t i = 0;

	if (step->kind != STEP_COLLECTIVE || step->collective == COLLECTIVE_SLICE)
		return;
	while (i < counts->n && (counts->at[i].kind != step->collective ||
				 counts->at[i].group != step->group ||
				 counts->at[i].once != step->first_only))
		i++;
	if (i == counts->n)
		vec_push(show->arena, counts,
			 (struct call_count){step->collective, step->group, 0, step->first_only});
	counts->at[i].count++;
}

/* Of all segments of a phase and region; in a layer they are those of one layer. */
static struct call_counts counts_of(const struct show *show, const struct program *p,
				    enum phase phase, enum region region)
{
	struct call_counts counts = {0};

	for (uint32_t s = 0; s < p->nsegments; s++) {
		const struct segment *segment = &p->segments[s];

		for (uint32_t i = 0; i < segment->nsteps; i++)
			if (segment->phase == phase && segment->region == region)
				count(show, &counts, &segment->steps[i]);
	}
	return counts;
}

enum { COUNTS_A_LINE = 3 };

/* "all_gather tp 2, reduce_scatter tp 2": a line's worth from `first` on. */
static const char *counts_text(const struct show *show, const struct program *p,
			       const struct call_counts *counts, uint32_t first)
{
	const char *text = "";

	for (uint32_t i = first; i < counts->n && i < first + COUNTS_A_LINE; i++) {
		const struct call_count *one = &counts->at[i];

		text = arena_text(show->arena, "%s%s%s %s %u%s", text, i > first ? ", " : "",
				  traffic_kind(one->kind), p->groups[one->group].name->text,
				  one->count, one->once ? " a step" : "");
	}
	return text;
}

static const char *const region_names[REGIONS] = {"before", "layer", "after"};

static void add_counts(const struct show *show, const struct program *p, const char *when,
		       enum phase phase, enum region region, struct columns *table)
{
	static const char *const phases[PHASES] = {"", "forward", "backward", ""};
	struct call_counts counts = counts_of(show, p, phase, region);

	for (uint32_t i = 0; i < counts.n; i += COUNTS_A_LINE)
		columns_row(table, i ? "" : when, i ? "" : phases[phase],
			    counts_text(show, p, &counts, i));
}

static void text_collectives(const struct show *show, const struct program *p)
{
	static const char *const names[REGIONS] = {"  before the layers", "  a layer",
						   "  after the layers"};
	struct columns table = columns_new(show->arena, "lll");

	for (uint32_t r = 0; r < REGIONS; r++)
		for (enum phase phase = PHASE_FORWARD; phase <= PHASE_BACKWARD; phase++)
			if (p->roles[0].has[r])
				add_counts(show, p, names[r], phase, r, &table);
	add_counts(show, p, "  a step", PHASE_UPDATE, REGION_BEFORE, &table);
	add_counts(show, p, "  a step and layer", PHASE_UPDATE, REGION_REPEAT, &table);
	if (!table.cells.n)
		return;
	text_add(show->out, "collectives of a micro-batch, of a step\n");
	columns_print(&table, show->out);
}

static void show_split_text(const struct show *show, const struct program *p)
{
	struct columns table = columns_new(show->arena, "lllrll");
	struct state gradients = gradients_of(p), optimizer = optimizer_of(p);

	text_add(show->out, "%s", show_rank(show));
	if (p->stages > 1)
		text_add(show->out, ", stage %u, layers %s", p->stage,
			 show_layers(&p->roles[0], show->arena));
	text_add(show->out, "\n");
	for (uint32_t i = 0; i < p->graph->nparams; i++)
		if (p->params[i].weight != NO_ID)
			add_param(show, p, i, &table);
	add_state_row(show, p, "gradients", &gradients, &table);
	add_state_row(show, p, "optimizer", &optimizer, &table);
	columns_print(&table, show->out);
	text_collectives(show, p);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_factors(const struct show *show, const struct program *p, const char *key,
			 uint32_t mask)
{
	json_list(show->json, key);
	for (uint32_t i = 0; i < p->flow->factors.n; i++)
		if (mask >> i & 1)
			json_text(show->json, NULL, p->flow->factors.at[i].name->text);
	json_end(show->json);
}

static void json_param(const struct show *show, const struct program *p, uint32_t param)
{
	struct dims dims = written_dims(p->graph, param);
	uint32_t buffer = p->params[param].weight;
	const struct buffer *b = &p->buffers[buffer];

	json_object(show->json, NULL);
	json_text(show->json, "path", path_of(show, &p->graph->params[param]));
	json_text(show->json, "type", graph_type_name(b->type));
	json_list(show->json, "dims");
	for (uint32_t i = 0; i < dims.n; i++) {
		const struct dim *dim = &p->graph->model->dims[dims.at[i]];

		json_object(show->json, NULL);
		json_text(show->json, "name", dim->name->text);
		json_number(show->json, "size", dim->padded);
		json_factors(show, p, "cut", cuts_of(p, buffer, dims.at[i]));
		json_end(show->json);
	}
	json_end(show->json);
	json_factors(show, p, "cut", cut_of_all(p, buffer));
	json_factors(show, p, "flat", b->flat);
	json_number(show->json, "bytes", b->bytes);
	json_number(show->json, "copies", b->layers);
	json_end(show->json);
}

static void json_state(const struct show *show, const struct program *p, const char *key,
		       const struct state *state)
{
	json_object(show->json, key);
	json_text(show->json, "type", state->one ? graph_type_name(state->one->type) : "");
	json_number(show->json, "bytes", state->bytes.value);
	json_factors(show, p, "flat", state->flat);
	json_end(show->json);
}

static void json_counts(const struct show *show, const struct program *p, enum phase phase,
			enum region region)
{
	static const char *const phases[PHASES] = {"init", "forward", "backward", "update"};
	struct call_counts counts = counts_of(show, p, phase, region);

	for (uint32_t i = 0; i < counts.n; i++) {
		json_object(show->json, NULL);
		json_text(show->json, "phase", phases[phase]);
		json_text(show->json, "region", region_names[region]);
		json_text(show->json, "kind", traffic_kind(counts.at[i].kind));
		json_text(show->json, "group", p->groups[counts.at[i].group].name->text);
		json_number(show->json, "count", counts.at[i].count);
		json_bool(show->json, "once_a_step", counts.at[i].once || phase == PHASE_UPDATE);
		json_end(show->json);
	}
}

static void show_split_json(const struct show *show, const struct program *p)
{
	struct state gradients = gradients_of(p), optimizer = optimizer_of(p);

	show_rank_json(show);
	json_list(show->json, "params");
	for (uint32_t i = 0; i < p->graph->nparams; i++)
		if (p->params[i].weight != NO_ID)
			json_param(show, p, i);
	json_end(show->json);
	json_state(show, p, "gradients", &gradients);
	json_state(show, p, "optimizer", &optimizer);
	json_list(show->json, "collectives");
	for (enum phase phase = PHASE_FORWARD; phase < PHASES; phase++)
		for (uint32_t r = 0; r < REGIONS; r++)
			json_counts(show, p, phase, r);
	json_end(show->json);
}

void show_split(const struct show *show)
{
	const struct program *p =
		ranks_program(show->head, ranks_stage(show->head, show->rank));

	if (show->json)
		show_split_json(show, p);
	else
		show_split_text(show, p);
}
