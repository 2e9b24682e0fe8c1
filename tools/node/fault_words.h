/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Names of what fault rules have, as users write and read them. */
#ifndef M0_TOOLS_FAULT_WORDS_H
#define M0_TOOLS_FAULT_WORDS_H

#include "m0/lnet_fault.h"

enum {
	FAULT_WORDS_BYTES = 256
};

/** "drop"; "all" of M0_LNET_FAULT_ANY. */
const char *fault_kind_name(enum m0_lnet_fault_kind kind);
/** Reads a kind; "all" is M0_LNET_FAULT_ANY. @retval -EINVAL */
int fault_kind_parse(const char *text, enum m0_lnet_fault_kind *ret);

/**
 * A NID; `*` for all; `*@tcp`, or 255.255.255.255@tcp, for a network.
 * @retval -EINVAL
 */
int fault_nid_parse(const char *text, struct m0_lnet_nid *ret);
/** Forms that fault_nid_parse() accepts. */
#define FAULT_NID_FORMS "a NID as 10.0.0.1@tcp, *@tcp, or * for all"
/** As `*`, `*@tcp` or a NID. `ret` has M0_LNET_NIDSTR_SIZE bytes. @return ret. */
const char *fault_nid_print(const struct m0_lnet_nid *nid, char *ret);

/* Lists of names with `,` between, as bits. @retval -EINVAL */
int fault_msgs_parse(const char *text, unsigned *ret);
int fault_health_parse(const char *text, unsigned *ret);
/** Numbers 0 to 63. @retval -EINVAL */
int fault_portals_parse(const char *text, uint64_t *ret);
/** All names that are accepted, for messages. */
#define FAULT_MSGS_FORMS "a list of PUT, GET, ACK, REPLY"
#define FAULT_HEALTH_FORMS                                                 \
	"a list of local_interrupt, local_dropped, local_aborted, "        \
	"local_no_route, local_error, local_timeout, remote_error, "       \
	"remote_dropped, remote_timeout, network_timeout; or random, for " \
	"one of them all"
/** @return ret. */
const char *fault_health_print(unsigned health, char ret[FAULT_WORDS_BYTES]);

#endif /* M0_TOOLS_FAULT_WORDS_H */
