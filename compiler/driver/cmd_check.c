/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that read plans and write nothing: check, expand. */
#include "driver/commands.h"

#include <string.h>

#include "driver/artifacts.h"

struct diag *wrong_operand(struct session *session, struct argument operand,
			   const char *format, ...)
{
	va_list args;
	char *title;

	va_start(args, format);
	title = arena_vtext(session->work.keep, format, args);
	va_end(args);
	return diag_add(session->work.diags, E0602, operand.span, "%s", title);
}

void session_summary(struct session *session, const struct outcome *outcome)
{
	const struct compiled *compiled = &outcome->compiled;

	if (!outcome->good || session->options.format != FORMAT_HUMAN)
		return;
	if (compiled->judged)
		text_add(&session->lines, "%s\n",
			 verdict_summary(&compiled->verdict, session->work.keep));
	else
		text_add(&session->lines, "%s: ok up to `%s`, memory was not worked out\n",
			 outcome->file, compiled->reached);
}

void command_check(struct session *session)
{
	for (uint32_t i = 0; i < session->options.operands.n; i++) {
		struct outcome *outcome = session_compile(session, i, NULL);
		struct artifacts artifacts = {0};

		if (!outcome)
			continue;
		if (session->options.dump == DUMP_C &&
		    artifacts_make(session, outcome, &artifacts))
			artifacts_print(&artifacts, &session->out);
		session_summary(session, outcome);
	}
}

/* In the style of `planc fmt`. */
static struct text in_style(const struct text *text, struct session *session)
{
	struct work work = session->work;
	struct text out = text_new(work.keep);
	const struct source *source =
		sources_add(work.sources, "<expanded>", text->at, text->length, false);

	work.diags = diags_new(work.keep, work.sources);
	return source && format_source(source, &work, &out) ? out : *text;
}

void command_expand(struct session *session)
{
	struct outcome *outcome = session_compile(session, 0, "rules");
	struct text text = text_new(session->work.keep);

	if (!outcome || !outcome->good)
		return;
	plan_expand(outcome->compiled.plan, &session->work, &text);
	text = in_style(&text, session);
	if (session->options.output)
		session_write(session, &text, session->options.output);
	else
		text_raw(&session->out, text.at, text.length);
}
