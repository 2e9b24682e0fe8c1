/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "m0/base.h"

#include "../base/hash.h"
#include "obj_name.h"

enum {
	/** Bytes of a long name that its key begins with. */
	KEY_HEAD = OBJ_KEY_MAX - 1 - HASH_BYTES,
	KEY_LETTER = 'n'
};

/* Bytes of the sequence that begins with `lead`, and the smallest character
 * that needs so many; 0: no sequence begins so. */
static size_t seq_bytes(uint8_t lead, uint32_t *ret_min)
{
	*ret_min = lead < 0x80 ? 0 : lead < 0xe0 ? 0x80 : 0x800;
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	*ret_min = 0x10000;
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/* One character; 0: it is none. */
static size_t utf8_get(const uint8_t *at, size_t nr, uint32_t *ret)
{
	uint32_t min;
	size_t   bytes = seq_bytes(at[0], &min);
	uint32_t c = bytes < 2 ? at[0] : at[0] & (0x7fU >> bytes);
	size_t   i;

	if (bytes == 0 || bytes > nr)
		return 0;
	for (i = 1; i < bytes; ++i) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (at[i] & 0x3f);
	}
	if (c < min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return bytes;
}

static int text_check(const uint8_t *at, size_t nr)
{
	uint32_t c = 0;
	size_t   bytes;

	for (; nr > 0; at += bytes, nr -= bytes) {
		bytes = utf8_get(at, nr, &c);
		if (bytes == 0)
			return -EILSEQ;
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return -EINVAL;
	}
	return 0;
}

static int part_check(const char *part, size_t nr)
{
	if (nr > OBJ_PART_MAX)
		return -ENAMETOOLONG;
	if (nr == 0 || (nr == 1 && part[0] == '.') ||
	    (nr == 2 && part[0] == '.' && part[1] == '.'))
		return -EINVAL;
	return 0;
}

int obj_name_check(const char *name, size_t nr)
{
	size_t begin = 0;
	size_t i;
	int    rc;

	if (nr == 0)
		return -EINVAL;
	if (nr > OBJ_NAME_MAX)
		return -ENAMETOOLONG;
	rc = text_check((const uint8_t *)name, nr);
	for (i = 0; rc == 0 && i <= nr; ++i) {
		if (i < nr && name[i] != '/')
			continue;
		rc = part_check(name + begin, i - begin);
		begin = i + 1;
	}
	return rc;
}

int obj_prefix_check(const char *name, size_t nr)
{
	if (nr > 0 && name[nr - 1] == '/')
		--nr;
	else if (nr == 0)
		return 0;
	return obj_name_check(name, nr);
}

const char *obj_name_why(int rc)
{
	switch (rc) {
	case -ENAMETOOLONG:
		return "too long; at most 1023 bytes, and 255 between two '/'";
	case -EILSEQ:
		return "not UTF-8";
	default:
		return "not accepted: no part of a name may be empty, '.' or "
		       "'..', and it has no control characters";
	}
}

void obj_name_show(char *ret, size_t size, const char *name)
{
	bool  odd = text_check((const uint8_t *)name, strlen(name)) != 0;
	char *at;

	snprintf(ret, size, "%s", name);
	for (at = ret; odd && *at != '\0'; ++at)
		if ((uint8_t)*at < 0x20 || (uint8_t)*at >= 0x7f)
			*at = '?';
}

size_t obj_name_key(uint8_t ret[OBJ_KEY_MAX], const char *name, size_t nr)
{
	ret[0] = KEY_LETTER;
	if (nr < OBJ_KEY_MAX) {
		memcpy(ret + 1, name, nr);
		return nr + 1;
	}
	memcpy(ret + 1, name, KEY_HEAD);
	hash_bytes(name, nr, ret + 1 + KEY_HEAD);
	return OBJ_KEY_MAX;
}
