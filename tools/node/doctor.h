/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri doctor`: can this host talk to a NID, and if not, what is to be done?
 *
 * Checks by sockets (doctor_net.c) come first, then those of LNet (doctor_lnet.c), which
 * a running node makes, a node that this process attaches to, or one that it opens.
 */
#ifndef M0_TOOLS_DOCTOR_H
#define M0_TOOLS_DOCTOR_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "ctl.h"
#include "lnet_opts.h"
#include "m0/lnet_info.h"

enum doctor_verdict {
	DOCTOR_SKIPPED,
	DOCTOR_OK,
	DOCTOR_WARN,
	DOCTOR_FAIL,
	DOCTOR_VERDICTS_NR
};

enum doctor_what {
	DOCTOR_NAME,
	DOCTOR_ROUTE,
	DOCTOR_PORT,
	DOCTOR_TCP,
	DOCTOR_MTU,
	DOCTOR_HELLO,
	DOCTOR_PING,
	DOCTOR_DISCOVERY,
	DOCTOR_LATENCY,
	DOCTOR_RATE,
	DOCTOR_HEALTH,
	DOCTOR_CHECKS_NR
};

enum {
	DOCTOR_TEXT_BYTES = 512,
	/** Most NIDs of all operands. */
	DOCTOR_NIDS_MAX = 1024
};

/** The outcome of a check. */
struct doctor_check {
	enum doctor_verdict dch_verdict;
	char                dch_text[DOCTOR_TEXT_BYTES];
	/** The remedy; "": none. */
	char dch_remedy[DOCTOR_TEXT_BYTES];
};

union doctor_addr {
	struct sockaddr     dad_any;
	struct sockaddr_in  dad_v4;
	struct sockaddr_in6 dad_v6;
};

struct doctor {
	struct lnet_opts dtr_opts;
	struct tool_fail dtr_fail;
	bool             dtr_json;
	bool             dtr_attaches;
	/** Many NIDs: checks that take long are left out. */
	bool dtr_is_table;
	/** Outcome of a TCP connection that was made before, or -1. */
	int         dtr_scanned;
	const char *dtr_bundle;
	/** Path of a page, and the page; NULL: none. */
	const char *dtr_report;
	FILE       *dtr_page;
	uint64_t    dtr_timeout_ms;
	/** End of the checks of one NID. */
	m0_time_t dtr_deadline;
	int       dtr_stop_fd;

	/** A running node makes the checks of LNet. */
	bool dtr_by_ctl;
	/** Its metrics when the checks began; NULL: it gave none. */
	char *dtr_metrics;
	/** The node of this process; NULL: there is none. */
	struct m0_lnet *dtr_lnet;

	const char        *dtr_operand;
	struct m0_lnet_nid dtr_nid;
	char               dtr_nid_text[M0_LNET_NIDSTR_SIZE];
	/** The host of the NID; dtr_addr_size 0: it has no IP address. */
	union doctor_addr   dtr_addr;
	socklen_t           dtr_addr_size;
	unsigned            dtr_device_mtu;
	bool                dtr_is_routed;
	struct doctor_check dtr_checks[DOCTOR_CHECKS_NR];
};

extern const char *const doctor_names[DOCTOR_CHECKS_NR];
extern const char *const doctor_verdicts[DOCTOR_VERDICTS_NR];

/** Notes the outcome of a check. */
void doctor_note(struct doctor *doctor, enum doctor_what what,
		 enum doctor_verdict verdict, const char *fmt, ...)
	M0_PRINTF(4, 5);
/** Adds what to do. */
void doctor_remedy(struct doctor *doctor, enum doctor_what what,
		   const char *fmt, ...) M0_PRINTF(3, 4);
/** Milliseconds of `max` that are left until the deadline, at least 1. */
uint64_t doctor_left_ms(const struct doctor *doctor, uint64_t max);
/** Runs all checks of one NID. */
void doctor_run(struct doctor *doctor, const char *operand);
/** The worst verdict. */
enum doctor_verdict doctor_worst(const struct doctor *doctor);
/** Prints what doctor_run() found. */
void doctor_print(const struct doctor *doctor, FILE *out);

/* -- doctor_net.c ---------------------------------------------------------- */

/** The NID of an operand, which may have the name of a host. @return false: none. */
bool doctor_name_check(struct doctor *doctor);
void doctor_route_check(struct doctor *doctor);
/** TCP connection, and the path MTU that it found. */
void doctor_tcp_check(struct doctor *doctor);

/** Connects to many at once. @param errors  gets 0 or an errno for each, or -1. */
void doctor_tcp_scan(struct doctor *doctor, const struct m0_lnet_nid *nids,
		     unsigned nr, int *errors);

/* -- doctor_lnet.c --------------------------------------------------------- */

/** Opens what the checks of LNet need. */
void doctor_lnet_open(struct doctor *doctor);
void doctor_lnet_close(struct doctor *doctor);
/** The checks of the port, and of whether the NID is behind a router. */
void doctor_port_check(struct doctor *doctor);
void doctor_lnet_checks(struct doctor *doctor);
/** Asks the running node: ctl_ask_text(). @return the exit code of the request. */
int doctor_ask(struct doctor *doctor, const struct ctl_request *req,
	       char **ret_out, char **ret_err);

/* -- doctor_rate.c --------------------------------------------------------- */

void doctor_rate_check(struct doctor *doctor);

/* -- doctor_table.c -------------------------------------------------------- */

/**
 * Appends the NIDs of "10.0.0.[1-4]@tcp" or of one NID.
 * @retval -EINVAL  it is neither.
 * @retval -E2BIG   they would be more than DOCTOR_NIDS_MAX.
 */
int doctor_expand(const char *word, struct m0_lnet_nid *nids, unsigned *nr);
/** One line for each NID. @return the exit code. */
int doctor_table(struct doctor *doctor, const struct m0_lnet_nid *nids,
		 unsigned nr);

/* -- doctor_page.c --------------------------------------------------------- */

/* Nothing is done without --report. */
int doctor_page_open(struct doctor *doctor, const char *title);
/** The checks of one NID. */
void doctor_page_one(const struct doctor *doctor);
/* A map of many. */
void doctor_page_head(const struct doctor *doctor);
void doctor_page_row(const struct doctor *doctor);
void doctor_page_end(const struct doctor *doctor, const char *text);
/** @return the exit code. */
int doctor_page_close(struct doctor *doctor);

/* -- doctor_bundle.c ------------------------------------------------------- */

/** Writes a tar file with the report and what the running node says. */
int doctor_bundle(struct doctor *doctor, const char *report, size_t nr);

#endif /* M0_TOOLS_DOCTOR_H */
