/* SPDX-License-Identifier: Apache-2.0 */
/* A device: what computes. One object a rank, opened after the fork (its threads must not be
 * inherited), closed before the process ends. The calls rt_run, rt_matmul, rt_attend_forward,
 * rt_attend_backward, the same of stored attention, rt_copy and rt_clear of rt/rt.h (device.c) go
 * through it. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/rt.h"

enum { RT_DEVICE_FAULT = 256 };

struct rt_device;

/* Every slot is set. A slot gives 0, or -1 after writing one line into device->fault; it blocks
 * until the arguments may be reused, and on the cpu until the result is there. */
struct rt_device_ops {
	const char *name;
	int (*run)(struct rt_device *device, int stream, const struct rt_kernel *kernel,
		   int64_t rows, const struct rt_args *args);
	int (*matmul)(struct rt_device *device, int stream, const struct rt_matmul *args);
	int (*attend_forward)(struct rt_device *device, int stream,
			      const struct rt_attend_forward *args);
	int (*attend_backward)(struct rt_device *device, int stream,
			       const struct rt_attend_backward *args);
	int (*attend_stored_forward)(struct rt_device *device, int stream,
				     const struct rt_attend_stored_forward *args);
	int (*attend_stored_backward)(struct rt_device *device, int stream,
				      const struct rt_attend_stored_backward *args);
	int (*copy)(struct rt_device *device, int stream, const struct rt_copy *args);
	int (*clear)(struct rt_device *device, int stream, const struct rt_clear *args);
	int (*sync)(struct rt_device *device); /* waits for all streams */
	void (*close)(struct rt_device *device);
};

struct rt_device {
	const struct rt_device_ops *ops;
	char fault[RT_DEVICE_FAULT]; /* what failed last: names kernel, row and value */
};

struct rt_device_options {
	int64_t threads;     /* of this rank, >= 1 */
	int64_t rank, ranks; /* on this machine: ranks are pinned beside each other */
	bool pin;	     /* each thread to a core of its own, where there are enough */
};

/* NULL, with one line in fault[RT_DEVICE_FAULT], if the device cannot be opened. */
struct rt_device *cpu_device_open(const struct rt_device_options *options, char *fault);

/* Computes nothing and succeeds: programs of many ranks on a small machine. */
struct rt_device *null_device_open(const struct rt_device_options *options, char *fault);

/* Provided by core: the device of a rank, and where a failed call is logged (the line names what
 * failed; core adds rank and step). */
struct rt_device *rt_device_of(struct rt *rt);
void rt_device_failed(struct rt *rt, const char *fault);

#endif
