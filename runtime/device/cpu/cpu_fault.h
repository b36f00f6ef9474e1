/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_CPU_FAULT_H
#define CPU_CPU_FAULT_H

#include "device/device.h"

/* -1, and the line in text[RT_DEVICE_FAULT], if a kernel met bad data since the last call. */
int cpu_fault_take(char *text);

#endif
