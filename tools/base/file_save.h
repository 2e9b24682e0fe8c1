/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Replacing a file by a new content. */
#ifndef M0_TOOLS_FILE_SAVE_H
#define M0_TOOLS_FILE_SAVE_H

#include <stddef.h>

/**
 * Writes a file. A regular one has its old content until the new one is whole, and
 * keeps its mode and owner; a link to it stays a link. Where no file can be made
 * beside it, it is written in place.
 * @return -errno.
 */
int file_save(const char *path, const char *text, size_t nr);

#endif /* M0_TOOLS_FILE_SAVE_H */
