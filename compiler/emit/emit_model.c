/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: one function a segment. */
#include "emit/emit_text.h"

void emit_model_c(struct emitter *e)
{
	emit_head(e, "Segments");
	text_add(e->out, "\n#include \"plan.h\"\n");
	for (uint32_t i = 0; i < e->program->nsegments; i++) {
		const struct segment *s = &e->program->segments[i];
		text_add(e->out, "\n");
		if (s->by_layer)
			text_add(e->out, "/* One block; at->layer says which. */\n");
		text_add(e->out, "int %s(struct rt *rt, const struct rt_at *at)\n{\n",
			 s->name->text);
		e->out->indent++;
		emit_steps(e, i);
		text_add(e->out, "return 0;\n");
		e->out->indent--;
		text_add(e->out, "}\n");
	}
}
