/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Builds in which each instruction costs several times as much. */
#ifndef M0_TESTS_LIB_SLOW_H
#define M0_TESTS_LIB_SLOW_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif
#ifndef IS_SLOW
/** 1 with the address or the thread sanitizer, else 0. */
#define IS_SLOW 0
#endif

#endif /* M0_TESTS_LIB_SLOW_H */
