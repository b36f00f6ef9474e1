/* SPDX-License-Identifier: Apache-2.0 */
/* test_operators FOLDER CASE: FOLDER/CASE.plan, compiled in this process and interpreted in fp64.
 *
 * The loss is that of the text, evaluated element by element over named dims. Every weight's
 * gradient, as the program accumulates it over two micro-batches, is the derivative of the loss
 * that its forward pass gives; one micro-batch of twice the size gives the same; lanes are added by
 * the balanced tree, to the bit; fp32 is near; no step writes what is not its own; the norm, the
 * mean and the clipping factor follow from the gradients. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "forward.h"

/* An operator of either table without a row in covers.def has no COVER_ and does not compile. */
enum {
#define COVER(op, plan) COVER_##op,
#include "covers.def"
#undef COVER
	COVERS
};

static const struct cover {
	const char *plan;
} covers[] = {
#define COVER(op, plan) {#plan},
#include "covers.def"
#undef COVER
};

static const int cover_of_op[] = {
#define OP(name, ins, outs, gradient, backward, doc) COVER_##name,
#include "graph/ops.def"
#undef OP
};

#define OPERATOR(name, operands, arrow, params, doc)                                               \
	_Static_assert((int)COVER_##name >= 0, "an operator of the language");
#include "plan/operators.def"
#undef OPERATOR

/* Finite differences: the distance of the points, and how far apart the two gradients of a tensor
 * may be, relative to max(its norm, 1e-3 of the whole gradient's). Four points: error h^4. At a
 * bend of relu nothing but a small distance helps, and rounding grows as 1 / h. */
static const struct bound {
	const char *plan;
	double distance, bound;
} bounds[] = {
	{"relu", 1e-6, 1e-6},
	{"mul", 1e-4, 1e-7},
	{"", 1e-3, 1e-7},
};

static const struct bound *bound_of(const char *plan)
{
	const struct bound *bound = bounds;
	while (*bound->plan && strcmp(bound->plan, plan))
		bound++;
	return bound;
}

/* A program at work on one step's batch. */
struct trial {
	struct compiled_plan *compiled;
	struct interpret *in;
	struct sample_batch batch;
};

static bool trial_start(struct trial *trial, struct compiled_plan *compiled)
{
	trial->compiled = compiled;
	CHECK(compiled != NULL);
	if (!compiled)
		return false;
	trial->in = interpret_open(compiled);
	trial->batch = sample_batch(compiled->plan, 11);
	trial->in->tokens = trial->batch.tokens;
	trial->in->targets = trial->batch.targets;
	sample_weights(trial->in, 7);
	trial->in->guarded = true;
	interpret_start(trial->in);
	return true;
}

static bool trial_open(struct trial *trial, const char *path, const char *const *set)
{
	return trial_start(trial, compiled_open(path, set));
}

static void trial_close(struct trial *trial)
{
	CHECK_INT(trial->in->faults, 0);
	interpret_close(trial->in);
	sample_free(&trial->batch);
	compiled_close(trial->compiled);
}

static double gradient(const struct trial *trial, const struct sample_param *p, uint64_t i)
{
	struct interpret_at at = {.layer = (int64_t)(i / p->elements)};
	return interpret_get(trial->in, p->buffers->gradient[0], at, i % p->elements);
}

static double gradient_norm(const struct trial *trial)
{
	double sum = 0;
	for (uint32_t k = 0; k < trial->compiled->graph.nparams; k++) {
		struct sample_param p = sample_param(trial->in, k);
		for (uint64_t i = 0; i < p.layers * p.elements; i++)
			sum += gradient(trial, &p, i) * gradient(trial, &p, i);
	}
	return sqrt(sum);
}

static void covered(const struct trial *trial, const char *name)
{
	for (int op = 0; op < OPS; op++) {
		bool found = strcmp(covers[cover_of_op[op]].plan, name) != 0;
		for (uint32_t i = 0; i < trial->compiled->graph.nnodes; i++)
			found |= trial->compiled->graph.nodes[i].op == (enum op)op;
		if (!found)
			fprintf(stderr, "%s.plan has no %s\n", name, op_row((enum op)op)->name);
		CHECK(found);
	}
}

static double loss_at(struct trial *trial, double *weight, double value)
{
	double kept = *weight;
	*weight = value;
	double loss = interpret_loss(trial->in);
	*weight = kept;
	return loss;
}

static double difference(struct trial *trial, double *weight, double h)
{
	double here = *weight;
	double near = loss_at(trial, weight, here + h) - loss_at(trial, weight, here - h);
	double far = loss_at(trial, weight, here + 2 * h) - loss_at(trial, weight, here - 2 * h);
	return (8 * near - far) / (12 * h);
}

/* Each use of a weight has its own accumulator; only a weight that the loss does not read has none.
 */
static void check_sites(const struct trial *trial, const struct sample_param *p)
{
	for (uint32_t site = 1; site < p->param->sites; site++) {
		double largest = 0;
		for (uint64_t i = 0; i < p->elements; i++)
			largest = fmax(largest,
				       fabs(interpret_get(trial->in, p->buffers->gradient[site],
							  (struct interpret_at){0}, i)));
		CHECK(largest > 0);
	}
}

static void compare_param(struct trial *trial, uint32_t param, const struct bound *bound,
			  double whole)
{
	struct sample_param p = sample_param(trial->in, param);
	double squares = 0, norm = 0, worst = 0;
	uint64_t at_worst = 0;
	for (uint64_t i = 0; i < p.layers * p.elements; i++) {
		struct interpret_at at = {.layer = (int64_t)(i / p.elements)};
		double *weight = interpret_copy(trial->in, p.buffers->weight, at);
		double got = gradient(trial, &p, i), error;
		if (sample_padding(&trial->compiled->graph, p.dims, i % p.elements)) {
			CHECK_DOUBLE(got, 0);
			continue;
		}
		error = fabs(difference(trial, &weight[i % p.elements], bound->distance) - got);
		if (!(error <= worst)) {
			worst = error;
			at_worst = i;
		}
		squares += error * error;
		norm += got * got;
	}
	check_sites(trial, &p);
	double scale = fmax(sqrt(norm), 1e-3 * whole);
	if (sqrt(squares) <= bound->bound * scale)
		return;
	fprintf(stderr, "%s: error %.3g, relative %.3g, worst at element %llu (%.3g)\n",
		p.param->name->text, sqrt(squares), sqrt(squares) / scale,
		(unsigned long long)at_worst, worst);
	CHECK(!"gradient");
}

/* Mean loss, count, norm and factor as the update sees them. */
static void check_norm(const struct trial *trial, double whole)
{
	const double *control =
		interpret_copy(trial->in, trial->in->role->control, (struct interpret_at){0});
	const double *sums =
		interpret_copy(trial->in, trial->in->role->sums, (struct interpret_at){0});
	double count = (double)trial->batch.counted, norm = whole / count;
	double factor = fmin(1, trial->compiled->plan->train.clip.f / norm) / count;
	CHECK_DOUBLE(sums[1], count);
	CHECK_DOUBLE(control[RT_CONTROL_COUNT], count);
	CHECK_DOUBLE(control[RT_CONTROL_LOSS], sums[0] / count);
	CHECK(fabs(control[RT_CONTROL_NORM] - norm) <= 1e-13 * norm);
	CHECK(fabs(control[RT_CONTROL_FACTOR] - factor) <= 1e-13 * factor);
	CHECK(norm > 1e-3);
}

static void gradients(const char *path, const char *name)
{
	const char *const set[] = {"batch=4", "micro=2", NULL};
	struct trial trial;
	if (!trial_open(&trial, path, set))
		return;
	covered(&trial, name);
	interpret_step(trial.in, 2);
	trial.in->guarded = false;
	double whole = gradient_norm(&trial);
	const double *sums =
		interpret_copy(trial.in, trial.in->role->sums, (struct interpret_at){0});
	double loss = sums[0];
	check_norm(&trial, whole);
	CHECK_DOUBLE(interpret_loss(trial.in), loss);
	for (uint32_t k = 0; k < trial.compiled->graph.nparams; k++)
		compare_param(&trial, k, bound_of(name), whole);
	trial_close(&trial);
}

/* The loss is what the text of the model says; without dropout, whose masks the text does not tell.
 */
static void meaning(const char *path)
{
	const char *const set[] = {"batch=6", "micro=3", NULL};
	struct trial trial;
	if (!trial_open(&trial, path, set))
		return;
	interpret_control(trial.in, 2);
	double *control =
		interpret_copy(trial.in, trial.in->role->control, (struct interpret_at){0});
	control[RT_CONTROL_TRAINING] = 0;
	double got = interpret_loss(trial.in), want = forward_loss(trial.in);
	if (!(fabs(got - want) <= 1e-13 * want))
		fprintf(stderr, "loss %.17g, by the text %.17g\n", got, want);
	CHECK(fabs(got - want) <= 1e-13 * want);
	trial_close(&trial);
}

static double loss_of(const struct trial *trial)
{
	const double *control =
		interpret_copy(trial->in, trial->in->role->control, (struct interpret_at){0});
	return control[RT_CONTROL_LOSS];
}

/* The same in fp32, whose products use library scratch. */
static void single(const char *path)
{
	const char *const set[] = {"batch=4", "micro=2", NULL};
	struct trial wide, narrow;
	if (!trial_open(&wide, path, set) || !trial_start(&narrow, compiled_single(path, set)))
		return;
	interpret_step(wide.in, 2);
	interpret_step(narrow.in, 2);
	double loss = loss_of(&wide), norm = gradient_norm(&wide);
	CHECK(fabs(loss_of(&narrow) - loss) <= 1e-5 * loss);
	CHECK(fabs(gradient_norm(&narrow) - norm) <= 1e-4 * norm);
	interpret_update(narrow.in, true);
	trial_close(&wide);
	trial_close(&narrow);
}

/* One micro-batch of four samples and four of one: the same sum in another order. */
static void micro_batches(const char *path)
{
	const char *const whole[] = {"batch=4", "micro=4", NULL};
	const char *const parts[] = {"batch=4", "micro=1", NULL};
	struct trial a, b;
	if (!trial_open(&a, path, whole) || !trial_open(&b, path, parts))
		return;
	interpret_step(a.in, 2);
	interpret_step(b.in, 2);
	double bound = 1e-12 * gradient_norm(&a);
	for (uint32_t k = 0; k < a.compiled->graph.nparams; k++) {
		struct sample_param p = sample_param(a.in, k), q = sample_param(b.in, k);
		for (uint64_t i = 0; i < p.layers * p.elements; i++)
			CHECK(fabs(gradient(&a, &p, i) - gradient(&b, &q, i)) <= bound);
	}
	trial_close(&a);
	trial_close(&b);
}

/* ---- lanes --------------------------------------------------------------------------------- */

enum { LANES = 4 };

/* Elements of an accumulator of one use, all layers, without padding between them. */
static double *copied(const struct trial *trial, uint32_t buffer)
{
	const struct buffer *b = &trial->compiled->program.buffers[buffer];
	double *all = malloc((size_t)(b->layers * b->elements) * sizeof *all);
	for (uint64_t i = 0; i < b->layers * b->elements; i++) {
		struct interpret_at at = {.layer = (int64_t)(i / b->elements)};
		all[i] = interpret_get(trial->in, buffer, at, i % b->elements);
	}
	return all;
}

/* Sums of one accumulator: of each lane on its own by `single`, and of all by `tree`. */
static void compare_lanes(double *lane[LANES], const struct trial *tree, uint32_t buffer)
{
	const struct buffer *b = &tree->compiled->program.buffers[buffer];
	double *got = copied(tree, buffer);
	for (uint64_t i = 0; i < b->layers * b->elements; i++)
		CHECK_DOUBLE(got[i], (lane[0][i] + lane[1][i]) + (lane[2][i] + lane[3][i]));
	free(got);
}

static void lanes_of(struct trial *single, const struct trial *tree, uint32_t buffer)
{
	double *lane[LANES];
	for (uint32_t j = 0; j < LANES; j++) {
		interpret_begin(single->in);
		interpret_turns(single->in, 2 * j, 2 * j + 2);
		lane[j] = copied(single, buffer);
	}
	compare_lanes(lane, tree, buffer);
	for (uint32_t j = 0; j < LANES; j++)
		free(lane[j]);
}

static void lanes(const char *path)
{
	const char *const one[] = {"batch=8", "micro=1", NULL};
	const char *const four[] = {"batch=8", "micro=1", "trees=4", NULL};
	struct trial single, tree;
	if (!trial_open(&single, path, one) || !trial_open(&tree, path, four))
		return;
	single.in->guarded = false;
	interpret_control(single.in, 2);
	interpret_control(tree.in, 2);
	interpret_begin(tree.in);
	interpret_turns(tree.in, 0, 8);
	for (uint32_t k = 0; k < tree.compiled->graph.nparams; k++)
		for (uint32_t site = 0; site < tree.compiled->graph.params[k].sites; site++) {
			uint32_t buffer = tree.compiled->program.params[k].gradient[site];
			CHECK_INT(single.compiled->program.params[k].gradient[site], buffer);
			lanes_of(&single, &tree, buffer);
		}
	lanes_of(&single, &tree, tree.in->role->sums);
	interpret_update(tree.in, true);
	trial_close(&single);
	trial_close(&tree);
}

int main(int argc, char **argv)
{
	char path[4096];
	if (argc != 3)
		return 2;
	snprintf(path, sizeof path, "%s/%s.plan", argv[1], argv[2]);
	meaning(path);
	gradients(path, argv[2]);
	single(path);
	micro_batches(path);
	lanes(path);
	return check_done();
}
