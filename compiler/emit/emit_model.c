/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: one function a segment. */
#include "emit/emit_text.h"

#include <string.h>

/* What a segment is for, in a line above its function. */
static const char *purpose(const struct segment *s)
{
	static const char *const passes[2][REGIONS] = {
		{"What stands before the layers.", "One layer: at->layer says which.",
		 "What stands after the layers, and the loss."},
		{"Gradients of what stands before the layers.",
		 "Gradients of one layer: at->layer says which.",
		 "Gradients of what stands after the layers: backward starts here."}};
	if (s->phase == PHASE_FORWARD || s->phase == PHASE_BACKWARD)
		return passes[s->phase == PHASE_BACKWARD][s->region];
	if (s->by_layer)
		return s->phase == PHASE_INIT
			       ? "Once, before the first step, for each layer."
			       : "Once a step for each layer: at->layer says which.";
	return s->phase == PHASE_INIT ? "Once, before the first step." : "Once a step.";
}

void emit_model_c(struct emitter *e)
{
	emit_head(e, "Segments");
	text_add(e->out, "\n#include \"plan.h\"\n");
	const struct variants *variants = emit_segments(e);
	for (uint32_t i = 0; i < variants->all.n; i++) {
		const struct variant *v = &variants->all.at[i];
		const struct segment *s = &v->program->segments[v->segment];
		text_add(e->out, "\n/* %s */\n", purpose(s));
		if (s->phase == PHASE_UPDATE)
			emit_source(e, s->span, "");
		text_add(e->out, "int %s(struct rt *rt, const struct rt_at *at)\n{\n",
			 v->name);
		text_raw(e->out, v->text, strlen(v->text));
		text_add(e->out, "\treturn 0;\n}\n");
	}
}
