/* SPDX-License-Identifier: Apache-2.0 */
/* Which element types go together. What passes here can be computed and emitted. */
#include <string.h>

#include "plan/resolve/resolve.h"
#include "plan/rules/plan_rules.h"

struct choice {
	const char *compute, *setting, *words;
};

static const struct choice choices[] = {
#define TYPES(compute, setting, words) {#compute, #setting, words},
#define REASON(setting, why)
#include "plan/rules/precision_types.def"
#undef TYPES
#undef REASON
};

struct reason {
	const char *setting, *why;
};

static const struct reason reasons[] = {
#define TYPES(compute, setting, words)
#define REASON(setting, why) {#setting, why},
#include "plan/rules/precision_types.def"
#undef TYPES
#undef REASON
};

static const struct value *setting_of(const struct plan_precision *p, const char *setting)
{
	const struct {
		const char *name;
		const struct value *value;
	} all[] = {
		{"params", &p->params},
		{"gradients", &p->gradients},
		{"gradient_wire", &p->gradient_wire},
		{"partial_wire", &p->partial_wire},
		{"optimizer", &p->optimizer},
		{"loss", &p->loss},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i].name, setting) == 0)
			return all[i].value;
	return NULL;
}

static bool has_word(const char *words, const struct name *word)
{
	size_t length = strlen(word->text);

	for (const char *at = words; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, word->text, length) == 0 && (!at[length] || at[length] == ' '))
			return true;
	}
	return false;
}

/* "`fp32` and `bf16`" of "fp32 bf16" */
static const char *quoted(struct arena *arena, const char *words)
{
	const char *names[4];
	char *copy = arena_text(arena, "%s", words);
	size_t count = 0;

	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		names[count++] = word;
	return name_list(arena, names, count);
}

/* Both ends of a pair that does not go together; `what`: of the other one. */
static struct diag *apart(struct work *work, const char *setting, const struct value *value,
			  const char *other, const struct value *with, const char *what)
{
	struct diag *diag = diag_add(
		work->diags, E0328, value->span, "`%s = %s` does not go with `%s = %s`", setting,
		value_text(value, work->keep), other, value_text(with, work->keep));

	if (with->span.lo != value->span.lo)
		diag_label(diag, with->span, "%s", what);
	return diag;
}

static bool check_choice(const struct plan_precision *p, const struct choice *choice,
			 struct work *work)
{
	const struct value *value = setting_of(p, choice->setting);
	struct diag *diag;

	/* a wire that follows another setting is as right as that one */
	if (!value_known(value) || value->origin == ORIGIN_DEFAULT ||
	    !name_is(p->compute.word, choice->compute) || has_word(choice->words, value->word))
		return true;
	diag = apart(work, choice->setting, value, "compute", &p->compute, "arithmetic");
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (strcmp(reasons[i].setting, choice->setting) == 0)
			diag_note(diag, "%s", reasons[i].why);
	diag_note(diag, "valid values of `%s`: %s", choice->setting,
		  quoted(work->keep, choice->words));
	return false;
}

/* Moments are not narrower than the weights that they move. */
static bool check_optimizer(const struct plan_precision *p, struct work *work)
{
	struct diag *diag;

	if (!value_known(&p->optimizer) || !value_known(&p->params) ||
	    !name_is(p->compute.word, "bf16") || !name_is(p->params.word, "fp32") ||
	    !name_is(p->optimizer.word, "bf16"))
		return true;
	diag = apart(work, "optimizer", &p->optimizer, "params", &p->params, "weights");
	diag_note(diag, "weights in fp32 have moments in fp32");
	diag_note(diag, "valid: `optimizer = fp32`, or `params = bf16`");
	return false;
}

static bool check_rounding(const struct plan_precision *p, struct work *work)
{
	const struct value *rounding = &p->stochastic_rounding;
	struct diag *diag;

	if (!value_known(rounding) || !rounding->i || !value_known(&p->optimizer) ||
	    name_is(p->optimizer.word, "bf16"))
		return true;
	diag = apart(work, "stochastic_rounding", rounding, "optimizer", &p->optimizer,
		     "copy of the weights, moments");
	diag_note(diag, "only weights and moments that are kept in bf16 are rounded by chance");
	diag_note(diag, "valid: `stochastic_rounding = false`, or `optimizer = bf16`");
	return false;
}

bool rule_types(const struct plan *plan, struct work *work)
{
	const struct plan_precision *p = &plan->precision;
	bool good = true;

	if (!value_known(&p->compute))
		return false;
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		good &= check_choice(p, &choices[i], work);
	return good && check_optimizer(p, work) && check_rounding(p, work);
}
