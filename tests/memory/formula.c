/* SPDX-License-Identifier: Apache-2.0 */
#include "formula.h"

#include <string.h>

const struct types all_types[ALL_TYPES] = {
	{"fp64", 8, 8, 8, 8, 8, 0, false},
	{"fp32", 4, 4, 4, 4, 4, 0, false},
	{"mixed_bf16", 2, 2, 4, 4, 4, 4, false},
	{"mixed_bf16_16b", 2, 2, 4, 2, 4, 4, false},
	{"pure_bf16", 2, 2, 4, 2, 2, 0, true},
};

/* Words of 8 bytes that every stage has: the control block, the exact norm; loss and tokens for
 * each level of lanes. */
enum { CONTROL_WORDS = 16, NORM_WORDS = 48, SUM_WORDS = 2, TENSORS_MOST = 24, FLAT = 64 };

/* ---- tensors of the models ------------------------------------------------------------------ */

struct tensor {
	const char *path;
	enum part part;
	enum cuttable dim;	   /* that `tensor` may cut */
	uint64_t elements; /* of one layer, whole */
	bool tied;	   /* used by the head too */
};

struct tensors {
	struct tensor at[TENSORS_MOST];
	int n;
};

static void add(struct tensors *list, const char *path, enum part part, enum cuttable dim,
		uint64_t elements)
{
	list->at[list->n++] = (struct tensor){path, part, dim, elements, false};
}

static void add_biased(struct tensors *list, const char *path, enum cuttable dim, uint64_t in,
		       uint64_t out, bool made)
{
	add(list, path, LAYER, dim, in * out);
	add(list, path, LAYER, made ? dim : DIM_NONE, out);
}

static void gpt_tensors(const struct described *d, struct tensors *list)
{
	uint64_t e = d->embed, f = d->ffn;
	add(list, "wte", BEFORE, DIM_VOCAB, d->vocab * e);
	list->at[0].tied = d->tied;
	add(list, "wpe", BEFORE, DIM_NONE, d->context * e);
	for (int i = 0; i < 4; i++)
		add(list, "layer.ln", LAYER, DIM_NONE, e);
	for (int i = 0; i < 3; i++)
		add_biased(list, "layer.attn.c_attn", DIM_HEADS, e, e, true);
	add_biased(list, "layer.attn.c_proj", DIM_HEADS, e, e, false);
	add_biased(list, "layer.mlp.c_fc", DIM_FFN, e, f, true);
	add_biased(list, "layer.mlp.c_proj", DIM_FFN, f, e, false);
	add(list, "ln_f", AFTER, DIM_NONE, e);
	add(list, "ln_f", AFTER, DIM_NONE, e);
	if (!d->tied)
		add(list, "lm_head", AFTER, DIM_VOCAB, d->vocab * e);
}

static void llama_tensors(const struct described *d, struct tensors *list)
{
	uint64_t e = d->embed, kv = d->kv_heads * d->head;
	add(list, "model.embed_tokens", BEFORE, DIM_VOCAB, d->vocab * e);
	list->at[0].tied = d->tied;
	add(list, "layer.input_layernorm", LAYER, DIM_NONE, e);
	add(list, "layer.post_attention_layernorm", LAYER, DIM_NONE, e);
	add(list, "layer.self_attn.q_proj", LAYER, DIM_HEADS, e * e);
	add(list, "layer.self_attn.k_proj", LAYER, DIM_KV_HEADS, e * kv);
	add(list, "layer.self_attn.v_proj", LAYER, DIM_KV_HEADS, e * kv);
	add(list, "layer.self_attn.o_proj", LAYER, DIM_HEADS, e * e);
	if (d->qkv_bias) {
		add(list, "layer.self_attn.q_proj", LAYER, DIM_HEADS, e);
		add(list, "layer.self_attn.k_proj", LAYER, DIM_KV_HEADS, kv);
		add(list, "layer.self_attn.v_proj", LAYER, DIM_KV_HEADS, kv);
	}
	for (int i = 0; i < 2 && d->qk_norm; i++)
		add(list, "layer.self_attn.norm", LAYER, DIM_NONE, d->head);
	add(list, "layer.mlp.gate_proj", LAYER, DIM_FFN, e * d->ffn);
	add(list, "layer.mlp.up_proj", LAYER, DIM_FFN, e * d->ffn);
	add(list, "layer.mlp.down_proj", LAYER, DIM_FFN, e * d->ffn);
	add(list, "model.norm", AFTER, DIM_NONE, e);
	if (!d->tied)
		add(list, "lm_head", AFTER, DIM_VOCAB, d->vocab * e);
}

static void braid_tensors(const struct described *d, struct tensors *list)
{
	uint64_t e = d->embed;
	add(list, "table", BEFORE, DIM_VOCAB, d->vocab * e);
	for (int i = 0; i < 3; i++)
		add(list, "layer.norm", LAYER, DIM_NONE, e);
	add(list, "layer.ask", LAYER, DIM_HEADS, e * e);
	add(list, "layer.offer", LAYER, DIM_HEADS, e * e);
	add_biased(list, "layer.hand", DIM_HEADS, e, e, true);
	add(list, "layer.join", LAYER, DIM_HEADS, e * e);
	add(list, "layer.gate", LAYER, DIM_FFN, e * d->ffn);
	add(list, "layer.up", LAYER, DIM_FFN, e * d->ffn);
	add(list, "layer.down", LAYER, DIM_FFN, e * d->ffn);
	add(list, "norm_last", AFTER, DIM_NONE, e);
	add(list, "norm_last", AFTER, DIM_NONE, e);
	add(list, "out", AFTER, DIM_VOCAB, d->vocab * e);
}

static struct tensors tensors_of(const struct described *d)
{
	static void (*const makers[])(const struct described *, struct tensors *) = {
		[GPT] = gpt_tensors, [LLAMA] = llama_tensors, [BRAID] = braid_tensors};
	struct tensors list = {.n = 0};
	makers[d->family](d, &list);
	return list;
}

/* Ranks that share a dim; kv heads that are held several times by fewer. */
static uint64_t parts_of(const struct described *d, enum cuttable dim)
{
	if (dim == DIM_NONE || !(d->cut >> dim & 1))
		return 1;
	return dim == DIM_KV_HEADS ? d->tp / d->copies : d->tp;
}

/* Elements of one layer of a tensor on a rank, before ZeRO. */
static uint64_t local(const struct described *d, const struct tensor *t)
{
	bool left_whole = t->dim == d->whole_dim && strcmp(t->path, d->whole) == 0;
	return left_whole ? t->elements : t->elements / parts_of(d, t->dim);
}

/* ---- stages --------------------------------------------------------------------------------- */

/* Layers of chunk `c` of `n` in the order of the model: the list, else equal runs, the first ones a
 * layer longer. */
static uint64_t chunk_layers(const struct described *d, uint64_t c)
{
	uint64_t n = d->pp * d->chunks;
	return d->is_listed ? d->listed[c] : d->layers / n + (c < d->layers % n);
}

static uint64_t stage_layers(const struct described *d, uint64_t stage)
{
	uint64_t sum = 0;
	for (uint64_t c = 0; c < d->chunks; c++)
		sum += chunk_layers(d, c * d->pp + stage);
	return sum;
}

static uint64_t deepest_chunk(const struct described *d, uint64_t stage)
{
	uint64_t most = 0;
	for (uint64_t c = 0; c < d->chunks; c++)
		if (chunk_layers(d, c * d->pp + stage) > most)
			most = chunk_layers(d, c * d->pp + stage);
	return most;
}

static bool has_part(const struct described *d, uint64_t stage, enum part part)
{
	return part == LAYER || (part == BEFORE && stage == 0) ||
	       (part == AFTER && stage == d->pp - 1);
}

/* A tied weight has two homes. */
static bool is_here(const struct described *d, uint64_t stage, const struct tensor *t)
{
	return has_part(d, stage, t->part) || (t->tied && has_part(d, stage, AFTER));
}

/* ---- slices --------------------------------------------------------------------------------- */

/* What is held of a tensor: all of it; all of it in slices of equal size; a slice of each layer;
 * one slice of all layers. */
enum held { WHOLE, PADDED, LAYER_SLICES, ONE_SLICE };

static uint64_t up(uint64_t n)
{
	return (n + FLAT - 1) / FLAT * FLAT;
}

static uint64_t slice(uint64_t n, uint64_t ranks)
{
	return up((n + ranks - 1) / ranks);
}

static uint64_t held(const struct described *d, const struct tensor *t, uint64_t layers,
		     enum held what)
{
	uint64_t n = local(d, t);
	if (what == WHOLE)
		return n * layers;
	if (what == ONE_SLICE)
		return slice(layers > 1 || (d->pp > 1 && t->part == LAYER) ? up(n) * layers : n,
			     d->dp);
	return layers * slice(n, d->dp) * (what == PADDED ? d->dp : 1);
}

static enum held weights_held(const struct described *d)
{
	if (d->zero == 3)
		return LAYER_SLICES;
	return (d->zero == 2 && d->each) || (d->zero && d->alone) ? PADDED : WHOLE;
}

static enum held gradients_held(const struct described *d)
{
	if (d->zero >= 2 && d->each)
		return LAYER_SLICES;
	return d->zero == 3 || (d->zero && d->alone) ? PADDED : WHOLE;
}

static enum held states_held(const struct described *d)
{
	if (d->zero == 0)
		return WHOLE;
	return weights_held(d) == WHOLE ? ONE_SLICE : LAYER_SLICES;
}

/* Elements on a stage, a tied weight once. */
static uint64_t of_stage(const struct described *d, uint64_t stage, enum held what)
{
	struct tensors list = tensors_of(d);
	uint64_t sum = 0;
	for (int i = 0; i < list.n; i++) {
		const struct tensor *t = &list.at[i];
		uint64_t layers = t->part == LAYER ? stage_layers(d, stage) : 1;
		if (is_here(d, stage, t))
			sum += held(d, t, layers, what);
	}
	return sum;
}

/* Gradient copies that wait while the lanes of a rank are added as a tree. */
static uint64_t levels(const struct described *d)
{
	uint64_t n = 1;
	for (uint64_t lanes = d->lanes / (d->dp * d->rep); lanes > 1; lanes /= 2)
		n++;
	return n;
}

/* Accumulators: one a use and level. Where the other use of a tied weight is another stage's, its
 * sum arrives whole. */
static uint64_t accumulators(const struct described *d, uint64_t stage)
{
	struct tensors list = tensors_of(d);
	enum held what = gradients_held(d);
	uint64_t sum = of_stage(d, stage, what) * levels(d);
	for (int i = 0; i < list.n; i++)
		if (list.at[i].tied && is_here(d, stage, &list.at[i]))
			sum += held(d, &list.at[i], 1, what) * (d->pp > 1 ? 1 : levels(d));
	return sum;
}

/* Gathered weights that stay between segments: those of a step, or of the layers under way. */
static uint64_t windows(const struct described *d, uint64_t stage)
{
	struct tensors list = tensors_of(d);
	uint64_t layers = stage_layers(d, stage), sum = 0;
	uint64_t ahead = d->ahead + 1 < layers ? d->ahead + 1 : layers;
	if (d->zero < 3)
		return 0;
	if (d->once)
		return of_stage(d, stage, PADDED);
	for (int i = 0; i < list.n; i++)
		if (list.at[i].part == LAYER)
			sum += held(d, &list.at[i], ahead, PADDED);
	return sum;
}

/* ---- activations ---------------------------------------------------------------------------- */

/* Values, statistics and bytes of a token in one layer that backward reads, by the dim that cuts
 * them. */
struct kept {
	uint64_t values[DIM_VOCAB + 1], statistics[DIM_VOCAB + 1], bytes[DIM_VOCAB + 1];
};

static void keep(struct kept *kept, enum cuttable dim, uint64_t values, uint64_t statistics)
{
	kept->values[dim] += values;
	kept->statistics[dim] += statistics;
}

/* Kv heads of gpt and braid are heads. */
static enum cuttable kv_dim(const struct described *d)
{
	return d->family == LLAMA ? DIM_KV_HEADS : DIM_HEADS;
}

/* The normed input, q, k and v as attention reads them (rotated, if they are), and as their norms
 * read them. Mean and deviation of a layer norm, deviation of the others. */
static void keep_attention(const struct described *d, struct kept *kept)
{
	uint64_t kv = d->kv_heads * d->head;
	keep(kept, DIM_NONE, d->embed, d->family == GPT ? 2 : 1);
	keep(kept, DIM_HEADS, d->embed, 0);
	keep(kept, kv_dim(d), 2 * kv, 0);
	if (d->qk_norm && d->family == LLAMA) {
		keep(kept, DIM_HEADS, d->embed, d->heads);
		keep(kept, kv_dim(d), kv, d->kv_heads);
	}
}

/* The result, and what it was made of: the sum of each row, or all probabilities and, where some
 * are dropped, what was left of them and a byte that says which. */
static void keep_core(const struct described *d, struct kept *kept)
{
	uint64_t scores = d->heads * d->tokens;
	keep(kept, DIM_HEADS, d->embed, d->stored ? 0 : d->heads);
	if (d->stored)
		keep(kept, DIM_HEADS, d->drops ? 2 * scores : scores, 0);
	if (d->stored && d->drops)
		kept->bytes[DIM_HEADS] += scores;
}

/* The normed input and both sides of GELU; or gate, its activation, up and what goes down. */
static void keep_mlp(const struct described *d, struct kept *kept)
{
	keep(kept, DIM_NONE, d->embed, d->family == LLAMA ? 1 : 2);
	keep(kept, DIM_FFN, d->family == GPT ? 2 * d->ffn : 4 * d->ffn, 0);
}

/* Where heads are whole and rows are cut, they are gathered before they are rotated: attention that
 * is computed again rotates them again, while its gradient reads what was rotated. */
static void keep_unrotated(const struct described *d, struct kept *kept)
{
	if (!d->sequence || d->family == GPT)
		return;
	if (parts_of(d, DIM_HEADS) == 1)
		keep(kept, DIM_HEADS, d->embed, 0);
	if (parts_of(d, kv_dim(d)) == 1)
		keep(kept, kv_dim(d), d->kv_heads * d->head, 0);
}

/* Of a block or group that is computed again: nothing. The sum between the halves is made by the
 * first one. */
static struct kept kept_of(const struct described *d, unsigned again)
{
	struct kept kept = {.values = {0}};
	if (again & AGAIN_BLOCK)
		return kept;
	if (!(again & AGAIN_ATTENTION)) {
		keep(&kept, DIM_NONE, d->embed, 0);
		keep_attention(d, &kept);
	}
	if (!(again & (AGAIN_ATTENTION | AGAIN_CORE)))
		keep_core(d, &kept);
	else if (!(again & AGAIN_ATTENTION))
		keep_unrotated(d, &kept);
	if (!(again & AGAIN_MLP))
		keep_mlp(d, &kept);
	return kept;
}

/* Rows of a micro-batch times `width` on one rank: cut along the dim, or along the tokens. Copies
 * of kv heads that are cut stay copies. */
static uint64_t rows(const struct described *d, enum cuttable dim, uint64_t width)
{
	uint64_t all = d->micro * d->tokens * width, parts = parts_of(d, dim);
	bool copied = dim == DIM_KV_HEADS && parts > 1 && d->copies > 1;
	return all / (d->sequence && !copied ? d->tp : parts);
}

static uint64_t layer_bytes(const struct described *d, const struct types *types, uint64_t stage)
{
	struct kept kept = kept_of(d, d->again[stage]);
	uint64_t sum = 0;
	for (enum cuttable dim = DIM_NONE; dim <= DIM_VOCAB; dim++)
		sum += rows(d, dim, kept.values[dim]) * types->values +
		       rows(d, dim, kept.statistics[dim]) * types->statistics +
		       rows(d, dim, kept.bytes[dim]);
	return sum;
}

/* The last norm, the logits, which have all rows, and the sum of each row. */
static uint64_t head_bytes(const struct described *d, const struct types *types)
{
	uint64_t tokens = d->micro * d->tokens, norms = d->family == LLAMA ? 1 : 2;
	return rows(d, DIM_NONE, d->embed) * types->values +
	       rows(d, DIM_NONE, norms) * types->statistics +
	       tokens * d->vocab / parts_of(d, DIM_VOCAB) * types->values +
	       tokens * sizeof(double);
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct alive alive_of(const struct described *d, uint64_t stage)
{
	if (d->pp == 1)
		return (struct alive){1, 0, 0, 1};
	return schedule_alive(d->pp, d->chunks, described_micro_batches(d), d->gpipe, stage);
}

/* A slot: what a chunk keeps for a micro-batch, and what goes in and comes out of each block. */
static uint64_t activations(const struct described *d, const struct types *types, uint64_t stage)
{
	uint64_t layers = deepest_chunk(d, stage);
	struct alive alive = alive_of(d, stage);
	uint64_t slot = (layers + 1) * rows(d, DIM_NONE, d->embed) * types->values +
			layers * layer_bytes(d, types, stage);
	uint64_t heads = has_part(d, stage, AFTER) ? alive.heads : 0;
	return slot * alive.slots + head_bytes(d, types) * heads;
}

/* Token numbers where the embedding is, targets where the head is; positions or the table of
 * rotations. */
static uint64_t data(const struct described *d, const struct types *types, uint64_t stage)
{
	uint64_t batches = has_part(d, stage, BEFORE) + has_part(d, stage, AFTER);
	uint64_t words = CONTROL_WORDS + NORM_WORDS + SUM_WORDS * levels(d);
	uint64_t bytes = 4 * batches * d->micro * d->tokens + 8 * words;
	if (d->family == GPT)
		return bytes + (has_part(d, stage, BEFORE) ? 4 * d->tokens : 0);
	return bytes + d->tokens * d->head * types->statistics;
}

static struct described typed_of(const struct described *d, const struct types *types)
{
	struct described typed = *d;
	typed.alone = types->alone;
	return typed;
}

struct bytes formula_stage(const struct described *plan, const struct types *types, uint64_t stage)
{
	struct described typed = typed_of(plan, types);
	const struct described *d = &typed;
	uint64_t carried = rows(d, DIM_NONE, d->embed) * types->values;
	struct alive alive = alive_of(d, stage);
	return (struct bytes){
		.weights = of_stage(d, stage, weights_held(d)) * types->weights,
		.gradients = accumulators(d, stage) * types->gradients,
		.optimizer = of_stage(d, stage, states_held(d)) *
			     (2 * types->optimizer + types->master),
		.activations = activations(d, types, stage),
		.communication = windows(d, stage) * types->weights +
				 (alive.operands + alive.gradients) * carried,
		.data = data(d, types, stage),
		.adjoint = 2 * carried,
	};
}

uint64_t formula_bucket(const struct described *plan, const struct types *types, enum part part)
{
	struct described typed = typed_of(plan, types);
	const struct described *d = &typed;
	enum held what = d->zero >= 2 || (d->zero && d->alone) ? PADDED : WHOLE;
	struct tensors list = tensors_of(d);
	uint64_t sum = 0;
	for (int i = 0; i < list.n; i++)
		if (list.at[i].part == part || (part == AFTER && list.at[i].tied))
			sum += held(d, &list.at[i], 1, what);
	return d->each ? sum * types->gradients : 0;
}

uint64_t formula_weights(const struct described *d)
{
	struct tensors list = tensors_of(d);
	uint64_t sum = 0;
	for (int i = 0; i < list.n; i++)
		sum += list.at[i].elements * (list.at[i].part == LAYER ? d->layers : 1);
	return sum;
}

uint64_t formula_owned(const struct described *d, uint64_t stage)
{
	return of_stage(d, stage, WHOLE);
}
