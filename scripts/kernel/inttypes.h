/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* inttypes.h, from the kernel (scripts/kernel-flags). */
#include <stdint.h>

#define PRId32 "d"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
