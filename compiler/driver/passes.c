/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/passes.h"

#include <string.h>

#include "base/bug.h"

static bool run_ast(struct compiled *c, struct work *work)
{
	c->file = parse(c->source, work);
	return true;
}

static bool run_plan(struct compiled *c, struct work *work)
{
	c->plan = plan_resolve(c->file, c->source, c->options, work);
	return true;
}

static bool run_rules(struct compiled *c, struct work *work)
{
	return plan_check(c->plan, work) && !c->plan->poisoned;
}

static bool run_graph(struct compiled *c, struct work *work)
{
	return graph_build(c->plan, &c->graph, work);
}

static bool run_program(struct compiled *c, struct work *work)
{
	return part_build(&c->graph, &c->program, work);
}

static bool run_layout(struct compiled *c, struct work *work)
{
	return place_build(&c->program, &c->layout, work);
}

static bool run_verdict(struct compiled *c, struct work *work)
{
	judge(&c->layout, &c->verdict, work);
	c->judged = true;
	return true;
}

static void verify_graph(const struct compiled *c)
{
	graph_verify(&c->graph);
}

static void verify_program(const struct compiled *c)
{
	program_verify(&c->program);
}

static void verify_layout(const struct compiled *c)
{
	layout_verify(&c->layout);
}

/* The table adds up: peak of arena, of what lies outside it, and of what is kept free. */
static void verify_verdict(const struct compiled *c)
{
	const struct verdict *v = &c->verdict;

	BUG_IF(v->arena + v->outside + v->reserve != v->peak, "the peak is no sum of its parts");
	BUG_IF(v->plan != c->plan, "a verdict on another plan");
}

static void print_ast(const struct compiled *c, const struct work *work, struct text *out)
{
	(void)work;
	ast_print(c->file, out);
}

static void print_plan(const struct compiled *c, const struct work *work, struct text *out)
{
	plan_print(c->plan, work, out);
}

static void print_graph(const struct compiled *c, const struct work *work, struct text *out)
{
	graph_print(&c->graph, work, out);
}

static void print_program(const struct compiled *c, const struct work *work, struct text *out)
{
	program_print(&c->program, work, out);
}

static void print_layout(const struct compiled *c, const struct work *work, struct text *out)
{
	layout_print(&c->layout, work, out);
}

static void print_verdict(const struct compiled *c, const struct work *work, struct text *out)
{
	verdict_print(&c->verdict, work, out);
}

/* `always`: runs on faulty input too, so that one run reports as much as it can. */
static const struct pass {
	const char *name;
	bool always;
	bool (*run)(struct compiled *, struct work *);
	void (*verify)(const struct compiled *);
	void (*print)(const struct compiled *, const struct work *, struct text *);
} passes[] = {
	{"ast", true, run_ast, NULL, print_ast},
	{"plan", true, run_plan, NULL, print_plan},
	{"rules", true, run_rules, NULL, print_plan},
	{"graph", false, run_graph, verify_graph, print_graph},
	{"program", false, run_program, verify_program, print_program},
	{"layout", false, run_layout, verify_layout, print_layout},
	{"verdict", false, run_verdict, verify_verdict, print_verdict},
};

static bool is(const char *name, const char *wanted)
{
	return wanted && !strcmp(name, wanted);
}

bool compile(const struct source *source, const struct plan_options *options,
	     const struct compile_options *how, struct compiled *out, struct work *work)
{
	uint32_t before = work->diags->errors;

	work->errors_before = before;
	work->diags_before = work->diags->all.n;
	*out = (struct compiled){.source = source, .options = options, .reached = ""};
	for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
		const struct pass *pass = &passes[i];
		bool good, faulty = work->diags->errors != before;

		if (faulty && (!pass->always || how->fail_fast))
			break;
		if (how->entering)
			how->entering(how->self, pass->name);
		good = pass->run(out, work);
		arena_reset(work->scratch);
		if (!good && !pass->always)
			break;
		if (good && pass->verify && how->verify)
			pass->verify(out);
		if (good && is(pass->name, how->dump))
			pass->print(out, work, how->out);
		if (good)
			out->reached = pass->name;
		if (is(pass->name, how->stop_after))
			break;
	}
	return work->diags->errors == before;
}
