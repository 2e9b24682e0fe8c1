/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The `os` room inside the kernel. */
#ifndef M0_SRC_KERN_OS_KERN_OS_H
#define M0_SRC_KERN_OS_KERN_OS_H

#include "base/hooks.h"
#include "os/os_internal.h"

/** The hooks of base. Install them (m0_base_hooks_set()) before any other call. */
extern const struct m0_base_hooks kern_hooks;

/** Zeroed memory; `shift`: of the alignment, more than a page up to 4 MiB. May sleep. */
void *kern_alloc(size_t size, unsigned shift);
void  kern_free(void *data, size_t size, unsigned shift);
/** Number of allocations that were not freed yet. */
long kern_allocs_nr(void);

#endif /* M0_SRC_KERN_OS_KERN_OS_H */
