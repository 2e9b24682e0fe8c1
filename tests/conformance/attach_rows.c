/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Daemons whose nodes the LNet transport's row "lnet-attach" is attached to. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach_server.h"
#include "m0/lnet.h"
#include "m0/sim_attach.h"

#include "attach_rows.h"
#include "cf.h"

enum {
	DAEMONS_MAX = 2,
	STOP_MS = 10000
};

struct daemon {
	struct m0_lnet         *da_lnet;
	struct m0_attach_server da_server;
	struct m0_sim_daemon   *da_sim;
	char                    da_path[64];
};

static struct daemon daemons[DAEMONS_MAX];
static unsigned      daemons_nr;
static char          dir[32];

/* Over a socket. */
static void server_begin(struct daemon *da)
{
	struct m0_attach_policy policy;
	char                    why[M0_LNET_WHY_BYTES] = "";

	if (daemons_nr == 0) {
		(void)snprintf(dir, sizeof dir, "/tmp/colibri-cf.XXXXXX");
		CF_TRUE(mkdtemp(dir) != NULL, "a directory");
	}
	(void)snprintf(da->da_path, sizeof da->da_path, "%s/%u", dir,
		       daemons_nr);
	m0_attach_policy_default(&policy);
	CF_EQ(m0_attach_server_start(&da->da_server, da->da_lnet, &policy,
				     da->da_path, why),
	      0, "%s", why);
}

static void server_end(struct daemon *da, m0_time_t until)
{
	char path[80];

	CF_EQ(m0_attach_server_stop(&da->da_server, until), 0, "stop");
	m0_attach_server_fini(&da->da_server);
	m0_lnet_close(da->da_lnet);
	(void)snprintf(path, sizeof path, "%s.lock", da->da_path);
	(void)unlink(path);
}

void attach_daemon_begin(struct m0_lnet_cfg *cfg)
{
	struct daemon *da = &daemons[daemons_nr];
	char           why[M0_LNET_WHY_BYTES] = "";

	cfg->lc_inline = false;
	CF_EQ(m0_lnet_open(&da->da_lnet, cfg, why), 0, "%s", why);
	if (cf.c_sim) {
		(void)snprintf(da->da_path, sizeof da->da_path, "/%u",
			       daemons_nr);
		CF_EQ(m0_sim_daemon_start(&da->da_sim, da->da_lnet,
					  da->da_path),
		      0, "start");
	} else {
		server_begin(da);
	}
	++daemons_nr;
	cfg->lc_inline = true;
	(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "%s",
		       da->da_path);
}

/* All that processes held was released when they were closed. */
static void sim_end(struct daemon *da)
{
	struct m0_sim_daemon_info info;

	m0_sim_daemon_info_get(da->da_sim, &info);
	CF_EQ(info.sdi_attached_nr, 1, "attached");
	CF_EQ(info.sdi_broken_nr, 0, "broken");
	CF_EQ(info.sdi_procs_nr, 0, "processes that are left");
	CF_EQ(info.sdi_numbers_nr, 0, "numbers that are left");
	m0_sim_daemon_stop(da->da_sim);
	m0_lnet_close(da->da_lnet);
}

void attach_daemons_end(void)
{
	m0_time_t until = m0_time_from_now(STOP_MS / 1000, 0);

	if (daemons_nr == 0)
		return;
	while (daemons_nr > 0) {
		struct daemon *da = &daemons[--daemons_nr];

		if (cf.c_sim)
			sim_end(da);
		else
			server_end(da, until);
	}
	if (!cf.c_sim)
		(void)rmdir(dir);
}
