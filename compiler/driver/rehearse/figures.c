/* SPDX-License-Identifier: Apache-2.0 */
/* What a rehearsal found, in words and as JSON. */
#include "driver/rehearse/rehearsal.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "driver/json.h"

/* "1.2e-15", whatever the locale. */
static const char *short_double(double value, struct arena *arena)
{
	char *text = isnan(value) ? arena_text(arena, "nan") : arena_text(arena, "%.1e", value);
	char *comma = strchr(text, ',');

	if (comma)
		*comma = '.';
	return text;
}

/* --- what was made small ---------------------------------------------------------------- */

struct row {
	const char *name;
	int64_t full, small;
};

static void add_row(struct text *out, struct row row)
{
	if (row.full != row.small)
		text_add(out, "  %-16s %12s  %8lld\n", row.name,
			 num_grouped(out->arena, (uint64_t)row.full), (long long)row.small);
}

static void add_sizes(const struct rehearsal *r, struct text *out)
{
	const struct plan *plan = r->outcome->compiled.plan;
	const struct small *small = &r->small;
	const struct model *model = plan->model;

	text_add(out, "  %-16s %12s  %8s\n", "", "plan", "here");
	for (uint32_t i = 0; i < plan->naxes; i++)
		add_row(out, (struct row){plan->axes[i].name->text, plan->axes[i].size,
					  small->axes[i]});
	for (uint32_t i = 0; i < model->batch; i++)
		add_row(out, (struct row){model->dims[i].name->text, (int64_t)model->dims[i].size,
					  (int64_t)small->dims[i]});
	add_row(out, (struct row){"vocab_pad_to", plan->model_block.vocab_pad_to.i, small->pad});
	add_row(out, (struct row){"seq_len", plan->train.seq_len.i,
				  (int64_t)small->dims[model->tokens]});
	add_row(out, (struct row){"micro_batch", plan->train.micro_batch.i,
				  (int64_t)small->dims[model->batch]});
	add_row(out, (struct row){"micro_batches", plan->micro_batches, small->micro_batches});
	if (plan->stages > 1)
		add_row(out, (struct row){"chunks", plan->pipeline.chunks.i, small->chunks});
	if (small->copies > 1)
		add_row(out, (struct row){"copies of heads",
					  plan_strategy(plan, STRATEGY_TENSOR)->replicate,
					  small->copies});
}

/* --- equality --------------------------------------------------------------------------- */

/* One figure: how far it is, how far it may be; bound: what that is without rounding. */
static void add_figure(struct text *out, const char *name, double off, double most, double bound,
		       const char *where)
{
	struct arena *arena = out->arena;

	text_add(out, "    %-14s %8s  %8s  %s%s%s\n", name, short_double(off, arena),
		 bound != 0 ? short_double(most, arena) : "-", where,
		 most > bound && bound != 0 ? ", where rounding alone is a quarter of that" : "",
		 bound != 0 && !compare_within(off, most) ? "  TOO FAR" : "");
}

static void add_pair(const struct pair *pair, struct text *out)
{
	const struct bound *bound = pair->bound;
	struct arena *arena = out->arena;

	if (pair->fault) {
		text_add(out, "  %s: not equal: %s\n", pair->precision, pair->fault);
		return;
	}
	text_add(out, "  %s: %s, by the bounds of %s, %u steps\n", pair->precision,
		 pair->equal ? "equal to one rank" : "NOT equal to one rank", bound->type,
		 pair->steps);
	text_add(out, "    %-14s %8s  %8s\n", "", "worst", "at most");
	add_figure(out, "loss", pair->log.loss, pair->loss_most, bound->loss,
		   arena_text(arena, "step %u", pair->log.loss_step));
	add_figure(out, "gradient norm", pair->log.norm, pair->norm_most, bound->norm,
		   arena_text(arena, "step %u", pair->log.norm_step));
	add_figure(out, "gradients", pair->gradient.off, pair->gradient_most, bound->gradient,
		   arena_text(arena, "step 1, %s", pair->gradient.name));
	add_figure(out, "weights", pair->weights, bound->weights, bound->weights, "at the end");
}

/* --- bytes, messages, the rest ---------------------------------------------------------- */

static void add_class(const struct rehearsal *r, uint32_t k, struct text *out)
{
	const struct rank_class *class = &r->classes[k];
	struct arena *arena = out->arena;
	bool held = class->allocated == (int64_t)class->predicted;

	if (r->nclasses > 1)
		text_add(out, "    stage %-8u", k);
	else
		text_add(out, "    %-14s", "each rank");
	text_add(out, " %2u rank%s  %10s predicted%s\n", class->ranks,
		 class->ranks == 1 ? " " : "s", num_bytes(arena, class->predicted, 2),
		 held			 ? ""
		 : class->allocated < 0 ? ", others allocated"
					 : arena_text(arena, ", %s allocated",
						      num_bytes(arena, (uint64_t)class->allocated,
								2)));
}

static void add_bytes(const struct rehearsal *r, struct text *out)
{
	text_add(out, "  memory: predicted %s allocated, for every class of ranks\n",
		 r->bytes_held ? "=" : "is NOT");
	for (uint32_t k = 0; k < r->nclasses; k++)
		add_class(r, k, out);
}

static void add_messages(const struct rehearsal *r, struct text *out)
{
	struct arena *arena = out->arena;

	if (r->small.stages > 1)
		text_add(out,
			 "  messages: matched, %s a step between stages; %s in the plan's own "
			 "schedule, by proof\n",
			 num_grouped(arena, r->sends), num_grouped(arena, r->full_sends));
	text_add(out, "  collectives: every call agreed in order, kind and size on its ranks; the "
		      "runtime has one\n    algorithm for each, whatever the size\n");
}

static void add_not_shown(const struct rehearsal *r, struct text *out)
{
	const struct verdict *verdict = &r->outcome->compiled.verdict;
	struct arena *arena = out->arena;

	text_add(out,
		 "  not shown: whether the plan fits (it %s: %s of %s%s),\n"
		 "    how fast it is, how it rounds at its size, where its ranks are placed%s\n",
		 r->fits ? "does" : "does NOT", num_bytes(arena, verdict->peak, 1),
		 num_bytes(arena, verdict->capacity, 1),
		 r->limits_met ? "" : "; a `require` line is not met",
		 verdict->plan->has_checkpoint ? ", checkpoints" : "");
}

static bool matched(const struct rehearsal *r)
{
	for (int i = 0; i < r->npairs; i++)
		if (r->pairs[i].split.fault)
			return false;
	return true;
}

void rehearsal_report(const struct rehearsal *r, struct text *out)
{
	text_add(out, "%s, rehearsed on %lld rank%s\n", r->outcome->file, (long long)r->small.ranks,
		 r->small.ranks == 1 ? "" : "s");
	add_sizes(r, out);
	for (int i = 0; i < r->npairs; i++)
		add_pair(&r->pairs[i], out);
	add_bytes(r, out);
	if (matched(r))
		add_messages(r, out);
	add_not_shown(r, out);
}

/* --- JSON ------------------------------------------------------------------------------- */

/* JSON has no word for NaN. */
static void json_off(struct json *json, const char *key, double off)
{
	if (isfinite(off))
		json_real(json, key, off);
	else
		json_members(json, arena_text(json->out->arena, "\"%s\": null", key));
}

static void json_pair(const struct pair *pair, struct json *json)
{
	json_object(json, NULL);
	json_text(json, "precision", pair->precision);
	json_bool(json, "equal", pair->equal);
	json_text(json, "bounds", pair->bound->type);
	json_text(json, "fault", pair->fault ? pair->fault : "");
	if (!pair->fault) {
		json_number(json, "steps", pair->steps);
		json_off(json, "loss", pair->log.loss);
		json_off(json, "grad_norm", pair->log.norm);
		json_off(json, "gradients", pair->gradient.off);
		json_real(json, "gradients_at_most", pair->gradient_most);
		json_text(json, "worst_gradient", pair->gradient.name);
		json_off(json, "weights", pair->weights);
	}
	json_end(json);
}

static void json_sizes(const struct rehearsal *r, struct json *json)
{
	const struct plan *plan = r->outcome->compiled.plan;
	const struct model *model = plan->model;

	json_number(json, "ranks", (uint64_t)r->small.ranks);
	json_object(json, "mesh");
	for (uint32_t i = 0; i < plan->naxes; i++)
		json_number(json, plan->axes[i].name->text, (uint64_t)r->small.axes[i]);
	json_end(json);
	json_object(json, "model");
	for (uint32_t i = 0; i < model->batch; i++)
		json_number(json, model->dims[i].name->text, r->small.dims[i]);
	json_end(json);
	json_number(json, "micro_batches", (uint64_t)r->small.micro_batches);
}

static void json_classes(const struct rehearsal *r, struct json *json)
{
	json_list(json, "classes");
	for (uint32_t k = 0; k < r->nclasses; k++) {
		const struct rank_class *class = &r->classes[k];

		json_object(json, NULL);
		json_number(json, "stage", k);
		json_number(json, "ranks", class->ranks);
		json_number(json, "predicted", class->predicted);
		json_bool(json, "as_predicted", class->allocated == (int64_t)class->predicted);
		json_end(json);
	}
	json_end(json);
}

void rehearsal_json(const struct rehearsal *r, struct text *out)
{
	struct json json = json_new(out);
	bool equal = true;

	for (int i = 0; i < r->npairs; i++)
		equal &= r->pairs[i].equal;
	json_object(&json, NULL);
	json_text(&json, "file", r->outcome->file);
	json_bool(&json, "equal", equal);
	json_bool(&json, "bytes_as_predicted", r->bytes_held);
	json_bool(&json, "messages_matched", matched(r));
	json_bool(&json, "fits", r->fits);
	json_bool(&json, "limits_met", r->limits_met);
	json_sizes(r, &json);
	json_number(&json, "messages", r->sends);
	json_number(&json, "plan_messages", r->full_sends);
	json_classes(r, &json);
	json_list(&json, "compared");
	for (int i = 0; i < r->npairs; i++)
		json_pair(&r->pairs[i], &json);
	json_end(&json);
	json_end(&json);
}
