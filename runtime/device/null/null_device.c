/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

static int null_run(struct rt_device *device, int stream, const struct rt_kernel *kernel,
		    int64_t rows, const struct rt_args *args)
{
	(void)device, (void)stream, (void)kernel, (void)rows, (void)args;
	return 0;
}

#define SLOT(name)                                                                                 \
	static int null_##name(struct rt_device *device, int stream, const struct rt_##name *args) \
	{                                                                                          \
		(void)device, (void)stream, (void)args;                                            \
		return 0;                                                                          \
	}

SLOT(matmul)
SLOT(attend_forward)
SLOT(attend_backward)
SLOT(attend_stored_forward)
SLOT(attend_stored_backward)
SLOT(copy)
SLOT(clear)

static int null_sync(struct rt_device *device)
{
	(void)device;
	return 0;
}

static void null_close(struct rt_device *device)
{
	(void)device;
}

static const struct rt_device_ops null_ops = {
	.name = "null",
	.run = null_run,
	.matmul = null_matmul,
	.attend_forward = null_attend_forward,
	.attend_backward = null_attend_backward,
	.attend_stored_forward = null_attend_stored_forward,
	.attend_stored_backward = null_attend_stored_backward,
	.copy = null_copy,
	.clear = null_clear,
	.sync = null_sync,
	.close = null_close,
};

static struct rt_device null_device = {.ops = &null_ops};

struct rt_device *null_device_open(const struct rt_device_options *options, char *fault)
{
	(void)options, (void)fault;
	return &null_device;
}
