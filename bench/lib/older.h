/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The part of LNet's interface that libraries from before version 0.2.0 lack.
 * bench/against builds these programs with such a library, too; the rows that it
 * compares use none of this.
 */
#ifndef BENCH_LIB_OLDER_H
#define BENCH_LIB_OLDER_H

#include <errno.h>

#include "m0/lnet.h"

#if __has_include("m0/lnet_daemon.h")

#include "m0/lnet_daemon.h"

/** Sets a field of a configuration. */
#define BENCH_LNET_SET(cfg, field, value) ((cfg)->field = (value))
/** Sets a text. */
#define BENCH_LNET_TEXT(cfg, field, text) \
	snprintf((cfg)->field, sizeof((cfg)->field), "%s", (text))

#else

#define BENCH_LNET_SET(cfg, field, value) ((void)(value))
#define BENCH_LNET_TEXT(cfg, field, text) ((void)(text))

struct m0_lnet_daemon;

static inline int m0_lnet_cfg_routes(struct m0_lnet_cfg *cfg,
				     const char *routes, char *why)
{
	(void)cfg;
	(void)routes;
	(void)why;
	return -ENOSYS;
}

static inline int m0_lnet_daemon_start(struct m0_lnet_daemon **ret,
				       struct m0_lnet *lnet, const void *cfg,
				       const char *path, char *why)
{
	(void)ret;
	(void)lnet;
	(void)cfg;
	(void)path;
	(void)why;
	return -ENOSYS;
}

static inline int m0_lnet_daemon_stop(struct m0_lnet_daemon *daemon,
				      m0_time_t              deadline)
{
	(void)daemon;
	(void)deadline;
	return -ENOSYS;
}

#endif

#endif /* BENCH_LIB_OLDER_H */
