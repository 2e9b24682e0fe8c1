/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri copy`: what its options say, and the three things it can do. */
#ifndef M0_TOOLS_COPY_ARGS_H
#define M0_TOOLS_COPY_ARGS_H

#include "../node/lnet_opts.h"
#include "../net/place.h"

struct copy_args {
	const char *ca_src;
	const char *ca_dst;
	const char *ca_transport;
	/** Our own address; NULL: any. */
	const char *ca_ep;
	uint64_t    ca_block;
	uint64_t    ca_inflight;
	uint64_t    ca_timeout_ms;
	bool        ca_verify;
	bool        ca_json;
	bool        ca_quiet;
	bool        ca_listen;
	bool        ca_once;
	/** --block or --inflight. */
	bool                    ca_window_given;
	const struct tool_xprt *ca_xprt;
	struct lnet_opts        ca_opts;
	struct tool_place       ca_place;
	struct tool_fail       *ca_fail;
	const char             *ca_program;
	/** Descriptor of copy_signals_open(). */
	int ca_signal_fd;
};

/** Copies SRC to DST, within this process or to EP:PATH. */
void copy_job_run(const struct copy_args *args);
/** Receives files below DIR. */
void copy_listen_run(const struct copy_args *args);
/**
 * Blocks SIGINT, SIGTERM and SIGHUP, before any thread is started.
 * @return a descriptor that is readable when one has come, or -errno.
 */
int copy_signals_open(void);

#endif /* M0_TOOLS_COPY_ARGS_H */
