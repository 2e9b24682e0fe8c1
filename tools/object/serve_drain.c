/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The drain: the RPC machine stops, on a thread of its own, and this thread answers probers
 * meanwhile. They see that the service is well and not ready.
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "serve.h"
#include "serve_metrics.h"

struct drain {
	struct server *svd_server;
	/** eventfd; readable when the machine has stopped. */
	int              svd_fd;
	bool             svd_over;
	struct m0_thread svd_thread;
};

static void drain_run(struct drain *drain)
{
	m0_rpc_machine_stop(&drain->svd_server->sv_machine, false);
	__atomic_store_n(&drain->svd_over, true, __ATOMIC_RELEASE);
	(void)eventfd_write(drain->svd_fd, 1);
}

/* Is there a thread that drains? */
static bool drain_start(struct drain *drain)
{
	drain->svd_fd = eventfd(0, EFD_CLOEXEC);
	if (drain->svd_fd < 0)
		return false;
	if (M0_THREAD_INIT(&drain->svd_thread, struct drain *, NULL, &drain_run,
			   drain, "serve-drain") == 0)
		return true;
	(void)close(drain->svd_fd);
	return false;
}

void serve_drain(struct server *sv)
{
	struct drain drain = { .svd_server = sv };

	if (sv->sv_metrics == NULL || !drain_start(&drain)) {
		m0_rpc_machine_stop(&sv->sv_machine, false);
		return;
	}
	while (!__atomic_load_n(&drain.svd_over, __ATOMIC_ACQUIRE))
		serve_metrics_wait(sv->sv_metrics, drain.svd_fd);
	(void)m0_thread_join(&drain.svd_thread);
	m0_thread_fini(&drain.svd_thread);
	(void)close(drain.svd_fd);
	/* Nobody answers from now on, so probers are to be refused. */
	serve_metrics_close(sv->sv_metrics);
}
