/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Replacing a file by a new content. */
#ifndef M0_TOOLS_FILE_SAVE_H
#define M0_TOOLS_FILE_SAVE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Writes a file. A regular one has its old content until the new one is whole, and
 * keeps its mode and owner; a link to it stays a link. Where no file can be made
 * beside it, it is written in place.
 * @param mode  of a regular file that is replaced or new, which belongs to this user
 *              then. 0: that of the old file, or 0666.
 * @return -errno.
 */
int file_save(const char *path, mode_t mode, const char *text, size_t nr);

#endif /* M0_TOOLS_FILE_SAVE_H */
