/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Numbers as users write and read them. */
#ifndef M0_TOOLS_TEXT_H
#define M0_TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Forms that text_size_parse() accepts, for messages. */
#define TEXT_SIZE_FORMS "bytes as 4096, 64K, 1M or 1MiB"
/** Forms that text_time_parse() accepts, for messages. */
#define TEXT_TIME_FORMS "nanoseconds as 50000, or 50us, 2ms, 1s"

/**
 * Reads a decimal number.
 * @retval -EINVAL  not a number, or something follows it.
 * @retval -ERANGE  more than 64 bits.
 */
int text_number_parse(const char *text, uint64_t *ret);
/** Reads a number of bytes: K, M, G, T with or without "iB" are powers of 1024. */
int text_size_parse(const char *text, uint64_t *ret);
/** Reads a length of time; ns, us, ms and s may follow the number. */
int text_time_parse(const char *text, uint64_t *ret_ns);
/** Reads a positive number of seconds, with or without a fraction. */
int text_seconds_parse(const char *text, double *ret);
/** Forms that text_duration_parse() accepts, for messages. */
#define TEXT_DURATION_FORMS "seconds as 50 or 0.5, or 500ms, 50s"
/**
 * Reads a length of time as LNet's users write it: seconds, with or without a
 * fraction; or a number with ns, us, ms or s.
 * @retval -EINVAL, -ERANGE
 */
int text_duration_parse(const char *text, uint64_t *ret_ns);
/**
 * Reads a list "a,b,c" of what `parse` reads, at most `max` of them.
 * @retval -E2BIG   more than that.
 * @retval <0       of `parse`.
 */
int text_list_parse(const char *text, int (*parse)(const char *, uint64_t *),
		    uint64_t *ret, size_t max, size_t *ret_nr);

enum {
	TEXT_MAX = 32
};

/** "256.0 MiB", "17 bytes". */
const char *text_size(char ret[TEXT_MAX], uint64_t bytes);
/** "512", "64K", "1M": shortest exact form, as text_size_parse() reads. */
const char *text_size_short(char ret[TEXT_MAX], uint64_t bytes);
/** "1.23 us", three digits. */
const char *text_time(char ret[TEXT_MAX], double ns);
/** Has it no control characters, which may do anything to a terminal? */
bool text_is_printable(const char *text);
/** Makes them '?'. */
void text_make_printable(char *text);
/** Lower-case hexadecimal of `nr` bytes; `ret` has room for 2 * nr + 1. */
const char *text_hex(char *ret, const uint8_t *bytes, size_t nr);

#endif /* M0_TOOLS_TEXT_H */
