/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

static int report(struct rt *rt, struct rt_device *device, int result)
{
	if (result != 0)
		rt_device_failed(rt, device->fault);
	return result;
}

int rt_run(struct rt *rt, int stream, const struct rt_kernel *kernel, int64_t rows,
	   const struct rt_args *args)
{
	struct rt_device *device = rt_device_of(rt);
	return report(rt, device, device->ops->run(device, stream, kernel, rows, args));
}

#define SLOT(name)                                                                                 \
	int rt_##name(struct rt *rt, int stream, const struct rt_##name *args)                     \
	{                                                                                          \
		struct rt_device *device = rt_device_of(rt);                                       \
		return report(rt, device, device->ops->name(device, stream, args));                \
	}

SLOT(matmul)
SLOT(attend_forward)
SLOT(attend_backward)
SLOT(attend_stored_forward)
SLOT(attend_stored_backward)
SLOT(copy)
SLOT(clear)
