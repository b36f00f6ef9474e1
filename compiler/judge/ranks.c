/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/ranks.h"

#include <string.h>

#include "base/bug.h"

uint64_t ranks_coordinate(const struct factors *factors, uint32_t factor, uint64_t rank)
{
	for (uint32_t i = factors->n - 1; i > factor; i--)
		rank /= (uint64_t)factors->at[i].size;
	return rank % (uint64_t)factors->at[factor].size;
}

uint64_t ranks_index(const struct factors *factors, uint32_t mask, uint64_t rank)
{
	uint64_t index = 0;

	for (uint32_t i = 0; i < factors->n; i++)
		if (mask >> i & 1)
			index = index * (uint64_t)factors->at[i].size +
				ranks_coordinate(factors, i, rank);
	return index;
}

uint64_t ranks_member(const struct factors *factors, uint32_t mask, uint64_t rank, uint64_t index)
{
	uint64_t member = rank, weight = 1;

	for (uint32_t i = factors->n; i-- > 0; weight *= (uint64_t)factors->at[i].size) {
		uint64_t size = (uint64_t)factors->at[i].size;

		if (!(mask >> i & 1))
			continue;
		member -= ranks_coordinate(factors, i, rank) * weight;
		member += index % size * weight;
		index /= size;
	}
	return member;
}

uint64_t ranks_all(const struct program *program)
{
	return factors_ranks(&program->flow->factors, UINT32_MAX);
}

static uint32_t pipeline_mask(const struct program *program)
{
	return program->stages > 1 ? program->groups[program->pipeline_group].factors : 0;
}

uint64_t ranks_of_stage(const struct program *program)
{
	return factors_ranks(&program->flow->factors, ~pipeline_mask(program));
}

uint32_t ranks_stage(const struct program *program, uint64_t rank)
{
	return (uint32_t)ranks_index(&program->flow->factors, pipeline_mask(program), rank);
}

uint64_t ranks_first(const struct program *program, uint32_t stage)
{
	return ranks_member(&program->flow->factors, pipeline_mask(program), 0, stage);
}

const struct program *ranks_program(const struct program *head, uint32_t stage)
{
	while (head->stage != stage) {
		head = head->next;
		BUG_IF(!head, "no program of stage %u", stage);
	}
	return head;
}

uint64_t ranks_node(const struct plan *plan, uint64_t rank)
{
	uint64_t devices = plan->cluster.devices.i > 0 ? (uint64_t)plan->cluster.devices.i : 1;

	return rank / devices;
}

const char *ranks_link(const struct plan *plan, bool between)
{
	const char *name = between ? plan->cluster_link_name : plan->node_link_name, *dot;

	if (!name)
		return between ? "nodes" : "node";
	dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

const char *ranks_place(const struct factors *factors, uint64_t rank, struct arena *arena)
{
	const char *text = "";

	for (uint32_t i = 0; i < factors->n; i++)
		text = arena_text(arena, "%s%s%s %llu", text, *text ? ", " : "",
				  factors->at[i].name->text,
				  (unsigned long long)ranks_coordinate(factors, i, rank));
	return text;
}
