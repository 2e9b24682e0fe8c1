/* SPDX-License-Identifier: Apache-2.0 */
/** Of state machines there is the group, which is a lock. */
#include "m0/compat/helpers.h"
