/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A hostile client of a server of this command:
 *
 *	PROGRAM NET PORT EP SEED NR
 *
 * sends NR messages to EP and to where that leads it. Ends with 0 if all have
 * left. hostile.c has main(); a program has the messages.
 */
#ifndef M0_TESTS_INTEGRATION_HOSTILE_H
#define M0_TESTS_INTEGRATION_HOSTILE_H

#include "../../tools/net/port.h"

enum {
	HOSTILE_ADDR_MAX = 1300
};

struct hostile {
	/** Longest message that is answered. */
	m0_bcount_t hst_msg_bytes;
	/** Makes a message that makes sense, or half of it. @return length. */
	int (*hst_make)(uint8_t *bytes, size_t size, const char *own,
			uint64_t *seed);
	/** Is that where one is let in? Sets `ret`, its address. */
	bool (*hst_leads)(void *bytes, size_t nr, char ret[HOSTILE_ADDR_MAX]);
};

extern const struct hostile hostile;

#endif /* M0_TESTS_INTEGRATION_HOSTILE_H */
