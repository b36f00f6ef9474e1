/* SPDX-License-Identifier: Apache-2.0 */
/* Text to syntax tree. */
#ifndef SYNTAX_PARSE_H
#define SYNTAX_PARSE_H

#include "base/text.h"
#include "base/work.h"
#include "syntax/ast.h"

/* One file to its tree. Assumes: `source` is in work->sources. Gives: a NODE_FILE, with NODE_ERROR
 * where the text was faulty; every fault of the file is in work->diags. Never NULL. */
struct node *parse(const struct source *source, struct work *work);

/* Canonical .plan text of a tree: parsing it again gives the same tree but for spans. */
void ast_print(const struct node *file, struct text *out);

/* One style for a source: two spaces, `=` aligned in runs, comments kept. False (and nothing
 * written) if the source does not parse. */
bool format_source(const struct source *source, struct work *work, struct text *out);

#endif
