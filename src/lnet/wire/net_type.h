/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Types of networks: their names, and the text form of their addresses. */
#ifndef M0_SRC_LNET_NET_TYPE_H
#define M0_SRC_LNET_NET_TYPE_H

#include "m0/lnet_nid.h"

/** Text form of the addresses of a type of network. */
enum m0_lnet__addr_form {
	M0_LNET__ADDR_IP4,
	M0_LNET__ADDR_IP,
	M0_LNET__ADDR_NUMBER,
	/** Any text means 0. */
	M0_LNET__ADDR_LO
};

struct m0_lnet__net_type {
	const char             *lty_name;
	uint8_t                 lty_type;
	enum m0_lnet__addr_form lty_form;
};

/** Returns NULL for an unknown type. */
const struct m0_lnet__net_type *m0_lnet__net_type_find(uint8_t type);
/** Returns the type whose name begins the text; NULL: none does. */
const struct m0_lnet__net_type *m0_lnet__net_type_begins(const char *text);

#endif /* M0_SRC_LNET_NET_TYPE_H */
