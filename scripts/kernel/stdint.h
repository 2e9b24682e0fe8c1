/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdint.h, from the kernel (scripts/kernel-flags). */
#include <linux/limits.h>
#include <linux/types.h>

#define INT8_MAX      S8_MAX
#define INT16_MAX     S16_MAX
#define INT32_MAX     S32_MAX
#define INT64_MAX     S64_MAX
#define INT32_MIN     S32_MIN
#define INT64_MIN     S64_MIN
#define UINT8_MAX     U8_MAX
#define UINT16_MAX    U16_MAX
#define UINT32_MAX    U32_MAX
#define UINT64_MAX    U64_MAX
#define INT64_C(val)  val##LL
#define UINT32_C(val) val##U
#define UINT64_C(val) val##ULL

typedef long intptr_t;
