/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans: what they resolve to, params from outside, imports, and that `expand` is a fixed
 * point. Takes the folder of the plans. */
#include "check.h"
#include "plan/plan.h"
#include "syntax/parse.h"

/* Files that exist for imports of one test. */
struct disk {
	const char *const (*files)[2];
	size_t count;
};

struct run {
	struct work work;
	const struct plan *plan;
	struct disk disk;
};

static const struct source *read_file(void *self, const char *path, struct work *work)
{
	const struct disk *disk = self;
	size_t length;
	char *text;

	for (size_t k = 0; k < disk->count; k++)
		if (!strcmp(disk->files[k][0], path))
			return sources_add(work->sources, path, disk->files[k][1],
					   strlen(disk->files[k][1]), false);
	text = text_read(work->keep, path, &length);
	return text ? sources_add(work->sources, path, text, length, false) : NULL;
}

static void run_text(struct run *run, const char *path, const char *text,
		     struct plan_options options)
{
	const struct source *source;

	run->work = (struct work){.keep = arena_new(), .scratch = arena_new()};
	run->work.names = names_new(run->work.keep);
	run->work.sources = sources_new(run->work.keep);
	run->work.diags = diags_new(run->work.keep, run->work.sources);
	options.read = read_file;
	options.reader = &run->disk;
	source = sources_add(run->work.sources, path, text, strlen(text), false);
	run->plan = plan_resolve(parse(source, &run->work), source, &options, &run->work);
}

static void run_end(struct run *run)
{
	arena_delete(run->work.keep);
	arena_delete(run->work.scratch);
}

/* Codes of all diagnostics, "E0201 E0206". */
static const char *codes(struct run *run)
{
	struct text out = text_new(run->work.keep);

	for (uint32_t k = 0; k < run->work.diags->all.n; k++)
		text_add(&out, "%s%s", k ? " " : "",
			 diag_row(run->work.diags->all.at[k]->code)->code);
	return out.at ? out.at : "";
}

static char *expanded(struct run *run)
{
	struct text out = text_new(run->work.keep);

	plan_expand(run->plan, &run->work, &out);
	return out.at;
}

static char *dump(struct run *run)
{
	struct text out = text_new(run->work.keep);

	plan_print(run->plan, &run->work, &out);
	return out.at;
}

/* Takes comments and the blanks before them out of each line. */
static char *without_comments(char *text)
{
	char *to = text;

	for (char *at = text; *at; at++) {
		if (at[0] == '/' && at[1] == '/') {
			while (to > text && to[-1] == ' ')
				to--;
			while (*at && *at != '\n')
				at++;
			if (!*at)
				break;
		}
		*to++ = *at;
	}
	*to = 0;
	return text;
}

static void fixed_point(const char *folder, const char *name)
{
	struct run first = {0}, second = {0}, third = {0};
	struct arena *arena = arena_new();
	char *path = arena_text(arena, "%s/%s", folder, name), *text;
	size_t length;

	text = text_read(arena, path, &length);
	CHECK(text);
	if (!text)
		return;
	run_text(&first, path, text, (struct plan_options){0});
	CHECK_TEXT(codes(&first), "");
	run_text(&second, "second.plan", expanded(&first), (struct plan_options){0});
	CHECK_TEXT(codes(&second), "");
	run_text(&third, "third.plan", expanded(&second), (struct plan_options){0});
	CHECK_TEXT(codes(&third), "");
	CHECK_TEXT(without_comments(expanded(&second)), without_comments(expanded(&first)));
	CHECK_TEXT(without_comments(dump(&second)), without_comments(dump(&first)));
	CHECK_TEXT(without_comments(dump(&third)), without_comments(dump(&second)));
	run_end(&first);
	run_end(&second);
	run_end(&third);
	arena_delete(arena);
}

static void large(const char *folder)
{
	const char *const sets[] = {"n_nodes=256", "batch=3072"};
	struct run run = {0};
	char *path, *text;
	size_t length;
	struct arena *arena = arena_new();

	path = arena_text(arena, "%s/gpt3-175b.plan", folder);
	text = text_read(arena, path, &length);
	run_text(&run, path, text, (struct plan_options){0});
	CHECK_INT(run.plan->devices, 1024);
	CHECK_INT(run.plan->data_ranks, 8);
	CHECK_INT(run.plan->stages, 16);
	CHECK_INT(run.plan->micro_batches, 192);
	CHECK_INT(run.plan->schedule.warmup.i, 120);
	CHECK_INT(run.plan->nrequires, 3);
	CHECK_DOUBLE(run.plan->cluster_link.bandwidth.f, 25e9);
	run_end(&run);
	run_text(&run, path, text, (struct plan_options){.set = sets, .nset = 2});
	CHECK_TEXT(codes(&run), "");
	CHECK_INT(run.plan->axes[1].size, 16);
	CHECK_INT(run.plan->train.global_batch.origin, ORIGIN_COMMAND);
	CHECK_TEXT(run.plan->train.global_batch.from, "-P batch=3072");
	CHECK_INT(run.plan->noutside, 2);
	run_end(&run);
	arena_delete(arena);
}

/* --- imports ---------------------------------------------------------------------------- */

#define HEAD "plan p\nedition 1\n"
#define REST                                                                                       \
	"import arch from \"std/architectures.plan\"\n"                                            \
	"cluster c { node { devices = 1 of lib.box } }\n"                                          \
	"model m : arch.llama { layers = 1, embed = 8, heads = 2, ffn = 8, vocab = 16\n"           \
	"context = 8, norm_eps = 1e-5, rope_base = 10_000, tied_embeddings = true }\n"             \
	"precision = fp32\n"                                                                       \
	"train { seq_len = 8, global_batch = 2, micro_batch = 1, steps = lib.rounds, seed = 1\n"   \
	"optimizer = adamw { lr = 1e-3, weight_decay = 0 }, data = bytes(\"x\") }\n"
#define BOX "edition 1\nlet rounds = 2 * half\nlet half = 5\ndevice box { memory = size }\n"       \
	    "let size = 1 GiB\n"

static void importing(void)
{
	static const char *const files[][2] = {
		{"dir/lib.plan", "library lib\n" BOX},
		{"inc/lib.plan", "library lib\n" BOX},
		{"dir/a.plan", "library a\nedition 1\nimport b from \"b.plan\"\n"},
		{"dir/b.plan", "library b\nedition 1\nimport a from \"./x/../a.plan\"\n"},
		{"dir/broken.plan", "library lib\nedition 1\ndevice box { memory = = }\n"},
	};
	static const struct {
		const char *path, *import, *want;
	} rows[] = {
		{"dir/p.plan", "import lib from \"lib.plan\"\n", ""},
		{"dir/p.plan", "import lib from \"./../dir/lib.plan\"\n", ""},
		{"other/p.plan", "import lib from \"lib.plan\"\n", ""},
		{"other/p.plan", "import lib from \"none.plan\"\n", "E0208"},
		{"dir/p.plan", "import lib from \"lib.plan\"\nimport a from \"a.plan\"\n", "E0205"},
		{"dir/p.plan", "import lib from \"broken.plan\"\n", "E0101"},
		{"dir/p.plan", "import lib from \"p.plan\"\n", "E0205"},
	};
	static const char *const include[] = {"inc"};
	struct run run = {.disk = {files, sizeof files / sizeof *files}};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct plan_options options = {.include = include, .ninclude = 1};
		struct arena *arena = arena_new();
		char *text = arena_text(arena, "%s%s%s", HEAD, rows[k].import, REST);

		run_text(&run, rows[k].path, text, options);
		CHECK_TEXT(codes(&run), rows[k].want);
		if (!*rows[k].want) {
			CHECK_INT(run.plan->train.steps.i, 10);
			CHECK_INT(run.plan->device.memory.i, 1 << 30);
		}
		run_end(&run);
		arena_delete(arena);
	}
}

static void batches(void)
{
	static const struct {
		const char *given;
		long long global, micro, count;
	} rows[] = {
		{"global_batch = 24, micro_batch = 2", 24, 2, 12},
		{"global_batch = 24, micro_batches = 6", 24, 4, 6},
		{"micro_batch = 4, micro_batches = 6", 24, 4, 6},
		{"micro_batch = 4, micro_batches = 6, global_batch = 24", 24, 4, 6},
	};
	struct run run = {0};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct arena *arena = arena_new();
		char *text = arena_text(
			arena,
			HEAD "import arch from \"std/architectures.plan\"\n"
			     "device box { memory = 1 GiB }\n"
			     "cluster c { node { devices = 1 of box } }\n"
			     "model m : arch.llama { layers = 1, embed = 8, heads = 2, ffn = 8\n"
			     "vocab = 16, context = 8, norm_eps = 1e-5, rope_base = 10_000\n"
			     "tied_embeddings = true }\nprecision = fp32\n"
			     "train { %s, seq_len = 8, steps = 1, seed = 1\n"
			     "optimizer = adamw { lr = 1, weight_decay = 0 }\n"
			     "data = bytes(\"x\") }\n",
			rows[k].given);

		run_text(&run, "p.plan", text, (struct plan_options){0});
		CHECK_TEXT(codes(&run), "");
		CHECK_INT(run.plan->train.global_batch.i, rows[k].global);
		CHECK_INT(run.plan->train.micro_batch.i, rows[k].micro);
		CHECK_INT(run.plan->micro_batches, rows[k].count);
		run_end(&run);
		arena_delete(arena);
	}
}

/* What `override` may change, and what it may not. */
static void overriding(const char *folder)
{
	static const struct {
		const char *statement, *want;
	} rows[] = {
		{"override train.steps = 7", ""},
		{"override train.optimizer.lr = 1e-4", ""},
		{"override cluster.box.node.devices = 8 of nvidia.a100_sxm_80g", ""},
		{"override memory.attention = stored", ""},
		{"override model.llama3.context = 8192", "E0207"},
		{"override precision = fp32", ""},
		{"override mesh.tp = 2", "E0207"},
		{"override checkpoints.every = 2", "E0207"},
		{"override seed = 2", "E0207"},
		{"override split.zero.gather = step", ""},
		{"override split.data.reduce = step", ""},
		{"override split.pipeline.chunks = 2", "E0207"},
		{"override split.zero = 2", "E0305"},
		{"override split { data over dp }", ""},
		{"override split { zero 1 over dp }", ""},
		{"override precision { compute = fp32, params = fp32, gradients = fp32, "
		 "optimizer = fp32, loss = fp32 }", ""},
		{"override memory { attention = stored }", ""},
		{"override checkpoints { every = 2 }", "E0207"},
		{"override cluster { nodes = 2 }", "E0207"},
		{"memory { override attention = stored }", "E0207"},
		{"split { override zero { gather = step } }", "E0207 E0201"},
		{"override train.seed = 7\noverride train.seed = 8", "E0202"},
		{"override cluster.box.nodes = 2\noverride cluster.nodes = 2", "E0202"},
		{"override train.optimizer.eps = 1e-6\n"
		 "override train.optimizer = adamw { lr = 3e-4, weight_decay = 0 }", "E0202"},
		{"override train.optimizer = adamw { lr = 3e-4, weight_decay = 0 }\n"
		 "override train.optimizer.eps = 1e-6", ""},
		{"override split { data over dp }\noverride split { data over dp }", "E0202"},
		{"override split.data.reduce = step\noverride split { data over dp }", "E0202"},
		{"override split { data over dp }\noverride split.data.reduce = step", ""},
		{"override memory.attention = stored\noverride memory.reserve = 1 MiB", ""},
		{"split { zero 2 over dp }", "E0202"},
		{"train { clip = 2 }", "E0202"},
		{"require bubble <= 5 %", ""},
		{"param micro : seqs = 2", "E0202"},
	};
	struct run run = {0};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct arena *arena = arena_new();
		char *path = arena_text(arena, "%s/changed.plan", folder);
		char *text = arena_text(
			arena, "plan changed extends \"llama3-8b.plan\"\nedition 1\n%s\n",
			rows[k].statement);

		run_text(&run, path, text, (struct plan_options){0});
		CHECK_TEXT(codes(&run), rows[k].want);
		CHECK_INT(run.plan->train.steps.i, k ? 10000 : 7);
		CHECK_DOUBLE(run.plan->optimizer.lr.f, k == 1 ? 1e-4 : 3e-4);
		run_end(&run);
		arena_delete(arena);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"gpt2-laptop.plan", "llama3-8b.plan",
					    "llama3-8b-two-nodes.plan", "gpt3-175b.plan",
					    "every-setting.plan"};
	const char *folder = argc > 1 ? argv[1] : ".";

	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		fixed_point(folder, names[k]);
	large(folder);
	overriding(folder);
	importing();
	batches();
	return check_done();
}
