/* SPDX-License-Identifier: Apache-2.0 */
#include "described.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* What follows `word =` the first time that it stands there, or NULL. */
static const char *value_of(const char *text, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
		if ((at > text && in_word(at[-1])) || in_word(at[length]))
			continue;
		const char *after = at + length + strspn(at + length, " ");
		if (*after == '=')
			return after + 1 + strspn(after + 1, " ");
	}
	return NULL;
}

static uint64_t number_or(const char *text, const char *word, uint64_t otherwise)
{
	const char *at = value_of(text, word);
	uint64_t number = 0;
	if (!at || !isdigit((unsigned char)*at))
		return otherwise;
	for (; isdigit((unsigned char)*at) || *at == '_'; at++)
		number = *at == '_' ? number : 10 * number + (uint64_t)(*at - '0');
	return number;
}

static bool is_true(const char *text, const char *word)
{
	const char *at = value_of(text, word);
	return at && strncmp(at, "true", 4) == 0;
}

static bool has_word(const char *text, const char *word, const char *value)
{
	const char *at = value_of(text, word);
	return at && strncmp(at, value, strlen(value)) == 0 && !in_word(at[strlen(value)]);
}

/* ---- the model ------------------------------------------------------------------------------ */

static const struct family_words {
	const char *head;
	enum family family;
	const char *layers, *embed, *heads, *ffn, *vocab;
	unsigned cut; /* dims that the architecture gives to `tensor` */
} families[] = {
	{": arch.gpt {", GPT, "layers", "embed", "heads", "ffn", "vocab",
	 1u << DIM_HEADS | 1u << DIM_FFN | 1u << DIM_VOCAB},
	{": arch.llama {", LLAMA, "layers", "embed", "heads", "ffn", "vocab",
	 1u << DIM_HEADS | 1u << DIM_KV_HEADS | 1u << DIM_FFN | 1u << DIM_VOCAB},
	{": braid {", BRAID, "n", "a", "b", "d", "v",
	 1u << DIM_HEADS | 1u << DIM_FFN | 1u << DIM_VOCAB},
};

static const struct family_words *family_of(const char *text)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (strstr(text, families[i].head))
			return &families[i];
	return NULL;
}

static void read_model(const char *text, const struct family_words *words, struct described *out)
{
	const char *model = strstr(text, words->head);
	uint64_t pad = number_or(model, "vocab_pad_to", 1);
	out->family = words->family;
	out->layers = number_or(model, words->layers, 0);
	out->embed = number_or(model, words->embed, 0);
	out->heads = number_or(model, words->heads, 1);
	out->kv_heads = words->family == LLAMA ? number_or(model, "kv_heads", out->heads)
					       : out->heads;
	out->head = out->embed / out->heads;
	out->ffn = number_or(model, words->ffn, 4 * out->embed);
	out->vocab = (number_or(model, words->vocab, 0) + pad - 1) / pad * pad;
	out->context = number_or(model, "context", 0);
	out->tied = is_true(model, "tied_embeddings");
	out->qkv_bias = is_true(model, "qkv_bias");
	out->qk_norm = is_true(model, "qk_norm");
}

/* ---- recompute ------------------------------------------------------------------------------ */

static unsigned groups_of(const char *line, const char *end)
{
	static const struct {
		const char *name;
		unsigned group;
	} names[] = {
		{"block", AGAIN_BLOCK},	      {"attention", AGAIN_ATTENTION},
		{"mix", AGAIN_ATTENTION},     {"attention.core", AGAIN_CORE},
		{"mix.inner", AGAIN_CORE},    {"mlp", AGAIN_MLP},
		{"feed", AGAIN_MLP},
	};
	unsigned groups = 0;
	for (const char *at = line; at < end; at++) {
		size_t length = 0;
		while (at + length < end && (in_word(at[length]) || at[length] == '.'))
			length++;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strlen(names[i].name) == length &&
			    strncmp(at, names[i].name, length) == 0)
				groups |= names[i].group;
		at += length;
	}
	return groups;
}

/* "recompute = selective(mlp) on stage 0..1": a line for some stages, or for all. */
static void read_recompute(const char *memory, struct described *out)
{
	const char *end = strstr(memory, "\n}"), *line = memory;
	while ((line = strstr(line, "recompute =")) != NULL && line < end) {
		size_t length = strcspn(line, "\n");
		unsigned groups = groups_of(line, line + length), first = 0, last = STAGES_MOST - 1;
		const char *on = strstr(line, " on stage ");
		if (on && on < line + length && sscanf(on, " on stage %u..%u", &first, &last) == 1)
			last = first;
		for (unsigned stage = first; stage <= last && stage < STAGES_MOST; stage++)
			out->again[stage] |= groups;
		line += length;
	}
}

static void read_memory(const char *text, struct described *out)
{
	const char *memory = strstr(text, "\nmemory {");
	if (!memory)
		return;
	out->stored = has_word(memory, "attention", "stored");
	read_recompute(memory, out);
}

/* ---- the split ------------------------------------------------------------------------------ */

static enum cuttable dim_of(const struct family_words *words, const char *name, size_t length)
{
	const char *const names[] = {"", words->heads, "kv_heads", words->ffn, words->vocab};
	for (enum cuttable d = DIM_HEADS; d <= DIM_VOCAB; d++)
		if (strlen(names[d]) == length && strncmp(names[d], name, length) == 0)
			return d;
	return DIM_NONE;
}

static void read_dims(const char *line, const struct family_words *words, struct described *out)
{
	const char *at = strchr(line, '['), *end = strchr(line, '\n');
	out->cut = words->cut;
	if (!at || at > end)
		return;
	out->cut = 0;
	for (at++; *at && *at != ']'; at += strspn(at, ", ")) {
		size_t length = strcspn(at, ",] ");
		out->cut |= 1u << dim_of(words, at, length);
		at += length;
	}
}

static void read_zero(const char *split, struct described *out)
{
	const char *at = strstr(split, "zero ");
	if (strstr(split, "zero 1 over rep * dp")) {
		out->dp *= out->rep;
		out->rep = 1;
	}
	out->zero = at && out->dp > 1 ? strtoull(at + 5, NULL, 10) : 0;
	out->each = at && strtoull(at + 5, NULL, 10) >= 2;
	if (has_word(split, "reduce", "step") || out->dp * out->rep == 1)
		out->each = false;
	else if (has_word(split, "reduce", "micro_batch"))
		out->each = true;
	out->once = has_word(split, "gather", "step");
	out->ahead = number_or(split, "prefetch", 1);
}

/* "[2, 1, 3]" after `layers =` of the pipeline. */
static void read_list(const char *pipeline, struct described *out)
{
	const char *at = value_of(pipeline, "layers");
	char *end;
	out->is_listed = at && *at == '[';
	for (size_t i = 0; out->is_listed && i < LAYERS_LISTED_MOST && *at != ']'; i++) {
		out->listed[i] = strtoull(at + 1, &end, 10);
		at = end + strspn(end, " ");
	}
}

static void read_pipeline(const char *split, struct described *out)
{
	const char *at = strstr(split, "pipeline over");
	out->chunks = at ? number_or(at, "chunks", 1) : 1;
	out->gpipe = at && has_word(at, "schedule", "gpipe");
	if (at)
		read_list(at, out);
}

/* "layer.mlp.down_proj : ffn -> whole" */
static void read_rule(const char *split, const struct family_words *words, struct described *out)
{
	const char *arrow = strstr(split, " -> whole"), *line = arrow;
	char dim[32];
	if (!arrow)
		return;
	while (line > split && line[-1] != '\n')
		line--;
	if (sscanf(line, " %63s : %31s ->", out->whole, dim) == 2)
		out->whole_dim = dim_of(words, dim, strlen(dim));
}

static void read_split(const char *text, const struct family_words *words, struct described *out)
{
	const char *split = strstr(text, "\nsplit {"), *at;
	out->chunks = out->copies = 1;
	if (!split)
		return;
	read_zero(split, out);
	read_pipeline(split, out);
	read_rule(split, words, out);
	at = strstr(split, "tensor over");
	if (at)
		read_dims(at, words, out);
	out->sequence = strstr(split, "sequence over") != NULL && out->tp > 1;
	at = strstr(split, "replicate(");
	if (at)
		out->copies = strtoull(at + strlen("replicate("), NULL, 10);
}

bool described_read(const char *text, struct described *out)
{
	const struct family_words *words = family_of(text);
	const char *train = strstr(text, "\ntrain {");
	*out = (struct described){0};
	if (!words || !train)
		return false;
	out->dp = number_or(text, "dp", 1);
	out->rep = number_or(text, "rep", 1);
	out->tp = number_or(text, "tp", number_or(text, "ta", 1) * number_or(text, "tb", 1));
	out->pp = number_or(text, "pp", 1);
	read_model(text, words, out);
	read_split(text, words, out);
	read_memory(text, out);
	out->drops = out->family == GPT && number_or(text, "dropout", 0) > 0;
	out->tokens = number_or(train, "seq_len", 0);
	out->micro = number_or(train, "micro_batch", 0);
	out->batch = number_or(train, "global_batch", 0);
	out->lanes = number_or(train, "lanes", out->dp * out->rep);
	return out->layers && out->embed && out->vocab && out->tokens && out->micro && out->batch;
}

uint64_t described_micro_batches(const struct described *d)
{
	return d->batch / d->micro / (d->dp * d->rep);
}
