/* SPDX-License-Identifier: Apache-2.0 */
/* planc list combinations: the table of which features of a plan go together. */
#include "driver/list.h"

#include "driver/json.h"
#include "plan/combinations.h"

static const char letters[] = {
	[ANSWER_WORKS] = '+', [ANSWER_EITHER] = '|', [ANSWER_REFUSED] = 'x', [ANSWER_LATER] = '-'};

static const char *answer_word(enum answer answer)
{
	static const char *const words[] = {[ANSWER_WORKS] = "works",
					    [ANSWER_EITHER] = "one of them",
					    [ANSWER_REFUSED] = "refused",
					    [ANSWER_LATER] = "not in this version"};

	return words[answer];
}

/* Two of which one alone is not in this version are not either. */
static struct combination cell(enum feature a, enum feature b)
{
	struct combination is = combination_of(a, b);

	if (is.answer == ANSWER_WORKS && combination_of(a, a).answer == ANSWER_LATER)
		return combination_of(a, a);
	if (is.answer == ANSWER_WORKS && combination_of(b, b).answer == ANSWER_LATER)
		return combination_of(b, b);
	return is;
}

enum { NAMES = 34 };

static void add_head(struct text *out, int step)
{
	text_add(out, "%*s", NAMES, "");
	for (enum feature b = 0; b < FEATURES; b++)
		text_add(out, "%u", (unsigned)(step == 10 ? (b + 1) / 10 : (b + 1) % 10));
	text_add(out, "\n");
}

static void add_matrix(struct text *out)
{
	add_head(out, 10);
	add_head(out, 1);
	for (enum feature a = 0; a < FEATURES; a++) {
		text_add(out, "%2u %-*s", (unsigned)a + 1, NAMES - 3, feature_written(a));
		for (enum feature b = 0; b <= a; b++)
			text_add(out, "%c", letters[cell(a, b).answer]);
		text_add(out, "\n");
	}
}

/* Rows of the table that are no `works`: one on its own, then pairs. */
static void add_reasons(struct text *out)
{
	for (enum feature a = 0; a < FEATURES; a++) {
		enum diag_code code;
		enum feature other = feature_needs(a, &code);

		if (other != FEATURES)
			text_add(out, "%s needs %s: %s\n", feature_written(a),
				 feature_written(other), diag_row(code)->code);
	}
	for (enum feature a = 0; a < FEATURES; a++)
		for (enum feature b = 0; b <= a; b++) {
			struct combination is = combination_of(a, b);

			if (is.answer == ANSWER_REFUSED)
				text_add(out, "%s with %s: %s, %s\n", feature_written(b),
					 feature_written(a), diag_row(is.code)->code, is.why);
			if (is.answer == ANSWER_LATER)
				text_add(out, "%s%s%s: %s, not in this version\n",
					 feature_written(b), a == b ? "" : " with ",
					 a == b ? "" : feature_written(a), diag_row(is.code)->code);
		}
}

static void add_text(struct text *out)
{
	add_matrix(out);
	text_add(out, "\n+ works, | a plan has one of the two, x refused, "
		      "- not in this version\n\n");
	add_reasons(out);
}

static void add_pair(struct json *json, enum feature a, enum feature b)
{
	struct combination is = cell(a, b);

	json_object(json, NULL);
	json_text(json, "a", feature_name(b));
	json_text(json, "b", feature_name(a));
	json_text(json, "answer", answer_word(is.answer));
	if (is.answer == ANSWER_REFUSED || is.answer == ANSWER_LATER) {
		json_text(json, "code", diag_row(is.code)->code);
		json_text(json, "why", is.why);
	}
	json_end(json);
}

static void add_json(struct text *out)
{
	struct json json = json_new(out);

	json_object(&json, NULL);
	json_list(&json, "features");
	for (enum feature a = 0; a < FEATURES; a++) {
		enum diag_code code;
		enum feature other = feature_needs(a, &code);

		json_object(&json, NULL);
		json_text(&json, "name", feature_name(a));
		json_text(&json, "written", feature_written(a));
		if (other != FEATURES)
			json_text(&json, "needs", feature_name(other));
		json_end(&json);
	}
	json_end(&json);
	json_list(&json, "pairs");
	for (enum feature a = 0; a < FEATURES; a++)
		for (enum feature b = 0; b <= a; b++)
			add_pair(&json, a, b);
	json_end(&json);
	json_end(&json);
}

void list_combinations(struct session *session, const struct argument *unused)
{
	(void)unused;
	if (session->options.json)
		add_json(&session->out);
	else
		add_text(&session->out);
}
