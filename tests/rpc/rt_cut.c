/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A way that swallows what it is given. */
#include "m0/lnet_fault.h"
#include "conformance/lnet_rows.h"
#include "conformance/toy.h"
#include "rt.h"

static bool gate(unsigned from, unsigned to)
{
	return from != 3 && to != 3;
}

/* The third address is on the first of two nodes. */
static void node_cut(bool cut)
{
	struct m0_lnet_fault_attr attr;
	char                      why[M0_LNET_WHY_BYTES] = "";

	if (cut) {
		m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_DROP);
		attr.lfa_all = true;
		CF_EQ(m0_lnet_fault_add(lnet_node(0), &attr, why), 0, "%s",
		      why);
	} else {
		CF_EQ(m0_lnet_fault_del(lnet_node(0), M0_LNET_FAULT_DROP, NULL,
					NULL),
		      1, "the rule");
	}
}

bool rt_way_cut(bool cut)
{
	if (strcmp(cf.c_row->r_name, "toy") == 0)
		toy_gate_set(cut ? gate : NULL);
	else if (strcmp(cf.c_row->r_name, "lnet-tcp4") == 0)
		node_cut(cut);
	else
		return false;
	return true;
}

static void node_resets(bool on)
{
	struct m0_lnet_fault_attr attr;
	char                      why[M0_LNET_WHY_BYTES] = "";

	if (!on) {
		(void)m0_lnet_fault_del(lnet_node(0), M0_LNET_FAULT_CUT, NULL,
					NULL);
		return;
	}
	(void)cf_dom(0);
	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_CUT);
	attr.lfa_msgs = M0_LNET_FAULT_GET | M0_LNET_FAULT_REPLY |
			M0_LNET_FAULT_ACK;
	attr.lfa_rate = 4;
	CF_EQ(m0_lnet_fault_add(lnet_node(0), &attr, why), 0, "%s", why);
}

void rt_resets(bool on)
{
	struct toy_faults faults = { .tf_drop_pct = 25, .tf_seed = cf.c_seed };

	if (strcmp(cf.c_row->r_name, "toy") == 0) {
		if (on) {
			toy_faults_set(&faults);
			toy_timeout_set(20 * M0_TIME_ONE_MSEC);
		}
	} else if (strcmp(cf.c_row->r_name, "lnet-tcp4") == 0) {
		node_resets(on);
	}
}
