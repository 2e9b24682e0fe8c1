/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "kern/kernel.h"
#include "kern/os/kern_tls.h"

int m0_kernel_enter(void)
{
	return kern_enter();
}

void m0_kernel_leave(void)
{
	kern_leave();
}
