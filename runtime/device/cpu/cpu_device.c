/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu device: work is cut into blocks and items by shape, and dealt to the threads of one pool.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu_dnnl.h"
#include "device/cpu/cpu_fault.h"
#include "device/cpu/cpu_kernels.h"
#include "device/cpu/cpu_threads.h"
#include "device/cpu/cpu_tiles.h"
#include "device/device.h"

struct cpu_device {
	struct rt_device device; /* first */
	struct cpu_threads threads;
	struct cpu_dnnl *dnnl;
	char *scratch; /* scratch_bytes for each thread */
	size_t scratch_bytes;
};

static struct cpu_device *cpu_of(struct rt_device *device)
{
	return (struct cpu_device *)(void *)device;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct row_work {
	const struct rt_kernel *kernel;
	const struct rt_args *args;
	int64_t rows, blocks;
	int threads;
};

static void row_thread(void *context, int thread)
{
	const struct row_work *w = context;
	int64_t from = w->blocks * thread / w->threads, to = w->blocks * (thread + 1) / w->threads;
	if (from < to)
		w->kernel->rows(w->args, from, to, w->rows);
}

static int cpu_run(struct rt_device *device, int stream, const struct rt_kernel *kernel,
		   int64_t rows, const struct rt_args *args)
{
	struct cpu_device *cpu = cpu_of(device);
	int64_t blocks = rows / kernel->block + (rows % kernel->block != 0);
	struct row_work work = {kernel, args, rows, blocks, cpu->threads.count};
	(void)stream;
	if (blocks > 1 && work.threads > 1) {
		cpu_threads_run(&cpu->threads, row_thread, &work);
	} else if (blocks > 0) {
		cpu_threads_bind(&cpu->threads, 0);
		kernel->rows(args, 0, blocks, rows);
	}
	return cpu_fault_take(device->fault);
}

/* ---- items ----------------------------------------------------------------------------------- */

struct item_work {
	cpu_item_fn *item;
	const void *args;
	int64_t items;
	_Atomic int64_t next;
	char *scratch;
	size_t scratch_bytes;
};

/* Items are of unequal size: a thread takes the next one when it is free. */
static void item_thread(void *context, int thread)
{
	struct item_work *w = context;
	char *scratch = w->scratch ? w->scratch + (size_t)thread * w->scratch_bytes : NULL;
	for (;;) {
		int64_t item = atomic_fetch_add(&w->next, 1);
		if (item >= w->items)
			return;
		w->item(w->args, item, scratch);
	}
}

static cpu_item_fn *item_of(enum rt_type type, enum cpu_item item)
{
	return type == RT_F64	 ? cpu_item_f64(item)
	       : type == RT_BF16 ? cpu_item_bf16(item)
				 : cpu_item_f32(item);
}

static void run_items(struct cpu_device *cpu, enum rt_type type, enum cpu_item item,
		      const void *args, int64_t items)
{
	struct item_work work = {
		.item = item_of(type, item),
		.args = args,
		.items = items,
		.scratch = cpu->scratch,
		.scratch_bytes = cpu->scratch_bytes,
	};
	if (items > 1 && cpu->threads.count > 1) {
		cpu_threads_run(&cpu->threads, item_thread, &work);
	} else {
		cpu_threads_bind(&cpu->threads, 0);
		item_thread(&work, 0);
	}
}

static int check_type(struct cpu_device *cpu, const char *row, enum rt_type type)
{
	if (type == RT_F32 || type == RT_F64 || type == RT_BF16)
		return 0;
	snprintf(cpu->device.fault, RT_DEVICE_FAULT, "kernel %s: no code for element type %d", row,
		 (int)type);
	return -1;
}

/* ---- matmul ---------------------------------------------------------------------------------- */

static int64_t pieces(int64_t size, int64_t piece)
{
	return (size + piece - 1) / piece;
}

static int cpu_matmul(struct rt_device *device, int stream, const struct rt_matmul *args)
{
	struct cpu_device *cpu = cpu_of(device);
	const struct rt_epilogue *e = &args->epilogue;
	(void)stream;
	bool more = e->residual || e->act != RT_NONE || e->pre_activation;
	if (check_type(cpu, "matmul", args->type) != 0)
		return -1;
	if (args->wide_c && (args->type != RT_BF16 || more)) {
		snprintf(device->fault, RT_DEVICE_FAULT,
			 "kernel matmul: a wide result takes bf16 operands, and after it a bias");
		return -1;
	}
	cpu_threads_bind(&cpu->threads, 0);
	if (args->type == RT_F64 || cpu_dnnl_matmul(cpu->dnnl, args) != 0)
		run_items(cpu, args->type, CPU_ITEM_matmul, args,
			  pieces(args->m, CPU_MATMUL_SIDE) * pieces(args->n, CPU_MATMUL_SIDE));
	if (e->bias || more)
		run_items(cpu, args->type, CPU_ITEM_epilogue, args,
			  pieces(args->m, CPU_EPILOGUE_ROWS));
	return 0;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Grows at the first use of a size only. */
static int reserve(struct cpu_device *cpu, const struct rt_attend_forward *args)
{
	uint64_t bytes =
		rt_attend_scratch(args->type, (uint64_t)args->head, (uint64_t)args->tokens);
	bytes = (bytes + 63) / 64 * 64;
	if (bytes <= cpu->scratch_bytes)
		return 0;
	char *more = aligned_alloc(64, bytes * (size_t)cpu->threads.count);
	if (!more) {
		snprintf(cpu->device.fault, RT_DEVICE_FAULT,
			 "kernel attend: no memory for heads of %lld", (long long)args->head);
		return -1;
	}
	free(cpu->scratch);
	cpu->scratch = more;
	cpu->scratch_bytes = bytes;
	return 0;
}

/* `args`: what the item takes, of which `f` is a part. */
static int attend_forward(struct rt_device *device, enum cpu_item item, const void *args,
			  const struct rt_attend_forward *f)
{
	struct cpu_device *cpu = cpu_of(device);
	if (check_type(cpu, "attend_forward", f->type) != 0 || reserve(cpu, f) != 0)
		return -1;
	int64_t blocks = pieces(f->tokens, cpu_attend_queries(f->type));
	run_items(cpu, f->type, item, args, f->batch * f->heads * blocks);
	return 0;
}

static int attend_backward(struct rt_device *device, enum cpu_item item, const void *args,
			   const struct rt_attend_forward *f)
{
	struct cpu_device *cpu = cpu_of(device);
	if (check_type(cpu, "attend_backward", f->type) != 0 || reserve(cpu, f) != 0)
		return -1;
	run_items(cpu, f->type, item, args, f->batch * f->kv_heads);
	return 0;
}

static int cpu_attend_forward(struct rt_device *device, int stream,
			      const struct rt_attend_forward *args)
{
	(void)stream;
	return attend_forward(device, CPU_ITEM_attend_forward, args, args);
}

static int cpu_attend_backward(struct rt_device *device, int stream,
			       const struct rt_attend_backward *args)
{
	(void)stream;
	return attend_backward(device, CPU_ITEM_attend_backward, args, &args->forward);
}

static int cpu_attend_stored_forward(struct rt_device *device, int stream,
				     const struct rt_attend_stored_forward *args)
{
	(void)stream;
	return attend_forward(device, CPU_ITEM_attend_stored_forward, args, &args->attend);
}

static int cpu_attend_stored_backward(struct rt_device *device, int stream,
				      const struct rt_attend_stored_backward *args)
{
	(void)stream;
	return attend_backward(device, CPU_ITEM_attend_stored_backward, args,
			       &args->forward.attend);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int cpu_copy(struct rt_device *device, int stream, const struct rt_copy *args)
{
	(void)device;
	(void)stream;
	memmove(args->to, args->from, (size_t)args->bytes);
	return 0;
}

static int cpu_clear(struct rt_device *device, int stream, const struct rt_clear *args)
{
	(void)device;
	(void)stream;
	memset(args->at, 0, (size_t)args->bytes);
	return 0;
}

static int cpu_sync(struct rt_device *device)
{
	(void)device;
	return 0;
}

static void cpu_close(struct rt_device *device)
{
	struct cpu_device *cpu = cpu_of(device);
	cpu_dnnl_close(cpu->dnnl);
	free(cpu->scratch);
	free(cpu);
}

static const struct rt_device_ops cpu_ops = {
	.name = "cpu",
	.run = cpu_run,
	.matmul = cpu_matmul,
	.attend_forward = cpu_attend_forward,
	.attend_backward = cpu_attend_backward,
	.attend_stored_forward = cpu_attend_stored_forward,
	.attend_stored_backward = cpu_attend_stored_backward,
	.copy = cpu_copy,
	.clear = cpu_clear,
	.sync = cpu_sync,
	.close = cpu_close,
};

struct rt_device *cpu_device_open(const struct rt_device_options *options, char *fault)
{
	struct cpu_device *cpu = calloc(1, sizeof(*cpu));
	if (!cpu) {
		snprintf(fault, RT_DEVICE_FAULT, "device cpu: no memory");
		return NULL;
	}
	cpu->device.ops = &cpu_ops;
	cpu_threads_open(&cpu->threads, options->threads, options->rank, options->ranks,
			 options->pin);
	cpu->dnnl = cpu_dnnl_open();
	if (cpu->dnnl)
		return &cpu->device;
	snprintf(fault, RT_DEVICE_FAULT, "device cpu: oneDNN does not start");
	cpu_close(&cpu->device);
	return NULL;
}
