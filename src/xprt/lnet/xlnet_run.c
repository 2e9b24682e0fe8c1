/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Threads of TMs: the thread of the node runs them, or the application polls.
 */
#include "xprt/lnet/xlnet_internal.h"

static m0_time_t machine_run(struct m0_lnet_runner *runner, m0_time_t now)
{
	return m0_net_kit_machine_run(container_of(runner, struct xlnet_machine,
						   xm_runner)
					      ->xm_machine,
				      now);
}

static void machine_wake(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	m0_lnet_runner_wake(xm->xm_node->xn_lnet, &xm->xm_runner);
}

static void machine_unrun(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	M0_PRE(xm->xm_has_runner);
	m0_lnet_runner_del(xm->xm_node->xn_lnet, &xm->xm_runner);
	m0_xlnet__node_put(xm);
}

const struct m0_net_kit_runner *m0_xlnet__runner(
	struct m0_net_kit_machine    *machine,
	const struct m0_net_kit_addr *wanted)
{
	static const struct m0_net_kit_runner runner = {
		.nkr_wake = machine_wake, .nkr_stop = machine_unrun
	};
	struct xlnet_machine *xm = xlnet_machine(machine);

	M0_PRE_EX(xlnet_is_locked(machine));
	M0_PRE(!xm->xm_has_runner);
	xm->xm_machine = machine;
	if (m0_xlnet__node_get(xm, wanted) != 0)
		return NULL;
	if (m0_lnet_thread_start(xm->xm_node->xn_lnet) != 0) {
		m0_xlnet__node_put(xm);
		return NULL;
	}
	xm->xm_runner.ru_run = machine_run;
	xm->xm_has_runner = true;
	m0_lnet_runner_add(xm->xm_node->xn_lnet, &xm->xm_runner);
	return &runner;
}

bool m0_xlnet__poll(struct m0_net_kit_machine *machine, bool unattended)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	if (node == NULL || !m0_lnet_is_inline(node->xn_lnet))
		return false;
	if (unattended && m0_lnet_thread_start(node->xn_lnet) == 0)
		return false;
	/* Push requests before looking for input. */
	m0_lnet_push(node->xn_lnet);
	(void)m0_lnet_poll_at(node->xn_lnet, m0_time_cached());
	return true;
}

void m0_xlnet__push(struct m0_net_kit_machine *machine)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	if (node != NULL)
		m0_lnet_push(node->xn_lnet);
}

int m0_xlnet__poll_fd(struct m0_net_kit_machine *machine)
{
	struct xlnet_node *node = __atomic_load_n(
		&xlnet_machine(machine)->xm_node, __ATOMIC_ACQUIRE);

	return node == NULL ? -ENOENT : m0_lnet_fd(node->xn_lnet);
}
