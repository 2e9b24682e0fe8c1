/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Cases for the in-memory transport alone: m0/mem.h. */
#include "m0/mem.h"

#include "cf.h"

/* Machines of one domain are no peers. */
static void same_domain_unreachable(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(0);
	struct cf_tm  *other = cf_up(1);
	struct cf_buf *p, *x;

	cf_recv(b, 64);
	cf_done_is(cf_send(a, b, 10, 1), -ENETUNREACH,
		   "message to a machine of the same domain");
	p = cf_passive(b, M0_NET_QT_PASSIVE_BULK_SEND, 100, NULL);
	x = cf_active(a, M0_NET_QT_ACTIVE_BULK_RECV, 100, &p->cb_nb.nb_desc);
	cf_done_is(x, -ENETUNREACH, "bulk from a machine of the same domain");
	CF_EQ(cf_get(&p->cb_events), 0, "the passive buffer sees nothing");
	x = cf_active(other, M0_NET_QT_ACTIVE_BULK_RECV, 100,
		      &p->cb_nb.nb_desc);
	cf_done_is(x, 0, "bulk from another domain");
	cf_done_is(p, 0, "passive");
}

/* NULL: from 65535 of 127.0.0.1 downward; a gap is filled. */
static void dynamic_ports_descend(void)
{
	static const char *const want[] = { "127.0.0.1:65535",
					    "127.0.0.1:65534",
					    "127.0.0.1:65533" };
	struct cf_tm            *t[4];
	int                      i;

	for (i = 0; i < 4; ++i) {
		t[i] = cf_tm_new(0);
		if (i == 3)
			cf_stop_wait(t[1], true);
		CF_EQ(m0_net_tm_start(&t[i]->ct_tm, NULL), 0, "start");
		cf_wait_state(t[i], M0_NET_TM_STARTED);
		CF_TRUE(strcmp(t[i]->ct_tm.ntm_ep->nep_addr,
			       want[i == 3 ? 1 : i]) == 0,
			"picked %s, expected %s", t[i]->ct_tm.ntm_ep->nep_addr,
			want[i == 3 ? 1 : i]);
	}
}

/* Default 1; what is set is read back. */
static void threads_set_and_get(void)
{
	struct cf_tm *t = cf_tm_new_mode(0, CF_ASYNC);

	m0_net_bulk_mem_tm_set_num_threads(&t->ct_tm, 1);
	CF_EQ(m0_net_bulk_mem_tm_get_num_threads(&t->ct_tm), 1, "threads");
	m0_net_bulk_mem_tm_set_num_threads(&t->ct_tm, 2);
	CF_EQ(m0_net_bulk_mem_tm_get_num_threads(&t->ct_tm), 2, "threads");
	m0_net_bulk_mem_tm_set_num_threads(&t->ct_tm,
					   M0_NET_BULK_MEM_THREADS_MAX);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_STARTED);
	cf_exchange(cf_up(1), t);
}

/* Addresses are texts of at most so many characters. */
static void addresses_fit(void)
{
	struct m0_net_end_point *ep;
	struct cf_tm            *t = cf_up(0);

	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, "255.255.255.255:65535"),
	      0, "the longest address");
	CF_TRUE(strlen(ep->nep_addr) < M0_NET_BULK_MEM_XEP_ADDR_LEN,
		"it fits: %s", ep->nep_addr);
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
}

static const struct cf_case cases[] = {
	{ "same domain is unreachable", same_domain_unreachable },
	{ "dynamic ports descend", dynamic_ports_descend },
	{ "threads, set and get", threads_set_and_get },
	{ "addresses fit", addresses_fit },
	{ NULL, NULL }
};

static const struct cf_suite suites[] = { { "mem", cases }, { NULL, NULL } };

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
