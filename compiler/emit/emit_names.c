/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the plan as names of C: what stands for a thing is decided once, here, and no two things
 * of a kind get the same. Kinds are kept apart by a prefix, which variables alone do not have. */
#include "emit/emit_text.h"

#include <ctype.h>
#include <string.h>

#include "base/bug.h"

enum kind { KIND_BUFFER, KIND_PARAM, KIND_DIM, KIND_GROUP };

struct c_name {
	enum kind kind;
	uint64_t what, which; /* what it stands for */
	const char *text;
};
struct c_names {
	VEC(struct c_name) all;
	const char ***buffers; /* by stage and buffer */
	struct names first;    /* buffers with a name of their own */
};

/* Words that a name of a plan must not take in C. */
static const char *const reserved[] = {
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
	"enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
	"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
	"union", "unsigned", "void", "volatile", "while", "at", "above", "main", "bool", "true",
	"false", "asm", "typeof", "int8_t", "uint8_t", "uint16_t", "int32_t", "int64_t", "size_t",
	"rt", "forward", "backward", "update", "begin", "merge", "merge_losses", "plan", "roles",
	"axes", "groups", "params", "items", "linux", "linux_", "unix", "NULL", "HERE", "NEXT",
	"ABOVE", "PLACE", "PLACES", "GROUPS", "PLAN_H", "ARENA_BYTES", "WORKSPACE_BYTES"};

/* How macros of the emitted text and of its headers begin, and names that C keeps for itself. */
static const char *const prefixes[] = {
	"rt_", "RT_", "_", "N_", "ALL_", "SLICE_", "FLAT_", "LAYER_", "GROUP_", "PLACE_", "INT",
	"UINT", "PTR", "SIZE_", "SIG_", "WCHAR", "WINT", "place_"};

/* Behind the name of a variable: other copies of its buffer (emit_steps.c). */
static const char *const copies[] = {"_next", "_slice", "_above"};

/* Letters, digits and `_` of a text. */
static char *word_of(struct emitter *e, const char *text)
{
	char *word = arena_text(e->arena, "%s", text);
	for (char *c = word; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return word;
}

/* A word that may be the name of a variable. */
static const char *variable(struct emitter *e, const char *text)
{
	const char *word = word_of(e, text);
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (!strcmp(word, reserved[i]))
			return arena_text(e->arena, "%s_", word);
	bool apart = !isalpha((unsigned char)*word);
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		apart |= !strncmp(word, prefixes[i], strlen(prefixes[i]));
	return apart ? arena_text(e->arena, "x_%s", word) : word;
}

/* True if `longer` is a variable for another copy of the buffer `name`. */
static bool is_copy(const char *longer, const char *name)
{
	size_t n = strlen(name);
	if (strncmp(longer, name, n))
		return false;
	for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
		if (!strcmp(longer + n, copies[i]))
			return true;
	return false;
}

static bool name_taken(const struct emitter *e, enum kind kind, const char *text)
{
	for (uint32_t i = 0; i < e->names->all.n; i++) {
		const struct c_name *other = &e->names->all.at[i];
		if (other->kind != kind)
			continue;
		if (!strcmp(other->text, text))
			return true;
		if (kind == KIND_BUFFER &&
		    (is_copy(other->text, text) || is_copy(text, other->text)))
			return true;
	}
	return false;
}

static const char *known(const struct emitter *e, enum kind kind, uint64_t what, uint64_t which)
{
	for (uint32_t i = 0; i < e->names->all.n; i++) {
		const struct c_name *one = &e->names->all.at[i];
		if (one->kind == kind && one->what == what && one->which == which)
			return one->text;
	}
	return NULL;
}

/* `wanted`, with a number behind it where something else of its kind is called so. */
static const char *claim(struct emitter *e, enum kind kind, uint64_t what, uint64_t which,
			 const char *wanted)
{
	const char *text = wanted;
	for (unsigned n = 2; name_taken(e, kind, text); n++)
		text = arena_text(e->arena, "%s_%u", wanted, n);
	vec_push(e->arena, &e->names->all, (struct c_name){kind, what, which, text});
	return text;
}

/* A buffer of another stage is the same one if its name, item and parameter are; `nth` of those in
 * this stage. */
static const char *name_buffer(struct emitter *e, const struct buffer *b, uint64_t nth)
{
	uint64_t what = (uint64_t)(uintptr_t)b->name;
	uint64_t which = nth << 40 | (uint64_t)b->item << 32 | b->param;
	const char *text = known(e, KIND_BUFFER, what, which);
	if (text)
		return text;
	vec_push(e->arena, &e->names->first.all,
		 (struct named){b, claim(e, KIND_BUFFER, what, which, variable(e, b->name->text))});
	return e->names->first.all.at[e->names->first.all.n - 1].text;
}

static const char **name_buffers(struct emitter *e, const struct program *p)
{
	const char **texts = ARENA_ARRAY(e->arena, const char *, p->nbuffers + 1);
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer *b = &p->buffers[i];
		uint64_t nth = 0;
		for (uint32_t k = 0; k < i; k++)
			nth += p->buffers[k].name == b->name && p->buffers[k].item == b->item &&
			       p->buffers[k].param == b->param;
		texts[i] = name_buffer(e, b, nth);
	}
	return texts;
}

/* Sizes that the text names whatever the model has. */
static void name_sizes(struct emitter *e)
{
	const struct model *m = e->program->graph->model;
	uint64_t layers = NO_ID;
	for (uint32_t i = 0; i < m->ndims; i++)
		if (name_is(m->dims[i].name, "layers"))
			layers = i;
	claim(e, KIND_DIM, layers, 0, "N_LAYERS");
	claim(e, KIND_DIM, m->batch, 0, "N_BATCH");
	claim(e, KIND_DIM, m->tokens, 0, "N_TOKENS");
	if (e->program->buffers[e->program->roles[0].sums].levels > 1)
		claim(e, KIND_DIM, UINT64_MAX, 0, "N_LEVELS");
}

void emit_names(struct emitter *e)
{
	const struct program *p = e->program;
	uint32_t s = 0;
	e->names = ARENA_NEW(e->arena, struct c_names);
	name_sizes(e);
	for (uint32_t i = 0; i < p->graph->nparams; i++)
		claim(e, KIND_PARAM, i, 0, word_of(e, p->graph->params[i].name->text));
	for (uint32_t i = 0; i < p->ngroups; i++)
		claim(e, KIND_GROUP, i, 0,
		      arena_text(e->arena, "GROUP_%s", word_of(e, p->groups[i].name->text)));
	e->names->buffers = ARENA_ARRAY(e->arena, const char **, p->stages + 1);
	for (const struct layout *l = e->stages; l; l = l->next)
		e->names->buffers[s++] = name_buffers(e, l->program);
}

const struct names *emit_buffers(const struct emitter *e)
{
	return &e->names->first;
}

const char *emit_buffer(const struct emitter *e, uint32_t buffer)
{
	return e->names->buffers[e->piped ? e->program->stage : 0][buffer];
}

const char *emit_param_name(const struct emitter *e, uint32_t param)
{
	return known(e, KIND_PARAM, param, 0);
}

const char *emit_group_at(const struct emitter *e, uint32_t group)
{
	return known(e, KIND_GROUP, group, 0);
}

const char *emit_group(const struct emitter *e, uint32_t factors)
{
	const struct program *p = e->program;
	for (uint32_t i = 0; i < p->ngroups; i++)
		if (p->groups[i].factors == factors)
			return emit_group_at(e, i);
	BUG("no group of factors %x", factors);
}

const char *emit_dim(struct emitter *e, uint32_t dim, bool logical, uint32_t cuts)
{
	const struct dim *d = &e->program->graph->model->dims[dim];
	bool padded = !logical && d->padded != d->size;
	uint64_t which = (uint64_t)padded << 32 | cuts;
	const char *there = known(e, KIND_DIM, dim, which);
	if (there)
		return there;
	char *text = arena_text(e->arena, "N_%s%s", d->name->text, padded ? "_PADDED" : "");
	for (uint32_t f = 0; f < e->program->flow->factors.n; f++)
		if (cuts >> f & 1)
			text = arena_text(e->arena, "%s_%s", text,
					  e->program->flow->factors.at[f].name->text);
	text = word_of(e, text);
	for (char *c = text; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return claim(e, KIND_DIM, dim, which, text);
}
