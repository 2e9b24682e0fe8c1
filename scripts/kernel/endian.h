/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* endian.h, from the kernel (scripts/kernel-flags). */
#include <asm/byteorder.h>

#define htole16(x) ((uint16_t)cpu_to_le16(x))
#define htole32(x) ((uint32_t)cpu_to_le32(x))
#define htole64(x) ((uint64_t)cpu_to_le64(x))
#define htobe16(x) ((uint16_t)cpu_to_be16(x))
#define htobe32(x) ((uint32_t)cpu_to_be32(x))
#define htobe64(x) ((uint64_t)cpu_to_be64(x))
#define le16toh(x) htole16(x)
#define le32toh(x) htole32(x)
#define le64toh(x) htole64(x)
#define be16toh(x) htobe16(x)
#define be32toh(x) htobe32(x)
#define be64toh(x) htobe64(x)
