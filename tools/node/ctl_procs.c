/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "ctl_procs.h"
#include "process_serve.h"

static int refused(const char *path, int rc, struct tool_fail *fail)
{
	return tool_fail_set(fail, TOOL_FAILED,
			     "%s does not tell its processes: %s%s", path,
			     tool_errtext(rc),
			     rc == -ENOTTY
				     ? "; accepted: /dev/colibri of a module "
				       "of this version"
				     : "");
}

int ctl_procs_show(const char *path, const struct ctl_request *req, FILE *out,
		   struct tool_fail *fail)
{
	struct m0_lnet_daemon_info info;
	struct m0_lnet_attached   *procs =
		calloc(M0_LNET_DAEMON_DEVICE_PROCS_MAX, sizeof *procs);
	int rc = -ENOMEM;

	if (procs != NULL)
		rc = m0_lnet_daemon_device_procs(
			path, &info, procs, M0_LNET_DAEMON_DEVICE_PROCS_MAX);
	rc = rc == 0 ? process_show(req, &info, procs, info.ldf_procs_nr, out)
		     : refused(path, rc, fail);
	free(procs);
	return rc;
}
