/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/traffic.h"

#include "base/num.h"
#include "base/vec.h"
#include "judge/walk.h"
#include "rt/volume.h"

const char *traffic_kind(uint32_t kind)
{
	static const char *const names[] = {"all_reduce", "all_reduce_max", "reduce_scatter",
					    "all_gather", "slice", "hand_over", "message"};

	return names[kind];
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return num_times(num_from(a), b).value;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return num_plus(num_from(a), num_from(b)).value;
}

struct traffic_pair traffic_pair(const struct step *step, uint64_t members, uint64_t me,
				 uint64_t peer)
{
	uint64_t size = graph_type_bytes(step->type), block = (uint64_t)step->rows.value, both;

	switch (step->collective) {
	case COLLECTIVE_ALL_REDUCE:
	case COLLECTIVE_MAX:
		both = times((uint64_t)rt_all_reduce_volume(step->rows.value, (int64_t)me,
							    (int64_t)peer, (int64_t)members),
			     size);
		return (struct traffic_pair){both, both};
	case COLLECTIVE_REDUCE_SCATTER:
		return (struct traffic_pair){times(block, size), times(block, size)};
	case COLLECTIVE_ALL_GATHER:
		block = times((uint64_t)step->sizes[0].value, (uint64_t)step->sizes[1].value);
		return (struct traffic_pair){times(block, size), times(block, size)};
	case COLLECTIVE_HAND:
		return (struct traffic_pair){
			me == step->peers[0] && peer == step->peers[1] ? times(block, size) : 0,
			me == step->peers[1] && peer == step->peers[0] ? times(block, size) : 0};
	default:
		return (struct traffic_pair){0, 0};
	}
}

struct counter {
	const struct program *program;
	uint64_t rank;
	struct arena *arena;
	VEC(struct traffic_line) lines;
	VEC(struct traffic_link) links;
	uint64_t out, in;
};

uint64_t traffic_step_bytes(const struct program *program, const struct step *step)
{
	uint64_t members, sum = 0;

	if (step->kind != STEP_COLLECTIVE || step->collective == COLLECTIVE_SLICE ||
	    step->collective == COLLECTIVE_HAND)
		return 0;
	members = program->groups[step->group].ranks;
	for (uint64_t peer = 1; peer < members; peer++)
		sum = plus(sum, traffic_pair(step, members, 0, peer).out);
	return sum;
}

static struct traffic_line *line_of(struct counter *c, uint32_t kind, uint32_t group,
				    enum phase phase)
{
	for (uint32_t i = 0; i < c->lines.n; i++)
		if (c->lines.at[i].kind == kind && c->lines.at[i].group == group &&
		    c->lines.at[i].phase == phase)
			return &c->lines.at[i];
	vec_push(c->arena, &c->lines,
		 (struct traffic_line){.kind = kind, .group = group, .phase = phase});
	return &c->lines.at[c->lines.n - 1];
}

static struct traffic_link *link_of(struct counter *c, uint32_t group, bool between)
{
	for (uint32_t i = 0; i < c->links.n; i++)
		if (c->links.at[i].group == group && c->links.at[i].between == between)
			return &c->links.at[i];
	vec_push(c->arena, &c->links, (struct traffic_link){.group = group, .between = between});
	return &c->links.at[c->links.n - 1];
}

/* Bytes of `calls` calls to and from one member. */
static void add_pair(struct counter *c, struct traffic_line *line, uint64_t peer,
		     struct traffic_pair one, uint64_t calls)
{
	const struct program *p = c->program;
	uint32_t mask = p->groups[line->group].factors;
	uint64_t other = ranks_member(&p->flow->factors, mask, c->rank, peer);
	bool between = ranks_node(p->plan, other) != ranks_node(p->plan, c->rank);
	struct traffic_pair all = {times(one.out, calls), times(one.in, calls)};
	struct traffic_link *link;

	if (!all.out && !all.in)
		return;
	link = link_of(c, line->group, between);
	link->out = plus(link->out, all.out);
	link->in = plus(link->in, all.in);
	line->out = plus(line->out, all.out);
	line->in = plus(line->in, all.in);
	c->out = plus(c->out, all.out);
	c->in = plus(c->in, all.in);
}

static void count_step(void *self, const struct segment *segment, const struct step *step,
		       uint64_t calls)
{
	struct counter *c = self;
	const struct program *p = c->program;
	const struct group *group;
	struct traffic_line *line;
	uint64_t me;

	if (step->kind != STEP_COLLECTIVE || step->collective == COLLECTIVE_SLICE || !calls)
		return;
	group = &p->groups[step->group];
	me = ranks_index(&p->flow->factors, group->factors, c->rank);
	if (step->collective == COLLECTIVE_HAND && me != step->peers[0] && me != step->peers[1])
		return;
	line = line_of(c, step->collective, step->group, segment->phase);
	line->calls = plus(line->calls, calls);
	for (uint64_t peer = 0; peer < group->ranks; peer++)
		if (peer != me)
			add_pair(c, line, peer, traffic_pair(step, group->ranks, me, peer), calls);
}

static void count_messages(struct counter *c)
{
	uint32_t n = 0;
	const struct walk_messages *all = walk_messages(c->program, &n, c->arena);

	for (uint32_t i = 0; i < n; i++) {
		struct traffic_pair one = {all[i].receive ? 0 : all[i].bytes,
					   all[i].receive ? all[i].bytes : 0};
		struct traffic_line *line = line_of(c, TRAFFIC_MESSAGE, c->program->pipeline_group,
						    all[i].backward ? PHASE_BACKWARD
								    : PHASE_FORWARD);

		line->calls += all[i].count * all[i].parts;
		add_pair(c, line, all[i].peer, one, all[i].count);
	}
}

void traffic_of(const struct program *head, uint64_t rank, struct traffic *out,
		struct arena *arena)
{
	struct counter c = {.rank = rank, .arena = arena};

	c.program = ranks_program(head, ranks_stage(head, rank));
	count_messages(&c);
	walk_steps(c.program, count_step, &c);
	*out = (struct traffic){.program = c.program,
				.rank = rank,
				.lines = c.lines.at,
				.nlines = c.lines.n,
				.links = c.links.at,
				.nlinks = c.links.n,
				.out = c.out,
				.in = c.in};
}
