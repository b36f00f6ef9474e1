/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: one function a segment. */
#include "emit/emit_text.h"

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
	for (uint32_t i = 0; i < e->program->nsegments; i++) {
		const struct segment *s = &e->program->segments[i];
		text_add(e->out, "\n/* %s */\n", purpose(s));
		if (s->phase == PHASE_UPDATE)
			emit_source(e, s->span, "");
		text_add(e->out, "int %s(struct rt *rt, const struct rt_at *at)\n{\n",
			 s->name->text);
		e->out->indent++;
		emit_steps(e, i);
		text_add(e->out, "return 0;\n");
		e->out->indent--;
		text_add(e->out, "}\n");
	}
}
