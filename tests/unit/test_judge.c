/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts over programs filled by hand: the table, the limits, `require` lines. */
#include "judge/verdict.h"

#include "check.h"
#include "plan/ratio.h"

enum { MOST_BUFFERS = 32, MOST_PARAMS = 4, MOST_REQUIRES = 4, MOST_AXES = 3 };

/* Dims of the model: flat sizes that stand for all matrices of a kind, then the usual three. */
enum { DIM_LAYER, DIM_HEADS, DIM_NORM, DIM_BATCH, DIM_TOKENS, DIM_VOCAB, DIMS };

struct bench {
	struct work work;
	const struct source *source;
	struct plan plan;
	struct model model;
	struct dim dims[DIMS];
	struct graph graph;
	struct flow flow;
	struct param params[MOST_PARAMS];
	struct program program;
	struct role role;
	struct param_buffers param_buffers[MOST_PARAMS];
	struct buffer buffers[MOST_BUFFERS];
	struct segment segments[2];
	struct recompute recompute;
	struct require requires[MOST_REQUIRES];
	struct axis axes[MOST_AXES];
	struct layout layout;
	struct verdict verdict;
};

static const char *const plan_text = "devices = 1 of a100\n"
				     "recompute = none\n"
				     "micro = 1\n"
				     "model seven : llama\n"
				     "schedule = 1f1b\n"
				     "require bubble      <= 5 %\n";

/* The first place of `what` in the plan's text. */
static struct span at(const struct bench *b, const char *what)
{
	uint32_t lo = b->source->start + (uint32_t)(strstr(plan_text, what) - plan_text);

	return (struct span){lo, lo + (uint32_t)strlen(what)};
}

static struct value number(enum value_type type, int64_t value)
{
	return (struct value){.type = type,
			      .origin = ORIGIN_FILE,
			      .i = value,
			      .f = (double)value,
			      .exact = ratio_from(value)};
}

static struct value share(int64_t top, int64_t bottom)
{
	return (struct value){
		.type = TYPE_SHARE, .f = (double)top / (double)bottom, .exact = {top, bottom}};
}

static void set_plan(struct bench *b)
{
	struct plan *plan = &b->plan;

	plan->source = b->source;
	plan->model = &b->model;
	plan->device.memory = number(TYPE_BYTES, INT64_C(81920) << 20);
	plan->device.sm = number(TYPE_COUNT, 80);
	plan->device_name = "a100_sxm_80g";
	plan->device_span = at(b, "a100");
	plan->devices = plan->data_ranks = plan->stages = plan->micro_batches = 1;
	plan->train.global_batch = number(TYPE_SEQS, 1);
	plan->train.micro_batch = number(TYPE_SEQS, 1);
	plan->train.micro_batch.span = at(b, "1\nmodel");
	plan->train.micro_batch.span.hi = plan->train.micro_batch.span.lo + 1;
	plan->train.seq_len = number(TYPE_TOKENS, 2048);
	plan->recompute = &b->recompute;
	plan->nrecompute = 1;
	plan->requires = b->requires;
	plan->axes = b->axes;
	plan->cluster.nodes = number(TYPE_COUNT, 1);
	plan->cluster.devices = number(TYPE_COUNT, 1);
	b->recompute.span = at(b, "recompute = none");
}

static void set_model(struct bench *b)
{
	static const struct {
		const char *name;
		uint64_t size;
	} sizes[DIMS] = {
		[DIM_LAYER] = {"layer", 202383360}, [DIM_HEADS] = {"heads", 524288000},
		[DIM_NORM] = {"embed", 4096},	    [DIM_BATCH] = {"batch", 1},
		[DIM_TOKENS] = {"tokens", 2048},    [DIM_VOCAB] = {"vocab", 64000},
	};

	for (int i = 0; i < DIMS; i++) {
		b->dims[i].name = name_of(b->work.names, sizes[i].name);
		b->dims[i].size = b->dims[i].padded = sizes[i].size;
	}
	b->model.dims = b->dims;
	b->model.ndims = DIMS;
	b->model.batch = DIM_BATCH;
	b->model.tokens = DIM_TOKENS;
	b->model.layers = 32;
	b->model.span = at(b, "model seven : llama");
}

static struct bench *bench_new(void)
{
	struct arena *keep = arena_new();
	struct bench *b = ARENA_NEW(keep, struct bench);

	b->work = (struct work){.keep = keep, .scratch = arena_new()};
	b->work.names = names_new(keep);
	b->work.sources = sources_new(keep);
	b->work.diags = diags_new(keep, b->work.sources);
	b->source = sources_add(b->work.sources, "seven.plan", plan_text, strlen(plan_text), false);
	set_plan(b);
	set_model(b);
	b->graph = (struct graph){.plan = &b->plan, .model = &b->model, .params = b->params};
	b->role.name = name_of(b->work.names, "rank");
	b->program = (struct program){.graph = &b->graph,
				      .flow = &b->flow,
				      .plan = &b->plan,
				      .roles = &b->role,
				      .nroles = 1,
				      .buffers = b->buffers,
				      .segments = b->segments,
				      .nsegments = 2,
				      .params = b->param_buffers};
	b->segments[0].name = name_of(b->work.names, "head_forward");
	b->segments[0].phase = PHASE_FORWARD;
	b->segments[0].nsteps = 3;
	b->segments[1].name = name_of(b->work.names, "update");
	b->segments[1].phase = PHASE_UPDATE;
	b->segments[1].nsteps = 1;
	return b;
}

static void bench_delete(struct bench *b)
{
	arena_delete(b->work.scratch);
	arena_delete(b->work.keep);
}

static struct dims dims_of(uint32_t n, uint32_t a, uint32_t b, uint32_t c)
{
	return (struct dims){.n = n, .at = {a, b, c}};
}

static uint32_t add(struct bench *b, const char *name, enum item item, enum rt_type type,
		    struct dims dims)
{
	static const uint64_t bytes[] = {
#define RT_TYPE(name, size, text) size,
#include "rt/types.def"
#undef RT_TYPE
	};
	struct buffer *buffer = &b->buffers[b->program.nbuffers];

	buffer->name = name_of(b->work.names, name);
	buffer->item = item;
	buffer->type = type;
	buffer->life = LIFE_RUN;
	buffer->param = NO_ID;
	buffer->layers = buffer->slots = buffer->levels = 1;
	buffer->dims = dims;
	buffer->elements = 1;
	for (uint32_t i = 0; i < dims.n; i++)
		buffer->elements *= b->dims[dims.at[i]].padded;
	buffer->bytes = buffer->elements * bytes[type];
	return b->program.nbuffers++;
}

/* A weight with bf16 gradient and fp32 state. */
static void add_param(struct bench *b, const char *path, uint32_t dim, uint64_t layers)
{
	struct dims dims = dims_of(1, dim, 0, 0);
	uint32_t first = b->program.nbuffers, i = b->graph.nparams++;

	b->params[i] = (struct param){.path = path, .layers = layers, .rows = dims, .sites = 1};
	b->param_buffers[i] = (struct param_buffers){
		.weight = add(b, path, ITEM_WEIGHTS, RT_BF16, dims),
		.gradient = {add(b, "gradient", ITEM_GRADIENTS, RT_BF16, dims)},
		.master = add(b, "master", ITEM_OPTIMIZER, RT_F32, dims),
		.moment1 = add(b, "moment1", ITEM_OPTIMIZER, RT_F32, dims),
		.moment2 = add(b, "moment2", ITEM_OPTIMIZER, RT_F32, dims)};
	for (; first < b->program.nbuffers; first++)
		b->buffers[first].layers = layers;
}

/* The model of 7,000,559,616 weights: 32 layers, embedding and head, last norm. */
static struct bench *seven_billion(void)
{
	struct bench *b = bench_new();
	struct buffer *buffer;

	add_param(b, "layer", DIM_LAYER, 32);
	add_param(b, "head", DIM_HEADS, 1);
	add_param(b, "norm", DIM_NORM, 1);
	buffer = &b->buffers[add(b, "saved", ITEM_ACTIVATIONS, RT_BF16,
				 dims_of(3, DIM_BATCH, DIM_TOKENS, DIM_NORM))];
	buffer->layers = 33;
	buffer->life = LIFE_SLOT;
	buffer = &b->buffers[add(b, "logits", ITEM_WORKING, RT_F32,
				 dims_of(3, DIM_BATCH, DIM_TOKENS, DIM_VOCAB))];
	buffer->life = LIFE_SEGMENT;
	buffer->part = "logits";
	buffer->to = 2;
	return b;
}

static void run(struct bench *b)
{
	CHECK(place_build(&b->program, &b->layout, &b->work));
	layout_verify(&b->layout);
	judge(&b->layout, &b->verdict, &b->work);
}

static const char *human(struct bench *b)
{
	struct text out = text_new(b->work.keep);

	diags_human(b->work.diags, (struct diag_style){0}, &out);
	return out.length ? out.at : "";
}

static void does_not_fit(void)
{
	struct bench *b = seven_billion();

	run(b);
	CHECK_INT(b->verdict.params, 7000559616);
	CHECK_INT(diags_exit(b->work.diags), 5);
	CHECK_TEXT(
		human(b),
		"error[E0401]: the plan needs 105.3 GiB on the GPU, an a100_sxm_80g has 80.0 GiB\n"
		" --> seven.plan:2:1\n"
		"  |\n"
		"1 | devices = 1 of a100\n"
		"  |                ---- 81 920 MiB = 80.0 GiB\n"
		"2 | recompute = none\n"
		"  | ^^^^^^^^^^^^^^^^ all activations are kept\n"
		"3 | micro = 1\n"
		"  |         - 1 sequence at once\n"
		"  |\n"
		"  = peak in the forward pass, `head_forward` step 1 of 3\n"
		"\n"
		"     weights      bf16, 7.00 G                           13.04 GiB  #####\n"
		"     gradients    bf16                                   13.04 GiB  #####\n"
		"     optimizer    master + 2 moments, fp32               78.24 GiB  "
		"############################\n"
		"     activations  32 layers x 2 048 tokens, bf16          0.52 GiB\n"
		"     working set  fp32                                    0.49 GiB\n"
		"       logits     2 048 x 64 000, fp32                    0.49 GiB\n"
		"                                                 total  105.32 GiB\n"
		"                                                 limit   80.00 GiB\n"
		"                                                  over   25.32 GiB\n"
		"  = note: 112.0 GB = 16 bytes x 7.0e9 weights\n"
		"  = note: 16 bytes = 2 weight + 2 gradient + 4 master + 8 moments\n");
	bench_delete(b);
}

/* Without a recompute line the model is the place; on eight CPU devices the words change. */
static void other_words(void)
{
	struct bench *b = seven_billion();

	b->recompute.span = (struct span){0};
	b->plan.devices = 8;
	b->plan.device.sm = number(TYPE_COUNT, 0);
	b->plan.device_name = "core";
	b->plan.device.reserved = number(TYPE_BYTES, INT64_C(1) << 30);
	run(b);
	CHECK_TEXT(b->work.diags->all.at[0]->title,
		   "the plan needs 105.3 GiB on each device, a core leaves 79.0 GiB");
	CHECK_TEXT(b->work.diags->all.at[0]->label, "7 000 559 616 weights");
	CHECK(strstr(b->work.diags->all.at[0]->table,
		     "peak on rank 0 (all 8 ranks are alike), forward pass, `head_forward` step"));
	bench_delete(b);
}

/* Numbers that print alike get more decimals. */
static void narrow_miss(void)
{
	struct bench *b = seven_billion();

	run(b);
	b->plan.device.memory = number(TYPE_BYTES, (int64_t)b->verdict.peak - 4096);
	b->work.diags = diags_new(b->work.keep, b->work.sources);
	run(b);
	CHECK_TEXT(b->work.diags->all.at[0]->title,
		   "the plan needs 105.320374 GiB on the GPU, an a100_sxm_80g has 105.320370 GiB");
	b->plan.device.memory = number(TYPE_BYTES, (int64_t)b->verdict.peak - 1);
	b->work.diags = diags_new(b->work.keep, b->work.sources);
	run(b);
	CHECK_TEXT(b->work.diags->all.at[0]->title,
		   "the plan needs 113 086 889 984 bytes on the GPU, an a100_sxm_80g has "
		   "113 086 889 983");
	bench_delete(b);
}

/* 1/8 of the state on each of eight data ranks. */
static void shards_are_told(void)
{
	struct bench *b = seven_billion();

	b->plan.devices = 8;
	b->plan.naxes = 1;
	b->axes[0] = (struct axis){.name = name_of(b->work.names, "dp"), .size = 8};
	b->flow.factors.at[0].size = 8;
	b->flow.factors.n = 1;
	for (uint32_t i = 0; i < b->program.nbuffers; i++) {
		struct buffer *buffer = &b->buffers[i];

		if (buffer->item != ITEM_WEIGHTS && buffer->item != ITEM_OPTIMIZER)
			continue;
		buffer->flat = 1;
		buffer->elements /= 8;
		buffer->bytes /= 8;
	}
	run(b);
	CHECK_INT(b->work.diags->errors, 0);
	CHECK_TEXT(b->verdict.lines[0].detail, "bf16, 1/8 of 7.00 G");
	CHECK_TEXT(b->verdict.lines[2].detail, "master + 2 moments, fp32, 1/8");
	CHECK_INT(b->verdict.at.items[ITEM_OPTIMIZER], UINT64_C(7000559616) * 12 / 8);
	bench_delete(b);
}

/* A plan that fits: 1 MiB of weights on a device of 1 GiB. */
static struct bench *small(void)
{
	struct bench *b = bench_new();

	b->dims[DIM_NORM].size = b->dims[DIM_NORM].padded = 65536;
	add_param(b, "norm", DIM_NORM, 1);
	b->plan.device.memory = number(TYPE_BYTES, INT64_C(1) << 30);
	b->plan.device.outside = number(TYPE_BYTES, INT64_C(8) << 20);
	b->plan.memory.reserve = number(TYPE_BYTES, INT64_C(64) << 20);
	b->plan.memory.reserve.span = at(b, "schedule = 1f1b");
	b->plan.devices = b->plan.data_ranks = 2;
	b->plan.micro_batches = 2;
	b->plan.train.global_batch = number(TYPE_SEQS, 32);
	return b;
}

static void sums_and_forms(void)
{
	struct bench *b = small();
	struct text out = text_new(b->work.keep);

	run(b);
	CHECK_INT(b->verdict.arena, 1 << 20);
	CHECK_INT(b->verdict.peak, 73 << 20);
	CHECK_INT(b->verdict.tokens_per_step, 65536);
	CHECK_TEXT(verdict_table(&b->verdict, b->work.keep),
		   " weights    bf16, 65.5 k                          128.00 KiB\n"
		   " gradients  bf16                                  128.00 KiB\n"
		   " optimizer  master + 2 moments, fp32              768.00 KiB\n"
		   " outside    context, code, libraries                8.00 MiB  ####\n"
		   " reserve    seven.plan:5                           64.00 MiB  "
		   "############################\n"
		   "                                           total   73.00 MiB\n"
		   "                                           limit    1.00 GiB\n"
		   "                                            free  951.00 MiB\n");
	CHECK_TEXT(verdict_summary(&b->verdict, b->work.keep),
		   "seven.plan: ok, 2 GPUs, 73.0 MiB of 1.0 GiB (7 %), 2 micro-batches of 8 seq "
		   "a rank, 65 536 tokens a step");
	verdict_json(&b->verdict, &out);
	CHECK_TEXT(
		out.at,
		"{\"params\": 65536, \"devices\": 2, \"arena_bytes\": 1048576, "
		"\"outside_bytes\": 8388608, \"reserve_bytes\": 67108864, "
		"\"peak_bytes\": 76546048, \"capacity_bytes\": 1073741824, "
		"\"limit_bytes\": 1073741824, \"tokens_per_step\": 65536, \"bubble\": 0, "
		"\"items\": [{\"name\": \"weights\", \"bytes\": 131072}, "
		"{\"name\": \"gradients\", \"bytes\": 131072}, "
		"{\"name\": \"optimizer\", \"bytes\": 786432}, "
		"{\"name\": \"activations\", \"bytes\": 0}, "
		"{\"name\": \"recompute\", \"bytes\": 0}, "
		"{\"name\": \"working set\", \"bytes\": 0}, "
		"{\"name\": \"communication\", \"bytes\": 0}, {\"name\": \"data\", \"bytes\": 0}, "
		"{\"name\": \"library scratch\", \"bytes\": 0}, {\"name\": \"gaps\", "
		"\"bytes\": 0}]}");
	bench_delete(b);
}

/* Lines of depth 0 add up to the peak, and the JSON's items to the arena. */
static void lines_add_up(void)
{
	struct bench *b = seven_billion();
	uint64_t lines = 0;

	b->buffers[2].levels = 3;
	add(b, "word", ITEM_DATA, RT_I32, dims_of(1, DIM_BATCH, 0, 0));
	b->plan.memory.reserve = number(TYPE_BYTES, 12345);
	run(b);
	for (uint32_t i = 0; i < b->verdict.nlines; i++)
		lines += b->verdict.lines[i].depth ? 0 : b->verdict.lines[i].bytes;
	CHECK_INT(lines, b->verdict.peak);
	CHECK_INT(b->verdict.at.gaps, 252);
	CHECK_INT(b->verdict.at.total, b->verdict.arena);
	bench_delete(b);
}

static void demand(struct bench *b, enum quantity quantity, enum binary op, struct value limit,
		   const char *text)
{
	b->requires[b->plan.nrequires++] = (struct require){.quantity = quantity,
							    .axis = NO_ID,
							    .op = op,
							    .limit = limit,
							    .text = text,
							    .span = at(b, "bubble      <= 5 %")};
}

static void bubble_is_told(void)
{
	struct bench *b = small();

	b->plan.stages = 16;
	b->plan.micro_batches = 192;
	b->plan.pipeline.chunks = number(TYPE_COUNT, 1);
	b->plan.pipeline.schedule.span = at(b, "1f1b");
	demand(b, QUANTITY_BUBBLE, BINARY_LE, share(1, 20), "bubble      <= 5 %");
	b->requires[0].reason = "waiting is not training";
	run(b);
	CHECK_DOUBLE(b->verdict.bubble, 15.0 / 192);
	CHECK_TEXT(human(b),
		   "error[E0402]: `require bubble <= 5 %` is not met: the bubble is 7.8 %\n"
		   " --> seven.plan:6:9\n"
		   "  |\n"
		   "5 | schedule = 1f1b\n"
		   "  |            ---- 15 idle slots for 192 micro-batches\n"
		   "6 | require bubble      <= 5 %\n"
		   "  |         ^^^^^^^^^^^^^^^^^^ 7.8 %\n"
		   "  |\n"
		   "  = note: bubble = (stages - 1) / (chunks * micro-batches) = 15 / (1 * 192)\n"
		   "  = note: waiting is not training\n");
	bench_delete(b);
}

/* Exact at the edge: 73 MiB of 1 GiB is 73/1024, no more and no less. */
static void comparisons_are_exact(void)
{
	static const struct {
		enum binary op;
		int64_t top;
		bool holds;
	} rows[] = {
		{BINARY_LE, 73, true},	{BINARY_LT, 73, false}, {BINARY_GE, 73, true},
		{BINARY_GT, 73, false}, {BINARY_EQ, 73, true},	{BINARY_NE, 73, false},
		{BINARY_LE, 72, false}, {BINARY_EQ, 74, false}, {BINARY_LT, 74, true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bench *b = small();

		demand(b, QUANTITY_PEAK_MEMORY, rows[i].op, share(rows[i].top, 1024), "peak");
		run(b);
		CHECK_INT(b->work.diags->errors, !rows[i].holds);
		bench_delete(b);
	}
}

static void amounts_are_told(void)
{
	struct bench *b = small();

	demand(b, QUANTITY_PEAK_MEMORY, BINARY_LE, number(TYPE_BYTES, (73 << 20) - 1),
	       "peak_memory <= 76546047 B");
	demand(b, QUANTITY_PARAMS, BINARY_GE, number(TYPE_COUNT, 1000000), "params >= 1e6");
	demand(b, QUANTITY_DEVICES, BINARY_EQ, number(TYPE_COUNT, 2), "devices == 2");
	b->requires[1].span.lo++;
	run(b);
	CHECK_INT(b->work.diags->errors, 2);
	CHECK_TEXT(b->work.diags->all.at[0]->title,
		   "`require peak_memory <= 76546047 B` is not met: the peak is 73.000000 MiB");
	CHECK_TEXT(b->work.diags->all.at[0]->notes.at[0],
		   "peak_memory = arena + outside + reserve = 1.00 MiB + 8.00 MiB + 64.00 MiB");
	CHECK_TEXT(b->work.diags->all.at[1]->title,
		   "`require params >= 1e6` is not met: the number of weights is 65 536");
	bench_delete(b);
}

/* What does not fit is told once: `require peak_memory` then says nothing more. */
static void one_fault_one_message(void)
{
	struct bench *b = seven_billion();

	demand(b, QUANTITY_PEAK_MEMORY, BINARY_LE, share(19, 20), "peak_memory <= 95 %");
	run(b);
	CHECK_INT(b->work.diags->errors, 1);
	bench_delete(b);
}

static void links_follow_the_mesh(void)
{
	static const char *const names[] = {"dp", "tp"};
	struct bench *b = small();

	b->plan.cluster.nodes = number(TYPE_COUNT, 2);
	b->plan.cluster.devices = number(TYPE_COUNT, 8);
	b->plan.node_link_name = "nvlink3";
	b->plan.cluster_link_name = "infiniband";
	b->plan.naxes = 2;
	for (int i = 0; i < 2; i++) {
		b->axes[i].name = name_of(b->work.names, names[i]);
		b->axes[i].size = i ? 8 : 2;
		demand(b, QUANTITY_AXIS_LINK, BINARY_EQ,
		       (struct value){.type = TYPE_WORD,
				      .word = name_of(b->work.names, "links.nvlink3")},
		       "mesh.tp.link == links.nvlink3");
		b->requires[i].axis = (uint32_t)i;
	}
	run(b);
	CHECK_INT(b->work.diags->errors, 1);
	CHECK_TEXT(b->work.diags->all.at[0]->title,
		   "`require mesh.tp.link == links.nvlink3` is not met: "
		   "axis `dp` runs over infiniband");
	bench_delete(b);
}

int main(void)
{
	does_not_fit();
	other_words();
	narrow_miss();
	shards_are_told();
	sums_and_forms();
	lines_add_up();
	bubble_is_told();
	comparisons_are_exact();
	amounts_are_told();
	one_fault_one_message();
	links_follow_the_mesh();
	return check_done();
}
