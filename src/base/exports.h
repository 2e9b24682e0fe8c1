/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Marks of functions that the other shared libraries of a build call. */
#ifndef M0_SRC_BASE_EXPORTS_H
#define M0_SRC_BASE_EXPORTS_H

/**
 * The function is in tests/abi/private.txt: libcolibri.so exports it, with version
 * COLIBRI_PRIVATE, to libraries of its own build, such as libcolibri-sunrpc.so.
 */
#define M0_SHARED __attribute__((visibility("default")))

#endif /* M0_SRC_BASE_EXPORTS_H */
