/* SPDX-License-Identifier: Apache-2.0 */
#include "place/peak.h"

/* Bytes of all copies, without what alignment adds; no overflow, since the strides passed. */
static uint64_t exact(const struct buffer *buffer)
{
	return buffer->bytes * buffer->layers * buffer->slots * buffer->levels;
}

static bool alive(const struct buffer *buffer, uint32_t segment, uint32_t step)
{
	if (buffer->life != LIFE_SEGMENT)
		return true;
	return buffer->segment == segment && buffer->from <= step && step <= buffer->to;
}

static uint64_t transient_at(const struct program *program, uint32_t segment, uint32_t step)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct buffer *buffer = &program->buffers[i];

		if (buffer->life == LIFE_SEGMENT && alive(buffer, segment, step))
			sum += exact(buffer);
	}
	return sum;
}

static uint32_t fullest_step(const struct program *program, uint32_t segment, uint64_t *bytes)
{
	uint32_t best = 0;

	*bytes = 0;
	for (uint32_t step = 0; step < program->segments[segment].nsteps; step++) {
		uint64_t sum = transient_at(program, segment, step);

		if (sum > *bytes) {
			*bytes = sum;
			best = step;
		}
	}
	return best;
}

/* The segment of the phase that needs most, or NO_ID if the phase has none. */
static uint32_t fullest_segment(const struct program *program, const uint64_t *heights,
				enum phase phase)
{
	uint32_t best = NO_ID;

	for (uint32_t i = 0; i < program->nsegments; i++) {
		if (program->segments[i].phase != phase)
			continue;
		if (best == NO_ID || heights[i] > heights[best])
			best = i;
	}
	return best;
}

static struct peak peak_of(const struct program *program, const uint64_t *heights, enum phase phase,
			   uint64_t persistent)
{
	struct peak peak = {.total = persistent, .segment = NO_ID, .step = NO_ID};
	uint64_t bytes, items = 0;

	peak.segment = fullest_segment(program, heights, phase);
	if (peak.segment != NO_ID) {
		peak.total += heights[peak.segment];
		peak.step = fullest_step(program, peak.segment, &bytes);
	}
	for (uint32_t i = 0; i < program->nbuffers; i++) {
		const struct buffer *buffer = &program->buffers[i];

		if (!alive(buffer, peak.segment, peak.step))
			continue;
		peak.items[buffer->item] += exact(buffer);
		items += exact(buffer);
	}
	peak.gaps = peak.total - items;
	return peak;
}

void peak_find(const struct program *program, const uint64_t *heights, struct home *home)
{
	home->arena = 0;
	for (int phase = 0; phase < PHASES; phase++) {
		home->peak[phase] = peak_of(program, heights, phase, home->persistent);
		if (home->peak[phase].total > home->arena)
			home->arena = home->peak[phase].total;
	}
}
