/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Names of objects, and their keys in a store.
 *
 * A name is 1 to OBJ_NAME_MAX bytes of valid UTF-8: parts of 1 to 255 bytes,
 * separated by '/', none of them `.` or `..`, without control characters
 * (U+0000 to U+001F, U+007F to U+009F). Names are compared byte by byte: what
 * looks alike and is spelled otherwise is another object.
 */
#ifndef M0_TOOLS_OBJ_NAME_H
#define M0_TOOLS_OBJ_NAME_H

#include <stddef.h>
#include <stdint.h>

enum {
	OBJ_NAME_MAX = 1023,
	OBJ_PART_MAX = 255,
	OBJ_KEY_MAX = 256
};

/**
 * @retval -EINVAL        empty, absolute, a part that is empty, `.` or `..`, a
 *                        control character.
 * @retval -ENAMETOOLONG  the whole, or a part of it.
 * @retval -EILSEQ        not UTF-8.
 */
int obj_name_check(const char *name, size_t nr);
/** Checks a prefix of names: it may be empty, or end with '/'. */
int obj_prefix_check(const char *name, size_t nr);
/** Explains the result `rc` of obj_name_check() to a user. */
const char *obj_name_why(int rc);

/** Makes what is no name fit for a terminal: what is odd becomes '?'. */
void obj_name_show(char *ret, size_t size, const char *name);

/** Key of a name: in the order of names, as far as they differ in the first
 * 239 bytes. @return its length. */
size_t obj_name_key(uint8_t ret[OBJ_KEY_MAX], const char *name, size_t nr);

#endif /* M0_TOOLS_OBJ_NAME_H */
