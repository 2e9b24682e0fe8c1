/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include <m0/lnet.h>

enum {
	PORTAL = 30,
	BITS = 0x4c
};

static char        text[64], said[] = "hello";
static void       *at[2] = { text, said };
static m0_bcount_t bytes[2] = { sizeof text, sizeof said };

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

int main(void) /* a node that pings itself, and sends itself a word */
{
	struct m0_bufvec       vec[2] = { M0_BUFVEC_INIT_BUF(&at[0], &bytes[0]),
					  M0_BUFVEC_INIT_BUF(&at[1], &bytes[1]) };
	char                   why[M0_LNET_WHY_BYTES], nid[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_me_attr me = { .mea_portal = PORTAL,
				      .mea_id = { m0_lnet_nid_any,
						  M0_LNET_PID_ANY },
				      .mea_match_bits = BITS,
				      .mea_flags = M0_LNET_ME_UNLINK };
	struct m0_lnet_md_attr md = { .mda_threshold = 1,
				      .mda_auto_unlink = true };
	struct m0_lnet_op      op = { .lo_self = m0_lnet_nid_any,
				      .lo_portal = PORTAL,
				      .lo_match_bits = BITS };
	struct m0_lnet_probe   ping = { .pr_self = m0_lnet_nid_any,
					.pr_timeout_ms = 1000 };
	struct m0_lnet        *lnet;
	struct m0_lnet_cfg     cfg;
	struct m0_lnet_eq      eq;
	struct m0_lnet_event   ev;
	struct m0_lnet_handle  entry, in, out;
	int                    ended = 0;

	m0_lnet_cfg_default(&cfg);
	cfg.lc_accept = M0_LNET_ACCEPT_NONE; /* nobody else is to connect */
	if (m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why) != 0 ||
	    m0_lnet_open(&lnet, &cfg, why) != 0)
		fail(why);
	m0_lnet_get_id(lnet, 1, &op.lo_target);
	ping.pr_nid = op.lo_target.lp_nid;
	if (m0_lnet_probe_sync(lnet, &ping) != 0)
		fail("no answer");
	printf("%s is there\n",
	       m0_lnet_nid_print(&ping.pr_nid, nid, sizeof nid));

	m0_lnet_eq_init(&eq, lnet, NULL, 0); /* polled */
	md.mda_eq = &eq;
	md.mda_vec = &vec[0];
	md.mda_length = sizeof text;
	md.mda_options = M0_LNET_MD_OP_PUT;
	if (m0_lnet_me_attach(lnet, &me, &entry) != 0 ||
	    m0_lnet_md_attach(lnet, entry, &md, &in) != 0)
		fail("no place for a message");
	md.mda_vec = &vec[1];
	md.mda_length = sizeof said;
	md.mda_options = 0;
	if (m0_lnet_md_bind(lnet, &md, &out) != 0 ||
	    m0_lnet_put(lnet, out, &op) != 0)
		fail("no message");
	while (ended < 2 && m0_lnet_eq_wait(&eq, &ev, M0_TIME_NEVER) == 0) {
		ended += ev.ev_unlinked;
		if (ev.ev_status == 0 && ev.ev_type == M0_LNET_EV_PUT)
			printf("%s says: %s\n",
			       m0_lnet_nid_print(&ev.ev_source.lp_nid, nid,
						 sizeof nid),
			       text);
	}
	m0_lnet_eq_fini(&eq);
	m0_lnet_close(lnet);
	return 0;
}
