/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of programs filled by hand: known offsets, random ones that must verify, planted faults
 * that must not. */
#include "place/layout.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { MOST_BUFFERS = 96, MOST_SEGMENTS = 6, STEPS = 24 };

struct bench {
	struct work work;
	struct program program;
	struct role role;
	struct buffer buffers[MOST_BUFFERS];
	struct segment segments[MOST_SEGMENTS];
	struct layout layout;
};

static struct bench *bench_new(void)
{
	struct arena *keep = arena_new();
	struct bench *bench = ARENA_NEW(keep, struct bench);

	bench->work = (struct work){.keep = keep, .scratch = arena_new()};
	bench->work.names = names_new(keep);
	bench->work.sources = sources_new(keep);
	bench->work.diags = diags_new(keep, bench->work.sources);
	bench->role.name = name_of(bench->work.names, "rank");
	bench->program.roles = &bench->role;
	bench->program.nroles = 1;
	bench->program.buffers = bench->buffers;
	bench->program.segments = bench->segments;
	return bench;
}

static void bench_delete(struct bench *bench)
{
	arena_delete(bench->work.scratch);
	arena_delete(bench->work.keep);
}

static uint32_t add_segment(struct bench *bench, const char *name, enum phase phase)
{
	struct segment *segment = &bench->segments[bench->program.nsegments];

	segment->name = name_of(bench->work.names, name);
	segment->phase = phase;
	segment->nsteps = STEPS;
	return bench->program.nsegments++;
}

/* A buffer of `elements` fp32 numbers that always lives. */
static struct buffer *add(struct bench *bench, const char *name, enum item item, uint64_t elements)
{
	struct buffer *buffer = &bench->buffers[bench->program.nbuffers++];

	buffer->name = name_of(bench->work.names, name);
	buffer->item = item;
	buffer->type = RT_F32;
	buffer->life = LIFE_RUN;
	buffer->param = NO_ID;
	buffer->layers = buffer->slots = buffer->levels = 1;
	buffer->elements = elements;
	buffer->bytes = elements * 4;
	return buffer;
}

static struct buffer *add_live(struct bench *bench, const char *name, uint64_t elements,
			       uint32_t segment, uint32_t from, uint32_t to)
{
	struct buffer *buffer = add(bench, name, ITEM_WORKING, elements);

	buffer->life = LIFE_SEGMENT;
	buffer->segment = segment;
	buffer->from = from;
	buffer->to = to;
	return buffer;
}

static uint64_t offset(const struct bench *bench, uint32_t index)
{
	return bench->layout.homes[0].places[index].offset;
}

/* Weights of 3 layers and an embedding, gradients with 2 levels, one segment forward, one backward.
 */
static struct bench *small(void)
{
	struct bench *b = bench_new();
	uint32_t forward = add_segment(b, "layer_forward", PHASE_FORWARD);
	uint32_t backward = add_segment(b, "layer_backward", PHASE_BACKWARD);
	struct buffer *buffer;

	add(b, "weight", ITEM_WEIGHTS, 100)->layers = 3;
	buffer = add(b, "gradient", ITEM_GRADIENTS, 100);
	buffer->layers = 3;
	buffer->levels = 2;
	buffer->life = LIFE_STEP;
	add(b, "embedding", ITEM_WEIGHTS, 64);
	add_live(b, "a", 256, forward, 0, 3);
	add_live(b, "b", 64, forward, 2, 5);
	add_live(b, "c", 256, forward, 4, 9);
	add_live(b, "d", 1024, backward, 0, 0);
	return b;
}

static void known_offsets(void)
{
	struct bench *b = small();
	const struct home *home;

	CHECK(place_build(&b->program, &b->layout, &b->work));
	layout_verify(&b->layout);
	home = &b->layout.homes[0];
	CHECK_INT(home->places[0].layer_stride, 512);
	CHECK_INT(home->places[1].level_stride, 3 * 512);
	CHECK_INT(offset(b, 0), 0);
	CHECK_INT(offset(b, 2), 3 * 512);
	CHECK_INT(offset(b, 1), 3 * 512 + 256);
	CHECK_INT(home->persistent, 3 * 512 + 256 + 6 * 512);
	CHECK_INT(offset(b, 3), home->persistent);
	CHECK_INT(offset(b, 5), home->persistent);
	CHECK_INT(offset(b, 4), home->persistent + 1024);
	CHECK_INT(offset(b, 6), home->persistent);
	CHECK_INT(home->arena, home->persistent + 4096);
	bench_delete(b);
}

static void peaks_add_up(void)
{
	struct bench *b = small();
	const struct peak *peak;

	CHECK(place_build(&b->program, &b->layout, &b->work));
	peak = &b->layout.homes[0].peak[PHASE_FORWARD];
	CHECK_INT(peak->items[ITEM_WEIGHTS], 3 * 400 + 256);
	CHECK_INT(peak->items[ITEM_GRADIENTS], 6 * 400);
	CHECK_INT(peak->items[ITEM_WORKING], 1024 + 256);
	CHECK_INT(peak->gaps, 9 * 112);
	CHECK_INT(peak->segment, 0);
	CHECK_INT(peak->step, 2);
	peak = &b->layout.homes[0].peak[PHASE_BACKWARD];
	CHECK_INT(peak->items[ITEM_WORKING], 4096);
	CHECK_INT(peak->total, b->layout.homes[0].arena);
	peak = &b->layout.homes[0].peak[PHASE_UPDATE];
	CHECK_INT(peak->segment, NO_ID);
	CHECK_INT(peak->total, b->layout.homes[0].persistent);
	bench_delete(b);
}

/* fp64 buffers start at multiples of 512 bytes, also behind an odd number of fp32 blocks. */
static void types_are_aligned(void)
{
	struct bench *b = bench_new();
	uint32_t update = add_segment(b, "update", PHASE_UPDATE);
	struct buffer *buffer;

	add(b, "one", ITEM_DATA, 1);
	buffer = add(b, "control", ITEM_DATA, 16);
	buffer->type = RT_F64;
	buffer->bytes = 128;
	add(b, "two", ITEM_DATA, 1);
	buffer = add_live(b, "sums", 2, update, 0, 1);
	buffer->type = RT_F64;
	buffer->bytes = 16;
	CHECK(place_build(&b->program, &b->layout, &b->work));
	layout_verify(&b->layout);
	CHECK_INT(offset(b, 1), 512);
	CHECK_INT(offset(b, 2), 1024);
	CHECK_INT(offset(b, 3), 1536);
	CHECK_INT(b->layout.homes[0].arena, 1536 + 512);
	bench_delete(b);
}

static void overflow_is_reported(void)
{
	static const uint64_t layers[] = {UINT64_MAX / 1024, UINT64_C(1) << 62};

	for (int i = 0; i < 2; i++) {
		struct bench *b = bench_new();
		uint32_t forward = add_segment(b, "forward", PHASE_FORWARD);

		add(b, "fine", ITEM_WEIGHTS, 64);
		if (i)
			add_live(b, "high", 64, forward, 0, 0)->layers = layers[i];
		else
			add(b, "high", ITEM_WEIGHTS, 1024)->layers = layers[i];
		CHECK(!place_build(&b->program, &b->layout, &b->work));
		CHECK_INT(b->work.diags->errors, 1);
		CHECK_INT(b->work.diags->all.at[0]->code, E0114);
		CHECK_TEXT(b->work.diags->all.at[0]->title,
			   "the memory for `high` does not fit 64 bits");
		bench_delete(b);
	}
}

/* Two buffers that fit one by one, but not together. */
static void sum_overflow_is_reported(void)
{
	struct bench *b = bench_new();

	add(b, "low", ITEM_WEIGHTS, 1024)->layers = UINT64_C(1) << 51;
	add(b, "high", ITEM_WEIGHTS, 1024)->layers = UINT64_C(1) << 51;
	b->buffers[0].layers += UINT64_C(1) << 50;
	b->buffers[1].layers += UINT64_C(1) << 50;
	CHECK(!place_build(&b->program, &b->layout, &b->work));
	CHECK_INT(b->work.diags->all.at[0]->code, E0114);
	bench_delete(b);
}

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % limit;
}

static void add_random(struct bench *b, uint32_t index)
{
	static const uint32_t bytes[] = {
#define RT_TYPE(name, size, text) size,
#include "rt/types.def"
#undef RT_TYPE
	};
	struct buffer *buffer = add(b, "x", ITEM_WEIGHTS, 1 + random_below(5000));

	buffer->name = name_of(b->work.names, arena_text(b->work.keep, "x%u", index));
	buffer->item = random_below(ITEMS);
	buffer->type = random_below(RT_TYPES);
	buffer->bytes = buffer->elements * bytes[buffer->type];
	buffer->life = random_below(4) ? LIFE_SEGMENT : random_below(LIFE_SEGMENT);
	buffer->segment = random_below(b->program.nsegments);
	buffer->from = random_below(STEPS);
	buffer->to = buffer->from + random_below(STEPS - buffer->from);
	if (buffer->life != LIFE_SEGMENT) {
		buffer->layers = 1 + random_below(5);
		buffer->slots = 1 + random_below(3);
		buffer->levels = 1 + random_below(3);
	}
}

static struct bench *random_program(uint64_t seed)
{
	struct bench *b = bench_new();
	uint32_t segments, buffers;

	random_state = seed;
	segments = 1 + random_below(MOST_SEGMENTS);
	buffers = random_below(MOST_BUFFERS);
	for (uint32_t i = 0; i < segments; i++)
		add_segment(b, arena_text(b->work.keep, "s%u", i), random_below(PHASES));
	for (uint32_t i = 0; i < buffers; i++)
		add_random(b, i);
	return b;
}

/* Every random program packs to a layout that verifies, twice to the same one. */
static void random_programs(void)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct bench *b = random_program(seed);
		struct layout again;

		CHECK(place_build(&b->program, &b->layout, &b->work));
		layout_verify(&b->layout);
		CHECK(place_build(&b->program, &again, &b->work));
		CHECK(!memcmp(b->layout.homes[0].places, again.homes[0].places,
			      b->program.nbuffers * sizeof(struct place)));
		CHECK_INT(b->layout.homes[0].arena % 64, 0);
		bench_delete(b);
	}
}

/* Exit code of layout_verify in a process of its own. */
static int verify_alone(const struct layout *layout)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		layout_verify(layout);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum fault {
	FAULT_NONE,
	FAULT_OVERLAP,
	FAULT_SEGMENT,
	FAULT_COPIES,
	FAULT_SKEW,
	FAULT_BELOW,
	FAULT_OUTSIDE,
	FAULT_ITEM,
	FAULT_GAPS,
	FAULT_ARENA,
	FAULTS
};

static void plant(enum fault fault, struct place *places, struct home *home)
{
	switch (fault) {
	case FAULT_OVERLAP:
		places[2].offset -= 256;
		break;
	case FAULT_SEGMENT:
		places[4].offset = places[3].offset + 256;
		break;
	case FAULT_COPIES:
		places[0].layer_stride = 256;
		break;
	case FAULT_SKEW:
		places[4].offset += 64;
		break;
	case FAULT_BELOW:
		places[6].offset = 0;
		break;
	case FAULT_OUTSIDE:
		places[6].offset += 256;
		break;
	case FAULT_ITEM:
		home->peak[PHASE_INIT].items[ITEM_WEIGHTS] += 4;
		break;
	case FAULT_GAPS:
		home->peak[PHASE_UPDATE].gaps += 4;
		break;
	case FAULT_ARENA:
		home->arena += 64;
		break;
	default:
		break;
	}
}

static void planted_faults_are_found(void)
{
	for (enum fault fault = FAULT_NONE; fault < FAULTS; fault++) {
		struct bench *b = small();
		struct place places[7];
		struct home home;

		CHECK(place_build(&b->program, &b->layout, &b->work));
		memcpy(places, b->layout.homes[0].places, sizeof places);
		home = b->layout.homes[0];
		plant(fault, places, &home);
		home.places = places;
		b->layout.homes = &home;
		if (verify_alone(&b->layout) != (fault == FAULT_NONE ? 0 : 70))
			fprintf(stderr, "fault %d:\n", (int)fault);
		CHECK_INT(verify_alone(&b->layout), fault == FAULT_NONE ? 0 : 70);
		bench_delete(b);
	}
}

static void printed(void)
{
	struct bench *b = small();
	struct text out = text_new(b->work.keep);

	CHECK(place_build(&b->program, &b->layout, &b->work));
	layout_print(&b->layout, &b->work, &out);
	CHECK_TEXT(
		out.at,
		"role rank: arena 8960, persistent 4864\n"
		"buffer     item         type  dims    copies               offset  bytes  life\n"
		"weight     weights      fp32  [100]   3 layers                  0    400  run\n"
		"gradient   gradients    fp32  [100]   3 layers x 2 levels    1792    400  step\n"
		"embedding  weights      fp32  [64]    1                      1536    256  run\n"
		"a          working set  fp32  [256]   1                      4864   1024  "
		"layer_forward 0..3\n"
		"b          working set  fp32  [64]    1                      5888    256  "
		"layer_forward 2..5\n"
		"c          working set  fp32  [256]   1                      4864   1024  "
		"layer_forward 4..9\n"
		"d          working set  fp32  [1024]  1                      4864   4096  "
		"layer_backward 0..0\n"
		"init 4864, gaps 1008\n"
		"forward 6144, gaps 1008, layer_forward step 2\n"
		"backward 8960, gaps 1008, layer_backward step 0\n"
		"update 4864, gaps 1008\n");
	bench_delete(b);
}

int main(void)
{
	known_offsets();
	peaks_add_up();
	types_are_aligned();
	overflow_is_reported();
	sum_overflow_is_reported();
	random_programs();
	planted_faults_are_found();
	printed();
	return check_done();
}
