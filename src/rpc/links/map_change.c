/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Changes of the map of services, and the links of connections that follow them.
 */
#include "rpc/rpc_internal.h"

/* Which of the two is the better one to speak over? */
static struct m0_rpc__link *better(struct m0_rpc__link *a,
				   struct m0_rpc__link *b)
{
	if (a == NULL)
		return b;
	return m0_rpc__link_is_up(b) && !m0_rpc__link_is_up(a) ? b : a;
}

/* Mark the links that the map does not have any more; return the best that
 * stays. */
static struct m0_rpc__link *links_mark(struct m0_rpc__conn        *conn,
				       const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *stays = NULL;
	struct m0_rpc__link *link;

	M0_PRE(m0_rpc__addrs_invariant(addrs));
	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link) {
		link->lnk_goes =
			!m0_rpc__addrs_have(addrs, link->lnk_info.lki_addr);
		if (!link->lnk_goes)
			stays = better(stays, link);
	}
	return stays;
}

static bool has_link(const struct m0_rpc__conn *conn, const char *addr)
{
	const struct m0_rpc__link *link;

	m0_list_for_each_entry(&conn->rcx_links, link, struct m0_rpc__link,
			       lnk_link)
		if (strcmp(link->lnk_info.lki_addr, addr) == 0)
			return true;
	return false;
}

static struct m0_rpc__link *links_add(struct m0_rpc__conn        *conn,
				      const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *first = NULL;
	struct m0_rpc__link *link;
	uint32_t             i;

	for (i = 0; i < addrs->rad_nr; ++i) {
		if (has_link(conn, addrs->rad_text[i]))
			continue;
		link = m0_rpc__link_new(conn, addrs->rad_text[i]);
		if (link != NULL)
			link->lnk_probe_at = conn->rcx_machine->rml_now;
		first = first ?: link;
	}
	return first;
}

/* Remove the marked links: first the items of all, then the links. */
static void links_drop(struct m0_rpc__conn *conn)
{
	struct m0_list_link *at;
	struct m0_list_link *next;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	m0_list_for_each(&conn->rcx_links, at) {
		struct m0_rpc__link *link =
			container_of(at, struct m0_rpc__link, lnk_link);

		if (!link->lnk_goes)
			continue;
		link->lnk_info.lki_state = M0_RPC_LINK_DOWN;
		m0_rpc__link_clear(link);
		/* Others may use it. */
		if (link->lnk_target != NULL &&
		    m0_list_first(&link->lnk_target->trg_links) ==
			    m0_list_last(&link->lnk_target->trg_links))
			m0_rpc__packets_cancel(link->lnk_target);
	}
	m0_list_for_each_safe(&conn->rcx_links, at, next) {
		struct m0_rpc__link *link =
			container_of(at, struct m0_rpc__link, lnk_link);

		if (link->lnk_goes)
			m0_rpc__link_free(link);
	}
}

static void links_change(struct m0_rpc__conn        *conn,
			 const struct m0_rpc__addrs *addrs)
{
	struct m0_rpc__link *stays = links_mark(conn, addrs);
	struct m0_rpc__link *first = links_add(conn, addrs);
	bool                 was_taken = conn->rcx_target != NULL;

	M0_PRE(addrs->rad_nr > 0);
	if (stays == NULL && first == NULL)
		return;
	if (stays == NULL ||
	    (conn->rcx_main->lnk_goes && !m0_rpc__link_is_up(stays))) {
		/* Nothing is known of where it is now. */
		conn->rcx_main = stays ?: first;
		conn->rcx_target = NULL;
		if (was_taken)
			m0_rpc__conn_retarget(conn);
		links_drop(conn);
		if (was_taken)
			m0_rpc__link_refill(conn);
		m0_rpc__ways_note(conn);
		m0_rpc__links_watch(conn, conn->rcx_machine->rml_now);
		return;
	}
	if (conn->rcx_main->lnk_goes)
		m0_rpc__main_set(stays);
	links_drop(conn);
	m0_rpc__link_refill(conn);
	m0_rpc__ways_note(conn);
	m0_rpc__links_watch(conn, conn->rcx_machine->rml_now);
}

/* ----------------------------------------------------------------- the map -- */

/* The connections go by what the map says when this is run. */
static void changed_do(struct m0_rpc__machine *m, void *arg)
{
	const struct m0_uint128 *service = arg;
	struct m0_rpc__addrs     addrs;
	struct m0_rpc__conn     *conn;

	M0_PRE(m0_rpc__is_here(m));
	if (m0_rpc__addrs_find(m, *service, NULL, &addrs) != 0)
		return;
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link)
		if (m0_uint128_eq(&conn->rcx_conn->c_service, service))
			links_change(conn, &addrs);
}

int m0_rpc_machine_map_links(struct m0_rpc_machine *machine,
			     struct m0_uint128      service,
			     const char *const *addrs, uint32_t nr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__addrs    set = { 0 };
	struct m0_rpc__place   *place;
	uint32_t                i;
	int                     rc = 0;

	M0_PRE(addrs != NULL);
	if (nr == 0 || nr > M0_RPC_LINKS_MAX)
		return -EINVAL;
	for (i = 0; i < nr && rc == 0; ++i) {
		rc = m0_rpc__addr_check(m, addrs[i]);
		if (rc == 0)
			m0_rpc__addrs_add(&set, addrs[i]);
	}
	if (rc != 0)
		return rc;
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = m0_rpc__place_get(m, service);
	if (place != NULL)
		place->rpl_addrs = set;
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (place == NULL)
		return -ENOMEM;
	m0_rpc__do(m, changed_do, &service);
	return 0;
}

int m0_rpc_machine_map(struct m0_rpc_machine *machine,
		       struct m0_uint128 service, const char *addr)
{
	return m0_rpc_machine_map_links(machine, service, &addr, 1);
}

int m0_rpc_machine_map_add(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__place   *place;
	int                     rc = m0_rpc__addr_check(m, addr);

	if (rc != 0)
		return rc;
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = m0_rpc__place_get(m, service);
	if (place == NULL)
		rc = -ENOMEM;
	else if (m0_rpc__addrs_have(&place->rpl_addrs, addr))
		rc = -EEXIST;
	else if (place->rpl_addrs.rad_nr == M0_RPC_LINKS_MAX)
		rc = -ENOSPC;
	else
		m0_rpc__addrs_add(&place->rpl_addrs, addr);
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (rc == 0)
		m0_rpc__do(m, changed_do, &service);
	return rc;
}

int m0_rpc_machine_map_del(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__place   *place;
	int                     rc = 0;

	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = m0_rpc__place_find(m, service);
	if (place == NULL || !m0_rpc__addrs_have(&place->rpl_addrs, addr))
		rc = -ENOENT;
	else if (place->rpl_addrs.rad_nr == 1)
		rc = -EBUSY;
	else
		m0_rpc__addrs_del(&place->rpl_addrs, addr);
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (rc == 0)
		m0_rpc__do(m, changed_do, &service);
	return rc;
}
