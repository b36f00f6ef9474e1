/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule on a plan that keeps it and on edits of that plan that break it, one at a time. */
#include "plan/rules/plan_rules.h"

#include "check.h"
#include "syntax/parse.h"

static const char base[] =
	"plan p\n"
	"edition 1\n"
	"import cpu  from \"std/devices/cpu.plan\"\n"
	"import arch from \"std/architectures.plan\"\n"
	"cluster c {\n"
	"  nodes = 2\n"
	"  node { devices = 4 of cpu.core { memory = 1 GiB } }\n"
	"}\n"
	"mesh { pp = 2 across nodes, dp = 2, tp = 2 within node }\n"
	"model m : arch.llama {\n"
	"  layers = 4, embed = 64, heads = 4, kv_heads = 2, ffn = 96, vocab = 256, context = 64\n"
	"  norm_eps = 1e-5, rope_base = 10_000, tied_embeddings = true\n"
	"}\n"
	"precision = fp32\n"
	"split {\n"
	"  data over dp\n"
	"  zero 1 over dp\n"
	"  tensor over tp\n"
	"  sequence over tp\n"
	"  pipeline over pp { schedule = 1f1b }\n"
	"}\n"
	"train {\n"
	"  seq_len = 32, global_batch = 16, micro_batch = 2, steps = 10\n"
	"  optimizer = adamw { lr = 1e-3, weight_decay = 0.1 }\n"
	"  seed = 1, data = bytes(\"x\")\n"
	"}\n";

/* `from` stands once in the base plan and becomes `to`. codes: errors and warnings, in order. */
static const struct edit {
	const char *from, *to, *codes;
} edits[] = {
	{"nodes = 2\n", "nodes = 2\n", ""},
	{"dp = 2,", "dp = 4,", "E0301"},
	{"dp = 2,", "dp = 0,", "E0300"},
	{"dp = 2,", "dp = rest,", ""},
	{"pp = 2 across nodes", "pp = 2 within node", "E0302"},
	{"dp = 2,", "dp = 2 within node,", ""},
	{"  data over dp\n  zero 1 over dp\n", "  data over dp * tp\n", "E0303"},
	{"  data over dp\n  zero 1 over dp\n", "", "E0304"},
	{"  data over dp\n", "", "E0312"},
	{"sequence over tp", "sequence over dp", "E0312"},
	{"sequence over tp", "sequence over pp", "E0312"},
	{"zero 1", "zero 5", "E0313"},
	{"tensor over tp", "tensor over tp dims [heads, embed]", "E0306"},
	{"tensor over tp", "tensor over tp dims [heads, ffn]", "E0310"},
	{"tensor over tp", "tensor over tp dims [heads, kv_heads]", ""},
	{"tensor over tp", "tensor over tp dims [ffn, vocab]", ""},
	{"kv_heads = 2,", "kv_heads = 1,", "E0310"},
	{"ffn = 96,", "ffn = 97,", "E0310"},
	{"vocab = 256,", "vocab = 255,", "W0511 E0311"},
	{"vocab = 256,", "vocab = 255, vocab_pad_to = 2,", "W0511"},
	{"tensor over tp\n", "tensor over tp { kv_heads = replicate(2) }\n", "E0310"},
	{"tensor over tp\n", "tensor over tp { heads = replicate(2) }\n", "E0306"},
	{"tensor over tp\n", "tensor over tp { kv_heads = replicate(3) }\n", "E0310"},
	{"sequence over tp\n", "layer.mlp.down_proj : ffn -> whole\n", ""},
	{"sequence over tp\n", "layer.mlp.down_proj : vocab -> whole\n", "E0306"},
	{"sequence over tp\n", "layer.mlp.down_proj : ffn -> dp\n", "E0306"},
	{"seq_len = 32, global_batch = 16, micro_batch = 2",
	 "seq_len = 31, global_batch = 6, micro_batch = 1", "E0310"},
	{"layers = 4,", "layers = 5,", "E0320"},
	{"layers = 4,", "layers = 1,", "E0320"},
	{"{ schedule = 1f1b }", "{ layers = [1, 3] }", ""},
	{"{ schedule = 1f1b }", "{ layers = [1, 2] }", "E0320"},
	{"{ schedule = 1f1b }", "{ layers = [1, 1, 2] }", "E0320"},
	{"{ schedule = 1f1b }", "{ schedule = interleaved_1f1b, chunks = 2 }", ""},
	{"{ schedule = 1f1b }", "{ schedule = interleaved_1f1b, chunks = 3 }", "E0320"},
	{"{ schedule = 1f1b }", "{ schedule = interleaved_1f1b }", "E0323"},
	{"{ schedule = 1f1b }", "{ schedule = gpipe, chunks = 2 }", "E0323"},
	{"global_batch = 16", "global_batch = 18", "E0322"},
	{"steps = 10", "steps = 10, lanes = 4", ""},
	{"steps = 10", "steps = 10, lanes = 3", "E0324"},
	{"steps = 10", "steps = 10, lanes = 16", "E0324"},
	{"steps = 10", "steps = 10, clip = 0", "E0115"},
	{"weight_decay = 0.1", "weight_decay = 0.1, eps = 0", "E0115"},
	{"steps = 10", "steps = 10, validate { every = 5, share = 0 % }", "E0115"},
	{"steps = 10", "steps = 10, validate { every = 11, share = 5 % }", "W0515"},
	{"zero 1 over dp", "zero 2 over dp { gather = step }", "W0515"},
	{"zero 1 over dp", "zero 2 over dp { gather = use, prefetch = 1 }", ""},
	{"global_batch = 16", "global_batch = 4", "W0503"},
	{"global_batch = 16", "global_batch = 8", ""},
	{"global_batch = 16", "global_batch = 8_000_000", "E0327"},
	{"steps = 10", "steps = 10, clip = 1e-3", ""},
	{"seed = 1,", "seed = 9_007_199_254_740_991,", ""},
	{"seed = 1,", "seed = 9_007_199_254_740_992,", "E0115"},
	{"vocab = 256,", "vocab = 254,", "W0511"},
	{"seed = 1,", "schedule = cosine { warmup = 11 }, seed = 1,", "E0115"},
	{"arch.llama {", "arch.gpt {", "E0206 E0201"},
	{"precision = fp32", "precision = fp32\nmemory { recompute = selective(attention.core) }",
	 "W0510"},
	{"precision = fp32", "precision = fp32\nmemory { recompute = selective(attention) }", ""},
	{"embed = 64, heads = 4,", "embed = 4_000_000_000, head = 16, heads = 4_000_000_000,",
	 "E0114"},
};

static char *replaced(struct arena *arena, const struct edit *edit)
{
	const char *at = strstr(base, edit->from);

	CHECK(at != NULL);
	if (!at)
		return arena_text(arena, "%s", base);
	return arena_text(arena, "%.*s%s%s", (int)(at - base), base, edit->to,
			  at + strlen(edit->from));
}

static void check_edit(const struct edit *edit)
{
	struct work work = {.keep = arena_new(), .scratch = arena_new()};
	const struct plan_options options = {0};
	const struct source *source;
	const char *got = "", *text;
	struct plan *plan;

	work.names = names_new(work.keep);
	work.sources = sources_new(work.keep);
	work.diags = diags_new(work.keep, work.sources);
	text = replaced(work.keep, edit);
	source = sources_add(work.sources, "p.plan", text, strlen(text), false);
	plan = plan_resolve(parse(source, &work), source, &options, &work);
	plan_check(plan, &work);
	diags_sort(work.diags);
	for (uint32_t i = 0; i < work.diags->all.n; i++)
		if (work.diags->all.at[i]->level != LEVEL_NOTE)
			got = arena_text(work.keep, "%s%s%s", got, *got ? " " : "",
					 diag_row(work.diags->all.at[i]->code)->code);
	if (strcmp(got, edit->codes) != 0)
		fprintf(stderr, "edit to `%s`:\n", edit->to);
	CHECK_TEXT(got, edit->codes);
	arena_delete(work.scratch);
	arena_delete(work.keep);
}

/* A rule may need earlier ones only. */
static void order(void)
{
	for (uint32_t i = 0; i < RULES; i++)
		CHECK((rule_row(i)->needs >> i) == 0);
}

int main(void)
{
	order();
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		check_edit(&edits[i]);
	return check_done();
}
