/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Figures of the process itself, for its metrics. */
#ifndef M0_TOOLS_METRICS_PROCESS_H
#define M0_TOOLS_METRICS_PROCESS_H

#include <stdint.h>

#include "m0/time.h"

/** Memory that is resident; 0: it is not known. */
uint64_t metrics_resident_bytes(void);
/** Time of processors, of the program and of the kernel for it. */
double metrics_cpu_s(void);
/** A moment of m0_time_now() on the clock of the calendar. */
double metrics_started_s(m0_time_t since);

#endif /* M0_TOOLS_METRICS_PROCESS_H */
