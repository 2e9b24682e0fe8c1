/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Options of every command that may open an LNet node, as an argp child. */
#ifndef M0_TOOLS_LNET_OPTS_H
#define M0_TOOLS_LNET_OPTS_H

#include <argp.h>
#include <sys/types.h>

#include "m0/lnet.h"

#include "../base/cmd.h"
#include "../conf/conf_start.h"

enum {
	/** Most router buffers of a pool that may be asked for. */
	ROUTER_BUFFERS_MAX = 1 << 20
};

/** The child's input. */
struct lnet_opts {
	struct m0_lnet_cfg nop_cfg;
	/** One of those was given that only a node opened here would heed. */
	bool nop_given;
	/** So was --accept. */
	bool nop_accept_given;
	/** Bits 1 << enum conf_start of options that were given: they count, and
	 * not the configuration file. */
	uint32_t nop_starts;
	/** How long a device that is not there is waited for; 0: not at all. */
	uint64_t nop_wait_ms;
	/** Option that names the networks; NULL: --net. */
	const char *nop_net_option;
	/** Path of a control socket; NULL: the default. */
	const char       *nop_ctl;
	struct tool_fail *nop_fail;
};

extern const struct argp lnet_opts_argp;
/**
 * Options of a node without --ctl, for commands that never ask a running node.
 */
extern const struct argp lnet_opts_own_argp;

/** Options of a node that is a router; its input is the same. */
extern const struct argp router_opts_argp;

/** @param fail  where the first wrong option is noted. */
void lnet_opts_init(struct lnet_opts *opts, struct tool_fail *fail);
/** After all options: do they fit together? @return the exit code so far. */
int lnet_opts_check(struct lnet_opts *opts);

/**
 * Reads the value of --attach.
 * @param path  of the socket of a node; NULL: the default.
 */
void lnet_opts_attach(struct lnet_opts *opts, const char *path);
/** Time-outs of the node that were not given become `ms`. */
void lnet_opts_timeout(struct lnet_opts *opts, uint64_t ms);

/**
 * Translates the library's message about a configuration: fields of struct
 * m0_lnet_cfg become options of the command. @return ret.
 */
char *lnet_opts_words(char *ret, size_t size, const char *why);

/**
 * Opens a node, and with --wait waits for a device or an address that is not
 * there yet.
 * @param cfg  `opts->nop_cfg`, or a changed copy of it.
 * @return 0, or the exit code.
 */
int lnet_opts_open(const struct lnet_opts *opts, const struct m0_lnet_cfg *cfg,
		   struct m0_lnet **ret);

/**
 * Notes why m0_lnet_open() failed: with the library's words, if it had any; a
 * device that is not there may come, and is not an option that is wrong.
 * @return the exit code.
 */
int lnet_opts_open_fail(const struct lnet_opts *opts, int rc, const char *why);

/** Notes "OPTION 'VALUE' is not accepted; accepted: WHAT". */
void tool_bad_value(struct tool_fail *fail, const char *option,
		    const char *value, const char *accepted);
/** Reads the mode of a socket, 600 to 666 octal; else notes that it is not accepted. */
mode_t tool_mode_option(struct tool_fail *fail, const char *option,
			const char *text);
/** Reads the name or the number of a group. */
bool tool_group_parse(const char *text, uint32_t *ret);
/** Reads a number in [min, max]; else notes that it is not accepted. */
uint64_t tool_number_option(struct tool_fail *fail, const char *option,
			    const char *text, uint64_t min, uint64_t max);
/** Reads a time in [min, a day], as milliseconds, rounded up. */
uint64_t tool_ms_option(struct tool_fail *fail, const char *option,
			const char *text, uint64_t min_ms);

#endif /* M0_TOOLS_LNET_OPTS_H */
