/* SPDX-License-Identifier: Apache-2.0 */
/* Daemons whose nodes the LNet transport's row "lnet-attach" is attached to. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach_server.h"
#include "m0/lnet.h"

#include "attach_rows.h"
#include "cf.h"

enum {
	DAEMONS_MAX = 2,
	STOP_MS = 10000
};

struct daemon {
	struct m0_lnet         *da_lnet;
	struct m0_attach_server da_server;
	char                    da_path[64];
};

static struct daemon daemons[DAEMONS_MAX];
static unsigned      daemons_nr;
static char          dir[32];

void attach_daemon_begin(struct m0_lnet_cfg *cfg)
{
	struct daemon          *da = &daemons[daemons_nr];
	struct m0_attach_policy policy;
	char                    why[M0_LNET_WHY_BYTES] = "";

	if (daemons_nr == 0) {
		(void)snprintf(dir, sizeof dir, "/tmp/colibri-cf.XXXXXX");
		CF_TRUE(mkdtemp(dir) != NULL, "a directory");
	}
	cfg->lc_inline = false;
	CF_EQ(m0_lnet_open(&da->da_lnet, cfg, why), 0, "%s", why);
	(void)snprintf(da->da_path, sizeof da->da_path, "%s/%u", dir,
		       daemons_nr);
	m0_attach_policy_default(&policy);
	CF_EQ(m0_attach_server_start(&da->da_server, da->da_lnet, &policy,
				     da->da_path, why),
	      0, "%s", why);
	++daemons_nr;
	cfg->lc_inline = true;
	(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "%s",
		       da->da_path);
}

void attach_daemons_end(void)
{
	char      path[80];
	m0_time_t until = m0_time_from_now(STOP_MS / 1000, 0);

	if (daemons_nr == 0)
		return;
	while (daemons_nr > 0) {
		struct daemon *da = &daemons[--daemons_nr];

		CF_EQ(m0_attach_server_stop(&da->da_server, until), 0, "stop");
		m0_attach_server_fini(&da->da_server);
		m0_lnet_close(da->da_lnet);
		(void)snprintf(path, sizeof path, "%s.lock", da->da_path);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}
