/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Options as text: pairs "name=value", separated by blanks. Each option is a
 * number, stored in a member of the caller's struct.
 */
#ifndef M0_BASE_OPTIONS_H
#define M0_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/** Most options in one table. */
	M0_OPTIONS_MAX = 32,
	/** Size of a buffer for a message. */
	M0_OPTIONS_WHY_BYTES = 384
};

/** An option that is a decimal number. */
struct m0_option {
	const char *opt_name;
	/** Unit of the value, for messages; "": a count. */
	const char *opt_unit;
	/** The member that receives the value: an `unsigned` or a `uint64_t`. */
	size_t   opt_offset;
	size_t   opt_bytes;
	uint64_t opt_min;
	uint64_t opt_max;
	/** The member receives the value times this. */
	uint64_t opt_scale;
};

/* clang-format off */
#define M0_OPTION(type, field, name, unit, min, max, scale)             \
	{ .opt_name = (name), .opt_unit = (unit),                       \
	  .opt_offset = offsetof(type, field),                          \
	  .opt_bytes = sizeof(((type *)NULL)->field),                   \
	  .opt_min = (min), .opt_max = (max), .opt_scale = (scale) }
/* clang-format on */

/**
 * Reads options into the members of a struct. Members of options that the text
 * does not name keep their values.
 * @param nr   number of options of the table, at most M0_OPTIONS_MAX; with 0,
 *             table and obj may be NULL.
 * @param obj  the struct; unchanged on failure.
 * @param why  buffer of M0_OPTIONS_WHY_BYTES: on failure, the option, its value
 *             and what is accepted.
 * @retval -ENOENT  the table has no such option; `why` lists those it has.
 * @retval -EINVAL  the text is not a list of pairs, an option is named twice, or
 *                  its value is not accepted.
 */
int m0_options_read(const struct m0_option *table, unsigned nr, void *obj,
		    const char *text, char *why);

/** Where the options of a driver's network go. */
struct m0_options_net {
	/** The struct, and memory for a copy of it. */
	void  *onn_cfg;
	void  *onn_own;
	size_t onn_bytes;
	/** Members of the copy for min_reconnectms and max_reconnectms. */
	const uint64_t *onn_reconnect_min_ns;
	const uint64_t *onn_reconnect_max_ns;
};

/**
 * Reads the options of a network, which every driver does alike: m0_options_read(), and
 * min_reconnectms is at most max_reconnectms.
 * @param text  NULL: none.
 * @param why   buffer of M0_OPTIONS_WHY_BYTES.
 * @return as m0_options_read(); the struct is unchanged on failure.
 */
int m0_options_net_read(const struct m0_option *table, unsigned nr,
			const struct m0_options_net *net, const char *text,
			char *why);

/**
 * Reads a decimal number of `nr` digits.
 * @return false: it is none, or does not fit.
 */
bool m0_options_number(const char *text, size_t nr, uint64_t *ret);
/**
 * Prints the names of a table, separated by ", ".
 * @param size  bytes of `buf`, at least 1; longer lists are cut.
 * @return `buf`
 */
char *m0_options_names(const struct m0_option *table, unsigned nr, char *buf,
		       size_t size);

#endif /* M0_BASE_OPTIONS_H */
