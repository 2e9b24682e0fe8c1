/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Verbs, for tests that look at a device by themselves. */
#ifndef M0_TESTS_VM_IBV_H
#define M0_TESTS_VM_IBV_H

#include <infiniband/verbs.h>

#endif /* M0_TESTS_VM_IBV_H */
