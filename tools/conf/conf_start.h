/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Values that count when a node starts: the section `node' of lnet.conf, which has
 * the names of the module's parameters or of the options of `colibri node'.
 */
#ifndef M0_TOOLS_CONF_START_H
#define M0_TOOLS_CONF_START_H

#include <stdint.h>

#include "m0/lnet_cfg.h"

enum conf_start {
	CONF_START_ACCEPT,
	CONF_START_PORT,
	CONF_START_SOURCE_PORTS,
	CONF_START_PEERS_COLIBRI,
	CONF_START_PEER_CREDITS,
	CONF_START_CREDITS,
	CONF_START_CONNS_PER_PEER,
	CONF_START_LND_TIMEOUT,
	CONF_START_KEEPALIVE,
	CONF_START_LANES,
	CONF_START_ROUTER_MEMORY,
	CONF_START_CHECK_INTERVAL,
	CONF_START_PING_TIMEOUT,
	CONF_START_CHECK_FIRST,
	CONF_START_AVOID_ASYM,
	CONF_START_USE_DOWN,
	CONF_STARTS_NR
};

enum {
	CONF_START_BYTES = 32
};

/** Returns the key. */
const char *conf_start_name(unsigned start);
/**
 * Finds the module parameter of lnet that a key is named after.
 * @return the key; CONF_STARTS_NR: none is.
 */
unsigned conf_start_of_param(const char *name);
/**
 * Reads a value.
 * @param ret_accepted  what is accepted, for a message.
 * @retval -EINVAL
 */
int conf_start_read(unsigned start, const char *text, uint64_t *ret,
		    const char **ret_accepted);
/** The value as text that conf_start_read() reads. @return ret. */
const char *conf_start_print(unsigned start, uint64_t value,
			     char ret[CONF_START_BYTES]);
/** Sets the value in a configuration. */
void conf_start_apply(unsigned start, uint64_t value, struct m0_lnet_cfg *cfg);

#endif /* M0_TOOLS_CONF_START_H */
