/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/cpu_dnnl.h"

#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

enum operand { LEFT, RIGHT, RESULT, SCRATCH, OPERANDS };

/* All that a product depends on but its addresses. */
struct shape {
	enum rt_type type;
	int64_t m, n, k, workspace_bytes;
	bool trans_a, trans_b, accumulate, wide_c;
};

struct product {
	struct shape shape;
	dnnl_primitive_t primitive; /* NULL: the library has none */
	int64_t scratch;	    /* of the library's first choice */
	dnnl_memory_t memory[OPERANDS];
};

struct cpu_dnnl {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	struct product *products;
	size_t count, room;
	size_t last; /* programs run the same shapes in the same order: the next one is tried first
		      */
};

struct cpu_dnnl *cpu_dnnl_open(void)
{
	struct cpu_dnnl *dnnl = calloc(1, sizeof(*dnnl));
	if (!dnnl)
		return NULL;
	if (dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0) == dnnl_success &&
	    dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags) ==
		    dnnl_success)
		return dnnl;
	cpu_dnnl_close(dnnl);
	return NULL;
}

void cpu_dnnl_close(struct cpu_dnnl *dnnl)
{
	if (!dnnl)
		return;
	for (size_t i = 0; i < dnnl->count; i++) {
		for (int j = 0; j < OPERANDS; j++)
			dnnl_memory_destroy(dnnl->products[i].memory[j]);
		dnnl_primitive_destroy(dnnl->products[i].primitive);
	}
	free(dnnl->products);
	dnnl_stream_destroy(dnnl->stream);
	dnnl_engine_destroy(dnnl->engine);
	free(dnnl);
}

static bool describe(dnnl_memory_desc_t *desc, int64_t rows, int64_t columns, bool turned,
		     bool wide)
{
	dnnl_dims_t dims = {rows, columns};
	dnnl_dims_t strides = {turned ? 1 : columns, turned ? rows : 1};
	return dnnl_memory_desc_init_by_strides(desc, 2, dims, wide ? dnnl_f32 : dnnl_bf16,
						strides) == dnnl_success;
}

static bool make_attributes(dnnl_primitive_attr_t *attributes, bool accumulate)
{
	if (dnnl_primitive_attr_create(attributes) != dnnl_success)
		return false;
	dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
	if (!accumulate)
		return true;
	dnnl_post_ops_t after;
	if (dnnl_post_ops_create(&after) != dnnl_success)
		return false;
	bool ok = dnnl_post_ops_append_sum(after, 1) == dnnl_success &&
		  dnnl_primitive_attr_set_post_ops(*attributes, after) == dnnl_success;
	dnnl_post_ops_destroy(after);
	return ok;
}

static bool make_memory(struct cpu_dnnl *dnnl, struct product *p, const_dnnl_primitive_desc_t made,
			const dnnl_memory_desc_t *descs)
{
	const dnnl_memory_desc_t *scratch =
		dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
	for (int i = 0; i < OPERANDS; i++) {
		const dnnl_memory_desc_t *desc = i == SCRATCH ? scratch : &descs[i];
		if (desc && dnnl_memory_create(&p->memory[i], desc, dnnl->engine,
					       DNNL_MEMORY_NONE) != dnnl_success)
			return false;
	}
	return true;
}

static int64_t scratch_of(const_dnnl_primitive_desc_t made)
{
	const dnnl_memory_desc_t *desc =
		dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
	return desc ? (int64_t)dnnl_memory_desc_get_size(desc) : 0;
}

/* What is not to be trusted or slower than ours: the library's reference code; bf16 in tiles (AMX)
 * where 31 columns of K are left over 32, which 2.6.3 takes for 32 and ends in SIGILL or in wrong
 * sums (K = 63, 1247, 1407, 1471 with some M; oneDNN issue 1661); bf16 by fp32 code, which keeps
 * the whole result once more. */
static bool refused(const_dnnl_primitive_desc_t made, const struct shape *shape)
{
	const char *text = NULL;
	dnnl_primitive_desc_query(made, dnnl_query_impl_info_str, 0, &text);
	if (!text || strncmp(text, "ref", 3) == 0)
		return text != NULL;
	return shape->type == RT_BF16 &&
	       (strncmp(text, "gemm", 4) == 0 || (shape->k % 32 == 31 && strstr(text, "amx")));
}

/* The library's first choice that lives within the workspace; NULL: none. */
static dnnl_primitive_desc_t choose(struct cpu_dnnl *dnnl, struct product *p,
				    const dnnl_matmul_desc_t *matmul,
				    const_dnnl_primitive_attr_t attributes)
{
	dnnl_primitive_desc_iterator_t choices = NULL;
	dnnl_primitive_desc_t made = NULL;
	if (dnnl_primitive_desc_iterator_create(&choices, matmul, attributes, dnnl->engine, NULL) !=
	    dnnl_success)
		return NULL;
	p->scratch = -1;
	do {
		dnnl_primitive_desc_destroy(made);
		made = dnnl_primitive_desc_iterator_fetch(choices);
		if (!made)
			break;
		if (refused(made, &p->shape))
			continue;
		int64_t scratch = scratch_of(made);
		if (p->scratch < 0)
			p->scratch = scratch;
		if (scratch <= p->shape.workspace_bytes) {
			dnnl_primitive_desc_iterator_destroy(choices);
			return made;
		}
	} while (dnnl_primitive_desc_iterator_next(choices) == dnnl_success);
	dnnl_primitive_desc_destroy(made);
	dnnl_primitive_desc_iterator_destroy(choices);
	return NULL;
}

/* Leaves p->primitive NULL where the library has nothing. */
static void make_product(struct cpu_dnnl *dnnl, struct product *p)
{
	const struct shape *s = &p->shape;
	dnnl_memory_desc_t descs[SCRATCH];
	dnnl_matmul_desc_t matmul;
	dnnl_primitive_attr_t attributes = NULL;
	dnnl_primitive_desc_t made = NULL;
	bool wide = s->type != RT_BF16;
	if (describe(&descs[LEFT], s->m, s->k, s->trans_a, wide) &&
	    describe(&descs[RIGHT], s->k, s->n, s->trans_b, wide) &&
	    describe(&descs[RESULT], s->m, s->n, false, wide || s->wide_c) &&
	    dnnl_matmul_desc_init(&matmul, &descs[LEFT], &descs[RIGHT], NULL, &descs[RESULT]) ==
		    dnnl_success &&
	    make_attributes(&attributes, s->accumulate))
		made = choose(dnnl, p, &matmul, attributes);
	if (made && make_memory(dnnl, p, made, descs) &&
	    dnnl_primitive_create(&p->primitive, made) != dnnl_success)
		p->primitive = NULL;
	dnnl_primitive_desc_destroy(made);
	dnnl_primitive_attr_destroy(attributes);
}

static bool same(const struct shape *a, const struct shape *b)
{
	return a->type == b->type && a->wide_c == b->wide_c && a->m == b->m && a->n == b->n &&
	       a->k == b->k && a->trans_a == b->trans_a && a->trans_b == b->trans_b &&
	       a->accumulate == b->accumulate && a->workspace_bytes == b->workspace_bytes;
}

/* NULL: no memory. */
static struct product *find(struct cpu_dnnl *dnnl, const struct rt_matmul *args)
{
	struct shape shape = {
		.type = args->type,
		.m = args->m,
		.n = args->n,
		.k = args->k,
		.workspace_bytes = args->workspace_bytes,
		.trans_a = args->trans_a,
		.trans_b = args->trans_b,
		.accumulate = args->accumulate,
		.wide_c = args->wide_c,
	};
	for (size_t i = 0; i < dnnl->count; i++) {
		size_t at = (dnnl->last + 1 + i) % dnnl->count;
		if (same(&dnnl->products[at].shape, &shape)) {
			dnnl->last = at;
			return &dnnl->products[at];
		}
	}
	if (dnnl->count == dnnl->room) {
		size_t room = dnnl->room ? 2 * dnnl->room : 64;
		struct product *more = realloc(dnnl->products, room * sizeof(*more));
		if (!more)
			return NULL;
		dnnl->products = more;
		dnnl->room = room;
	}
	dnnl->last = dnnl->count++;
	struct product *made = &dnnl->products[dnnl->last];
	memset(made, 0, sizeof(*made));
	made->shape = shape;
	make_product(dnnl, made);
	return made;
}

int64_t cpu_dnnl_scratch(struct cpu_dnnl *dnnl, const struct rt_matmul *args)
{
	const struct product *p = find(dnnl, args);
	return p ? p->scratch : -1;
}

int cpu_dnnl_matmul(struct cpu_dnnl *dnnl, const struct rt_matmul *args)
{
	static const int number[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
					     DNNL_ARG_SCRATCHPAD};
	struct product *p = find(dnnl, args);
	if (!p || !p->primitive)
		return -1;
	/* the library's handles are not const */
	void *const address[OPERANDS] = {(void *)(uintptr_t)args->a, (void *)(uintptr_t)args->b,
					 args->c, args->workspace};
	dnnl_exec_arg_t list[OPERANDS];
	int count = 0;
	for (int i = 0; i < OPERANDS; i++) {
		if (!p->memory[i])
			continue;
		if (dnnl_memory_set_data_handle(p->memory[i], address[i]) != dnnl_success)
			return -1;
		list[count++] = (dnnl_exec_arg_t){number[i], p->memory[i]};
	}
	if (dnnl_primitive_execute(p->primitive, dnnl->stream, count, list) != dnnl_success)
		return -1;
	return dnnl_stream_wait(dnnl->stream) == dnnl_success ? 0 : -1;
}
