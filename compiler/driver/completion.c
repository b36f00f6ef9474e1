/* SPDX-License-Identifier: Apache-2.0 */
/* planc help, version, completion: what the tables of commands and options say, for people and for
 * shells. */
#include "driver/commands.h"

#include <string.h>

#include "emit/version.h"
#include "rt/rt.h"

static const char *spelled(const struct option_row *row, struct arena *arena)
{
	const char *value = *row->value ? arena_text(arena, " %s", row->value) : "";

	if (row->letter && *row->name)
		return arena_text(arena, "-%c, --%s%s", row->letter, row->name, value);
	if (row->letter)
		return arena_text(arena, "-%c%s", row->letter, value);
	return arena_text(arena, "--%s%s", row->name, value);
}

static void help_options(struct session *session, uint32_t commands)
{
	for (uint32_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->commands & commands)
			text_add(&session->out, "  %-26s %s%s%s\n",
				 spelled(row, session->work.keep), row->doc,
				 row->kind == OPTION_CHOICE ? ": " : "", row->choices);
	}
}

/* Topics of `planc show`. */
static void help_topics(struct session *session)
{
#define SHOW(name, doc) text_add(&session->out, "  %-26s %s\n", #name, doc);
#include "driver/show.def"
#undef SHOW
	text_add(&session->out, "  %-26s %s\n\n", "all", "one after the other");
}

static void help_one(struct session *session, enum command command)
{
	const struct command_row *row = &command_rows[command];

	text_add(&session->out, "usage: planc %s %s\n%s\n\n", row->name, row->operands,
		 row->summary);
	if (command == COMMAND_show)
		help_topics(session);
	help_options(session, 1u << command);
}

static void help_all(struct session *session)
{
	text_add(&session->out, "usage: planc COMMAND [OPTION...] [OPERAND...]\n\n");
	for (int i = 0; i < COMMANDS; i++) {
		const struct command_row *row = &command_rows[i];

		text_add(&session->out, "  %-10s %-20s %s\n", row->name, row->operands,
			 row->summary);
	}
	text_add(&session->out, "\n");
	help_options(session, COMMAND_BITS_ALL);
	text_add(&session->out, "\nexit codes: 0 done, 1 invalid plan or a difference, "
				"2 wrong use, 3 file, 4 tool, 5 limit\n");
}

/* `planc help NAME`, and `planc NAME --help`. */
void command_help(struct session *session)
{
	const struct options *options = &session->options;
	const char *name = command_rows[options->command].name;

	if (options->command == COMMAND_help)
		name = options->operands.n ? options->operands.at[0].text : NULL;
	if (!name) {
		help_all(session);
		return;
	}
	for (int i = 0; i < COMMANDS; i++) {
		if (!strcmp(name, command_rows[i].name)) {
			help_one(session, (enum command)i);
			return;
		}
	}
	wrong_operand(session, options->operands.at[0], "there is no command `%s`", name);
}

void command_version(struct session *session)
{
	if (session->options.json)
		text_add(&session->out,
			 "{ \"planc\": \"%s\", \"edition\": 1, \"rt_abi\": %d, "
			 "\"format_version\": \"1.0\" }\n",
			 PLANC_VERSION, RT_ABI);
	else
		text_add(&session->out, "planc %s\n", PLANC_VERSION);
}

static void add_commands(struct text *out)
{
	for (int i = 0; i < COMMANDS; i++)
		text_add(out, "%s%s", i ? " " : "", command_rows[i].name);
}

static void add_options(struct text *out, uint32_t command)
{
	for (uint32_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->commands & command))
			continue;
		if (*row->name)
			text_add(out, " --%s", row->name);
		else
			text_add(out, " -%c", row->letter);
	}
}

/* Commands whose first operand is one of the words of their summary. */
static const enum command with_topics[] = {COMMAND_show, COMMAND_list};

enum { WITH_TOPICS = sizeof with_topics / sizeof *with_topics };

/* For a shell whose `case` looks at the word before: bash sets `words`, zsh adds them. */
static void add_topics(struct text *out, const char *format)
{
	for (int i = 0; i < WITH_TOPICS; i++)
		for (const char *at = format; *at; at++) {
			const struct command_row *row = &command_rows[with_topics[i]];

			if (*at == '@')
				text_add(out, "%s", row->name);
			else if (*at == '#')
				text_add(out, "%s", row->summary);
			else
				text_add(out, "%c", *at);
		}
}

static void complete_bash(struct text *out)
{
	text_add(out, "_planc() {\n"
		      "  local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
		      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"");
	add_commands(out);
	text_add(out, "\"\n  else\n    case ${COMP_WORDS[COMP_CWORD-1]} in\n");
	for (uint32_t i = 0; i < option_count; i++)
		if (option_rows[i].kind == OPTION_CHOICE)
			text_add(out, "      --%s) words=\"%s\" ;;\n", option_rows[i].name,
				 option_rows[i].choices);
	add_topics(out, "      @) words=\"#\" ;;\n");
	text_add(out, "      *) case ${COMP_WORDS[1]} in\n");
	for (int i = 0; i < COMMANDS; i++) {
		text_add(out, "        %s) words=\"", command_rows[i].name);
		add_options(out, 1u << i);
		text_add(out, "\" ;;\n");
	}
	text_add(out, "      esac ;;\n    esac\n  fi\n"
		      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		      "}\ncomplete -o default -F _planc planc\n");
}

static void complete_zsh(struct text *out)
{
	text_add(out, "#compdef planc\n_planc() {\n  if (( CURRENT == 2 )); then\n"
		      "    compadd ");
	add_commands(out);
	text_add(out, "\n    return\n  fi\n  case $words[CURRENT-1] in\n");
	for (uint32_t i = 0; i < option_count; i++)
		if (option_rows[i].kind == OPTION_CHOICE)
			text_add(out, "    --%s) compadd %s; return ;;\n", option_rows[i].name,
				 option_rows[i].choices);
	add_topics(out, "    @) compadd #; return ;;\n");
	text_add(out, "  esac\n  case $words[2] in\n");
	for (int i = 0; i < COMMANDS; i++) {
		text_add(out, "    %s) compadd --", command_rows[i].name);
		add_options(out, 1u << i);
		text_add(out, " ;;\n");
	}
	text_add(out, "  esac\n  _files\n}\nif [ \"$funcstack[1]\" = _planc ]; then\n"
		      "  _planc \"$@\"\nelse\n  compdef _planc planc\nfi\n");
}

static void fish_option(struct text *out, const struct option_row *row)
{
	text_add(out, "complete -c planc -n '__fish_seen_subcommand_from");
	for (int i = 0; i < COMMANDS; i++)
		if (row->commands & 1u << i)
			text_add(out, " %s", command_rows[i].name);
	text_add(out, "'");
	if (row->letter)
		text_add(out, " -s %c", row->letter);
	if (*row->name)
		text_add(out, " -l %s", row->name);
	if (row->kind == OPTION_CHOICE)
		text_add(out, " -x -a '%s'", row->choices);
	else if (row->kind != OPTION_FLAG)
		text_add(out, " -r");
	text_add(out, " -d '%s'\n", row->doc);
}

/* The texts of both tables hold no single quote. */
static void complete_fish(struct text *out)
{
	for (int i = 0; i < COMMANDS; i++)
		text_add(out, "complete -c planc -n __fish_use_subcommand -f -a %s -d '%s'\n",
			 command_rows[i].name, command_rows[i].summary);
	add_topics(out, "complete -c planc -n '__fish_seen_subcommand_from @' -a '#'\n");
	for (uint32_t i = 0; i < option_count; i++)
		fish_option(out, &option_rows[i]);
}

void command_completion(struct session *session)
{
	static const struct {
		const char *shell;
		void (*complete)(struct text *);
	} shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};
	struct argument what = session->options.operands.at[0];

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		if (!strcmp(what.text, shells[i].shell)) {
			shells[i].complete(&session->out);
			return;
		}
	}
	diag_note(wrong_operand(session, what, "there is no completion for `%s`", what.text),
		  "valid values: bash, zsh, fish");
}
