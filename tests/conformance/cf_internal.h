/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Shared by the fixture's own files. */
#ifndef M0_TESTS_CONFORMANCE_CF_INTERNAL_H
#define M0_TESTS_CONFORMANCE_CF_INTERNAL_H

#include "cf.h"

const char *cf__mode_name(enum cf_mode mode);
void        cf__pools_end(void);

/* Memory that the library allocates. cf__heap_end() demands that none is left. */
void cf__heap_begin(void);
void cf__heap_end(void);

/* Environment: real threads, or the simulator. */
void           cf__env_begin(void);
void           cf__env_end(void);
void           cf__env_yield(void);
void           cf__env_report(void);
struct m0_sim *cf__sim(void);

#define CF_CALL(expr)                     \
	({                                \
		__typeof__(expr) cf_rc_;  \
		++cf_here()->cth_in_call; \
		cf_rc_ = (expr);          \
		--cf_here()->cth_in_call; \
		cf_rc_;                   \
	})

#endif /* M0_TESTS_CONFORMANCE_CF_INTERNAL_H */
