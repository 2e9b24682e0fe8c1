/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Cases of the suite, one table a file. */
#ifndef M0_TESTS_CONFORMANCE_XPRT_SUITE_H
#define M0_TESTS_CONFORMANCE_XPRT_SUITE_H

#include "cf.h"

extern const struct cf_case xprt_suite_dom[];
extern const struct cf_case xprt_suite_tm[];
extern const struct cf_case xprt_suite_stop[];
extern const struct cf_case xprt_suite_ep[];
extern const struct cf_case xprt_suite_msg[];
extern const struct cf_case xprt_suite_multi[];
extern const struct cf_case xprt_suite_bulk[];
extern const struct cf_case xprt_suite_desc[];
extern const struct cf_case xprt_suite_time[];
extern const struct cf_case xprt_suite_cancel[];
extern const struct cf_case xprt_suite_mode[];
extern const struct cf_case xprt_suite_pool[];
extern const struct cf_case xprt_suite_ride[];
extern const struct cf_case xprt_suite_misc[];
extern const struct cf_case xprt_suite_stress[];

#endif /* M0_TESTS_CONFORMANCE_XPRT_SUITE_H */
