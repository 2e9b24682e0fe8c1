/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The reference's points of fault injection. This library has none:
 * docs/architecture.md, section 5, says how it tests failures.
 */
#ifndef M0_COMPAT_LIB_FINJECT_H
#define M0_COMPAT_LIB_FINJECT_H

#include "m0/compat/helpers.h"

#define M0_FI_ENABLED(tag) (false)

#endif /* M0_COMPAT_LIB_FINJECT_H */
