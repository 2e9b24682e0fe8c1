/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Events of MDs, as the thread of their node delivers them: it visits the TM
 * that they concern.
 */
#include "xprt/lnet/xlnet_internal.h"

enum {
	/** Events of one visit, before others may have the lock of the TM. */
	VISIT_NR = 32
};

/* Leaves the TM that is visited, and enters `machine` unless that is NULL. A TM is left
 * when it has got all events that a pass has for it, or VISIT_NR of them. */
static void visit(struct xlnet_node *node, struct m0_net_kit_machine *machine)
{
	if (node->xn_visited != NULL)
		m0_net_kit_leave(node->xn_visited, &node->xn_visit);
	if (machine != NULL)
		m0_net_kit_enter(machine, &node->xn_visit);
	node->xn_visited = machine;
	node->xn_visit_nr = 0;
}

void m0_xlnet__events_end(struct m0_lnet_eq *eq)
{
	visit(container_of(eq, struct xlnet_node, xn_eq), NULL);
}

static __attribute__((__noinline__)) void other_event_deliver(
	struct xlnet_md *xd, const struct m0_lnet_event *ev)
{
	switch (xd->xd_kind) {
	case XLNET_CATCH:
		m0_xlnet__catch_event(xlnet_machine(xd->xd_machine), ev);
		break;
	case XLNET_STAGE:
		m0_xlnet__stage_event(xlnet_machine(xd->xd_machine), xd, ev);
		break;
	case XLNET_PASSIVE:
		m0_xlnet__passive_event(xlnet_buf(xd->xd_kb), ev);
		break;
	case XLNET_ACTIVE:
		m0_xlnet__active_event(xlnet_buf(xd->xd_kb), ev);
		break;
	default:
		M0_IMPOSSIBLE("an event of an MD that has ended");
	}
}

/* The machine is visited. Messages are many, and asked for first. */
static inline void event_deliver(struct xlnet_md            *xd,
				 const struct m0_lnet_event *ev)
{
	if (xd->xd_kind == XLNET_RECV)
		m0_xlnet__recv_event(xlnet_buf(xd->xd_kb), ev);
	else if (xd->xd_kind == XLNET_SEND)
		m0_xlnet__send_event(xlnet_buf(xd->xd_kb), ev);
	else
		other_event_deliver(xd, ev);
}

/* Apart: the events that follow need no frame for it. */
static __attribute__((__noinline__)) void first_event_deliver(
	struct xlnet_node *node, struct xlnet_md *xd,
	const struct m0_lnet_event *ev)
{
	visit(node, xd->xd_machine);
	event_deliver(xd, ev);
}

void m0_xlnet__event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct xlnet_node *node = container_of(eq, struct xlnet_node, xn_eq);
	struct xlnet_md   *xd = ev->ev_md_user;

	if (M0_LIKELY(node->xn_visited == xd->xd_machine &&
		      ++node->xn_visit_nr < VISIT_NR))
		event_deliver(xd, ev);
	else
		first_event_deliver(node, xd, ev);
}
