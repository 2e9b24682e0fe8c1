/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The owner of the engines of lnet_pair: messages, and events that are kept. */
#include <stdlib.h>

#include "lib/lnet_pair_internal.h"

struct pair_msg {
	struct m0_lnet_msg   pms_msg;
	struct m0_lnet_event pms_event[2];
};

struct m0_lnet_msg *pair__msg_get(void *owner)
{
	struct pair_node *node = owner;
	struct pair_msg  *pms;

	if (node->pno_msgs_nr >= node->pno_msgs_max)
		return NULL;
	M0_ALLOC_PTR(pms);
	if (pms == NULL)
		return NULL;
	/* The engine initialises the rest. */
	memset(pms, 0xa5, sizeof *pms);
	pms->pms_msg.msg_event[0] = &pms->pms_event[0];
	pms->pms_msg.msg_event[1] = &pms->pms_event[1];
	++node->pno_msgs_nr;
	return &pms->pms_msg;
}

static void home_msg_put(void *owner, struct m0_lnet_msg *msg)
{
	struct pair_node *node = owner;

	M0_ASSERT(node->pno_msgs_nr > 0);
	--node->pno_msgs_nr;
	m0_free(container_of(msg, struct pair_msg, pms_msg));
}

static void home_event(void *owner, struct m0_lnet_md *md,
		       struct m0_lnet_event *ev, struct m0_lnet_msg *msg)
{
	struct pair_node    *node = owner;
	struct pair_posted **at = &node->pno_posted;
	/* Tests make m0_alloc() fail; space for events is reserved in an owner. */
	struct pair_posted *event = malloc(sizeof *event);

	M0_ASSERT(event != NULL);
	*event = (struct pair_posted){ .pev_event = *ev,
				       .pev_eq = md->md_eq,
				       .pev_ended = ev->ev_unlinked ? md : NULL,
				       .pev_has_msg = msg != NULL };
	while (*at != NULL)
		at = &(*at)->pev_next;
	*at = event;
}

static bool home_eq_room(void *owner, uint32_t eq)
{
	struct pair_node *node = owner;

	M0_ASSERT(eq == PAIR_EQ);
	return !node->pno_eq_full;
}

/* One taking after the other is awaited, as by an owner. */
static bool home_is_behind(void *owner, uint64_t *mark)
{
	const struct pair_node *node = owner;

	if (*mark == 0 && node->pno_behind)
		*mark = node->pno_takes_nr + 1;
	return *mark > node->pno_takes_nr;
}

static void home_me_gone(void *owner, struct m0_lnet_me *me)
{
	struct pair_node *node = owner;

	M0_ASSERT(node->pno_mes_nr > 0);
	--node->pno_mes_nr;
	m0_free(me);
}

static void home_probe_done(void *owner, struct m0_lnet_probe *probe)
{
	struct pair_node *node = owner;

	++node->pno_probes_done_nr;
	node->pno_probe_last = probe;
	if (probe->pr_done != NULL)
		probe->pr_done(probe);
}

const struct m0_lnet_owner_ops pair__owner_ops = {
	.ho_msg_get = pair__msg_get,
	.ho_msg_put = home_msg_put,
	.ho_event = home_event,
	.ho_eq_room = home_eq_room,
	.ho_is_behind = home_is_behind,
	.ho_me_gone = home_me_gone,
	.ho_probe_done = home_probe_done,
};

bool pair__events_take(struct pair_node *node)
{
	bool                any = false;
	struct pair_posted *event;

	while (!node->pno_keep && node->pno_posted != NULL) {
		event = node->pno_posted;
		node->pno_posted = event->pev_next;
		M0_ASSERT(node->pno_events_nr < PAIR_EVENTS_MAX);
		node->pno_events[node->pno_events_nr++] = event->pev_event;
		if (event->pev_ended != NULL) {
			--node->pno_mds_nr;
			m0_free(container_of(event->pev_ended, struct pair_md,
					     pmd_md));
		}
		free(event);
		any = true;
	}
	return any;
}
