/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A row of the table of drivers (table/lnd_table.h), for drivers.
 */
#ifndef M0_SRC_LND_LND_ROW_H
#define M0_SRC_LND_LND_ROW_H

#include "base/copier.h"
#include "base/options.h"
#include "m0/lnd.h"
#include "m0/lnet_cfg.h"

struct m0_reactor;

/** Arguments of a node for a driver that it makes. */
struct m0_lnd_env {
	/** The driver adds its sources to it. It outlives the driver. */
	struct m0_reactor        *lev_reactor;
	const struct m0_lnet_cfg *lev_cfg;
	/** Where the node has its copier, which comes and goes; NULL in that place: it has
	 * none. It outlives the driver. NULL: there is no such place. */
	struct m0_copier *const *lev_copier;
	/** For what the driver draws at random. */
	uint64_t  lev_seed;
	m0_time_t lev_now;
};

enum {
	M0_LND_ROW_TYPES_MAX = 4
};

struct m0_lnd_row {
	/** For messages. */
	const char *lrw_name;
	/** M0_LNET_TYPE_... of the networks that the driver serves; 0 ends the
	 * list if there are fewer than the maximum. */
	uint8_t lrw_types[M0_LND_ROW_TYPES_MAX];
	/**
	 * Parser of the options that the driver has for a network: checks them.
	 * The driver reads them when an interface of the network starts
	 * (ldn_options). NULL: the driver has none.
	 * @param cfg   has the values that the network inherits.
	 * @param text  pairs "name=value", separated by blanks.
	 * @param why   buffer of M0_OPTIONS_WHY_BYTES: on failure, the option,
	 *              its value and what is accepted.
	 * @retval -ENOENT  there is no such option; `why` lists those there are.
	 * @retval -EINVAL
	 */
	int (*lrw_options)(const struct m0_lnet_cfg *cfg, const char *text,
			   char *why);
	/**
	 * Makes the driver, once for each node that is on such a network.
	 * @param why  buffer of M0_LND_WHY_BYTES, ""; on failure, what is wrong,
	 *             if the errno does not say it.
	 */
	int (*lrw_create)(struct m0_lnd **ret, const struct m0_lnd_env *env,
			  char *why);
};

#endif /* M0_SRC_LND_LND_ROW_H */
