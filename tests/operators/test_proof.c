/* SPDX-License-Identifier: Apache-2.0 */
/* Faults planted into compiled programs: the proofs of part/proof.h name each. A program is data,
 * and ours: the const of its tables is cast away. */
#include "compiled.h"

#include <string.h>

#include "check.h"
#include "part/proof.h"

static const char *plan_text(struct arena *arena, const char *split)
{
	return arena_text(
		arena,
		"plan p\nedition 1\nimport cpu from \"std/devices/cpu.plan\"\n"
		"import arch from \"std/architectures.plan\"\n"
		"cluster box { node { devices = 8 of cpu.core { memory = 8 GiB } } }\n"
		"mesh { pp = 2 within node, dp = 2 within node, tp = 2 within node }\n"
		"model m : arch.gpt {\n layers = 4, embed = 8, heads = 2, vocab = 20, context = 4\n"
		" dropout = 0 %%, norm_eps = 1e-5, tied_embeddings = true\n}\n"
		"precision = fp32\nsplit {\n %s\n}\n"
		"train {\n seq_len = 4 tokens, micro_batches = 4, micro_batch = 1 seq\n"
		" lanes = 4, steps = 2, seed = 1\n"
		" optimizer = adamw { lr = 1e-3, weight_decay = 0 }\n data = bytes(\"x\")\n}\n",
		split);
}

static const char *const splits[] = {
	"pipeline over pp, data over dp, tensor over tp, sequence over tp",
	"pipeline over pp { schedule = gpipe }, data over dp, zero 1 over dp, tensor over tp",
	"pipeline over pp { schedule = interleaved_1f1b, chunks = 2 }, data over dp, zero 3 over "
	"dp, tensor over tp",
};

static struct compiled_plan *compiled(const char *split, struct arena *arena)
{
	static const char *const none[] = {NULL};
	struct compiled_plan *c = compiled_text("proof.plan", plan_text(arena, split), none);
	CHECK(c != NULL);
	return c;
}

static void check_named(const char *fault, const char *want)
{
	if (!fault || !strstr(fault, want))
		CHECK_TEXT(fault ? fault : "", want);
}

/* The k-th step of a stage that talks over the group of this name. */
static struct step *talk(const struct program *p, const char *group, uint32_t k)
{
	for (uint32_t i = 0; i < p->nsegments; i++)
		for (uint32_t s = 0; s < p->segments[i].nsteps; s++) {
			struct step *step = (struct step *)&p->segments[i].steps[s];
			if (step->kind == STEP_COLLECTIVE &&
			    name_is(p->groups[step->group].name, group) && k-- == 0)
				return step;
		}
	return NULL;
}

static void check_right(const char *split)
{
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled(split, arena);
	const char *fault = c ? proof_collectives(&c->program, arena) : NULL;
	if (fault)
		CHECK_TEXT(fault, "");
	for (const struct program *p = c ? &c->program : NULL; p; p = p->next)
		CHECK(proof_reads(p, arena) == NULL);
	if (c)
		compiled_close(c);
	arena_delete(arena);
}

/* change: of the steps of stage 1 over the pipeline: two hand a tied gradient over, one adds up
 * losses. */
static void check_collective(void (*change)(struct program *stage1), const char *want)
{
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled(splits[0], arena);
	if (c) {
		change(c->program.next);
		check_named(proof_collectives(&c->program, arena), want);
		compiled_close(c);
	}
	arena_delete(arena);
}

static void swap(struct program *p)
{
	struct step *a = talk(p, "pp", 0), *b = talk(p, "pp", 1), held = *a;
	*a = *b;
	*b = held;
}

static void miscount(struct program *p)
{
	talk(p, "pp", 2)->rows.value++;
}

static void mistype(struct program *p)
{
	talk(p, "pp", 2)->type = RT_F32;
}

static void leave_out(struct program *p)
{
	talk(p, "pp", 2)->kind = STEP_KERNEL;
}

static void turn_round(struct program *p)
{
	struct step *step = talk(p, "pp", 0);
	uint32_t held = step->peers[0];
	step->peers[0] = step->peers[1];
	step->peers[1] = held;
}

static void move_away(struct program *p)
{
	p->buffers[talk(p, "pp", 2)->uses[0].buffer].common = false;
}

static void into_turn(struct program *p)
{
	((struct body *)&p->roles[0].backward)->sweeps = p->roles[0].update.sweeps;
}

/* The first step that writes a buffer writes it no more. */
static void check_read(const char *split, uint32_t stage, const char *buffer, const char *want)
{
	struct arena *arena = arena_new();
	struct compiled_plan *c = compiled(split, arena);
	const struct program *p = c ? &c->program : NULL;
	for (uint32_t i = 0; p && i < stage; i++)
		p = p->next;
	for (uint32_t i = 0; p && i < p->nsegments; i++)
		for (uint32_t s = 0; s < p->segments[i].nsteps; s++) {
			struct step *step = (struct step *)&p->segments[i].steps[s];
			for (uint32_t u = 0; u < step->nuses; u++)
				if (step->uses[u].write && step->uses[u].buffer != NO_ID &&
				    name_is(p->buffers[step->uses[u].buffer].name, buffer))
					step->uses[u].buffer = NO_ID;
		}
	if (p)
		check_named(proof_reads(p, arena), want);
	if (c)
		compiled_close(c);
	arena_delete(arena);
}

int main(void)
{
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
		check_right(splits[i]);
	check_collective(swap, "stages disagree: stage 0, reduce_gradients step ");
	check_collective(miscount, "sums 3 fp64 over `pp`");
	check_collective(mistype, "sums 2 fp32 over `pp`");
	check_collective(leave_out, "stages disagree: stage 0, reduce_gradients step ");
	check_collective(turn_round, "stages disagree");
	check_collective(move_away, "not at the same place");
	check_collective(into_turn, "inside a turn");
	check_read(splits[0], 1, "attention_q",
		   "stage 1, layer_forward step 5 reads `attention_q`, which nothing has written");
	check_read(splits[1], 0, "carried_mlp_x", "stage 0, layer_forward step 0 reads");
	check_read(splits[2], 0, "layer_mlp_c_fc_weight_gathered", "which nothing has written");
	return check_done();
}
