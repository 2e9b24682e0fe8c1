/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/xlnet.h"

#include "perf_guest.h"
#include "../net/place.h"
#include "../base/text.h"

/* Checks the request of a client against the limits. */
static int guest_check(const struct perf_setup *setup,
		       const struct perf_msg *msg, const char *addr,
		       const char *from, struct tool_fail *fail)
{
	struct m0_net_domain dom = { .nd_xprt = NULL };
	char                 text[TEXT_MAX];
	uint64_t             max = 0;

	/* Without this check a client could direct traffic to any address. */
	if (tool_place_check(setup->pu_xprt, addr, strlen(addr), false,
			     "address", fail) != 0 ||
	    m0_net_lnet_ep_addr_net_cmp(addr, from) != 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "%s is not on the client's node", addr);
	if (m0_net_domain_init(&dom, setup->pu_xprt->txp_xprt) == 0) {
		max = m0_net_domain_get_max_buffer_size(&dom);
		(void)m0_net_domain_fini(&dom);
	}
	if (msg->psg_size > max)
		return tool_fail_set(fail, TOOL_FAILED,
				     "size %" PRIu64 " is above %" PRIu64,
				     msg->psg_size, max);
	if (perf_memory((enum perf_test)msg->psg_test, msg->psg_size,
			msg->psg_depth) > PERF_MEMORY_MAX)
		return tool_fail_set(fail, TOOL_FAILED,
				     "the test needs more than %s of memory",
				     text_size(text, PERF_MEMORY_MAX));
	return 0;
}

static int guest_start(struct perf_run *run, const char *addr)
{
	int rc = perf_side_start(run, PERF_B);

	if (rc == 0)
		rc = perf_side_meet(&run->pn_sides[PERF_B], addr);
	if (rc == 0)
		rc = perf_bufs_init(&run->pn_sides[PERF_B]);
	return rc;
}

int perf_guest_begin(struct perf_guest *guest, const struct perf_setup *setup,
		     const struct perf_msg *msg, const char *addr,
		     const char *from, struct tool_fail *fail)
{
	struct perf_run *run;
	int              rc;

	perf_guest_end(guest);
	if (guest_check(setup, msg, addr, from, fail) != 0)
		return -EINVAL;
	M0_ALLOC_PTR(run);
	if (run == NULL) {
		tool_fail_set(fail, TOOL_FAILED, "no memory");
		return -ENOMEM;
	}
	guest->pgu_row.prw_test = (enum perf_test)msg->psg_test;
	guest->pgu_row.prw_size = msg->psg_size;
	guest->pgu_row.prw_depth = msg->psg_depth;
	guest->pgu_nr = msg->psg_row;
	guest->pgu_run = run;
	run->pn_setup = setup;
	run->pn_row = &guest->pgu_row;
	m0_mutex_init(&run->pn_lock);
	rc = guest_start(run, addr);
	if (rc == 0)
		return 0;
	tool_fail_set(fail, TOOL_FAILED, "the machine did not start: %s",
		      tool_errtext(rc));
	perf_guest_end(guest);
	return rc;
}

const char *perf_guest_addr(const struct perf_guest *guest)
{
	return tool_node_addr(&guest->pgu_run->pn_sides[PERF_B].pe_node);
}

void perf_guest_end(struct perf_guest *guest)
{
	struct perf_run *run = guest->pgu_run;

	if (run == NULL)
		return;
	perf_phase_set(run, PHASE_WARM, PHASE_STOP);
	tool_node_stop(&run->pn_sides[PERF_B].pe_node);
	perf_side_fini(&run->pn_sides[PERF_B]);
	m0_mutex_fini(&run->pn_lock);
	m0_free(run);
	guest->pgu_run = NULL;
}
