/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Daemons of the row "lnet-attach". */
#ifndef M0_TESTS_CONFORMANCE_ATTACH_ROWS_H
#define M0_TESTS_CONFORMANCE_ATTACH_ROWS_H

struct m0_lnet_cfg;

/** Starts a daemon whose node is configured by `cfg`, and makes `cfg` one that attaches. */
void attach_daemon_begin(struct m0_lnet_cfg *cfg);
/** Ends all of them. */
void attach_daemons_end(void);

#endif /* M0_TESTS_CONFORMANCE_ATTACH_ROWS_H */
