/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The library has only the group of the reference's state machines, which is a
 * lock.
 */
#include "m0/compat/helpers.h"
