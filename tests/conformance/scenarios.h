/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Stories of applications, one a use case of the seeds; see scenarios.c. */
#ifndef M0_TESTS_CONFORMANCE_SCENARIOS_H
#define M0_TESTS_CONFORMANCE_SCENARIOS_H

#include "cf.h"

extern const struct cf_case scenarios_msg[];
extern const struct cf_case scenarios_bulk[];
extern const struct cf_case scenarios_loop[];

#endif /* M0_TESTS_CONFORMANCE_SCENARIOS_H */
