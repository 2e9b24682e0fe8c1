/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Numbers in messages: little-endian, wherever they lie. */
#ifndef M0_TOOLS_LE_H
#define M0_TOOLS_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void le_put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof value);
}

static inline void le_put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof value);
}

static inline uint32_t le_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return le32toh(value);
}

static inline uint64_t le_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return le64toh(value);
}

#endif /* M0_TOOLS_LE_H */
