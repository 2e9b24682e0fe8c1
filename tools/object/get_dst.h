/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Files that objects become: below a directory, whatever their names are. A
 * symbolic link on the way is followed as long as it leads to a place below.
 */
#ifndef M0_TOOLS_GET_DST_H
#define M0_TOOLS_GET_DST_H

#include <stdbool.h>
#include <stdint.h>

/** Opens the directory that `path` shall be in, made if it is missing.
 * @return a descriptor, or -errno. */
int get_dst_dir(int root_fd, const char *path);
/** Last part of a path. */
const char *get_dst_base(const char *path);
/** Could a directory be made there, where none is? errno: why not. */
bool get_dst_can_make(const char *path);
/**
 * May the object have this name? A file may be replaced, nothing else.
 * @return 0, -EISDIR, or -EMEDIUMTYPE of a pipe, a device, a socket.
 */
int get_dst_check(int dir_fd, const char *base);
/** Explains an error of these functions. */
const char *get_dst_errtext(int rc);
/** Writes all. @return 0, or -errno. */
int get_dst_write(int fd, const void *bytes, uint64_t nr, uint64_t off);

#endif /* M0_TOOLS_GET_DST_H */
