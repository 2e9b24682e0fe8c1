/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Sleeps inside the kernel. */
#ifndef M0_SRC_KERN_OS_KERN_SLEEP_H
#define M0_SRC_KERN_OS_KERN_SLEEP_H

#include "m0/base.h"

/**
 * Sleeps until woken, or until `deadline`, within 50 us. Pre: the thread has said that
 * it will sleep (prepare_to_wait()), and has looked for what it waits for since.
 * Returns running, perhaps without reason.
 */
void kern_sleep_until(m0_time_t deadline);

#endif /* M0_SRC_KERN_OS_KERN_SLEEP_H */
