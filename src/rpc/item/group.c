/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Groups of items, and sources of items that ride along. */
#include "rpc/rpc_internal.h"

_Static_assert(sizeof(struct m0_rpc_frm_group) <=
		       sizeof(((struct m0_rpc_group *)0)->rg_lib),
	       "rg_lib is too small");

enum {
	LINGER_NS = 1000000
};

void m0_rpc_group_init(struct m0_rpc_group *group)
{
	M0_SET0(group);
	group->rg_linger_ns = LINGER_NS;
	group->rg_open = 1;
	m0_rpc__frm_group_init(m0_rpc__group_frm(group));
}

static void close_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc_group *group = arg;

	(void)m;
	m0_rpc__frm_group_close(m0_rpc__group_frm(group));
	__atomic_store_n(&group->rg_open, 0, __ATOMIC_RELEASE);
}

void m0_rpc_group_close(struct m0_rpc_machine *machine,
			struct m0_rpc_group   *group)
{
	m0_rpc__do(machine->rm_lib, close_do, group);
}

void m0_rpc_group_fini(struct m0_rpc_group *group)
{
	M0_PRE(__atomic_load_n(&group->rg_open, __ATOMIC_ACQUIRE) == 0);
	M0_PRE(__atomic_load_n(&group->rg_ended_nr, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&group->rg_posted_nr, __ATOMIC_ACQUIRE));
	m0_rpc__frm_group_fini(m0_rpc__group_frm(group));
}

/* -------------------------------------------------------------- sources -- */

struct source_arg {
	struct m0_rpc__conn       *sar_conn;
	struct m0_rpc_item_source *sar_source;
};

static void register_do(struct m0_rpc__machine *m, void *arg)
{
	struct source_arg *a = arg;

	M0_PRE(!m0_list_link_is_in(&a->sar_source->ris_link));
	(void)m;
	a->sar_source->ris_conn = a->sar_conn->rcx_conn;
	m0_list_add_tail(&a->sar_conn->rcx_sources, &a->sar_source->ris_link);
}

void m0_rpc_item_source_register(struct m0_rpc_conn        *conn,
				 struct m0_rpc_item_source *source)
{
	struct source_arg a = { conn->c_lib, source };

	M0_PRE(source->ris_conn == NULL);
	M0_PRE(source->ris_ops->riso_has_item != NULL &&
	       source->ris_ops->riso_get_item != NULL);
	m0_list_link_init(&source->ris_link);
	m0_rpc__do(a.sar_conn->rcx_machine, register_do, &a);
}

static void deregister_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc_item_source *source = arg;

	(void)m;
	if (source->ris_conn == NULL)
		return;
	m0_list_del(&source->ris_link);
	source->ris_conn = NULL;
}

void m0_rpc_item_source_deregister(struct m0_rpc_item_source *source)
{
	struct m0_rpc_conn *conn = source->ris_conn;

	if (conn != NULL)
		m0_rpc__do(conn->c_rpc_machine->rm_lib, deregister_do, source);
}

void m0_rpc__sources_end(struct m0_rpc__conn *conn)
{
	struct m0_list_link *link;

	M0_PRE(m0_rpc__is_here(conn->rcx_machine));
	while ((link = m0_list_first(&conn->rcx_sources)) != NULL) {
		struct m0_rpc_item_source *source =
			container_of(link, struct m0_rpc_item_source, ris_link);

		m0_list_del(link);
		source->ris_conn = NULL;
		if (source->ris_ops->riso_conn_terminating != NULL)
			source->ris_ops->riso_conn_terminating(source);
	}
}

/* As a one-way item that was posted to the connection. */
static struct m0_rpc_frm_item *source_item(struct m0_rpc__conn   *conn,
					   struct m0_rpc__target *target,
					   struct m0_rpc_item    *item)
{
	struct m0_rpc__machine *m = conn->rcx_machine;
	struct m0_rpc__item    *il = m0_rpc__il(item);

	M0_PRE(m0_rpc__conn_invariant(conn));
	M0_ASSERT(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_ONEWAY);
	il->ril_payload = item->ri_type->rit_ops->rito_payload_size(item);
	m0_rpc__item_prepare(m, item);
	il->ril_owner = &m0_rpc__conn_owner;
	il->ril_conn = conn;
	il->ril_target = target;
	__atomic_fetch_add(&conn->rcx_hold_nr, 1, __ATOMIC_SEQ_CST);
	m0_list_add_tail(&conn->rcx_items, &il->ril_link);
	item->ri_expires = m0_time_add(m->rml_now, m->rml_cfg.rc_timeout_ns);
	m0_timerq_arm(&m->rml_timers.rtm_items, &il->ril_timer,
		      item->ri_expires);
	il->ril_frm.fi_view.fv_type = item->ri_type;
	il->ril_frm.fi_view.fv_key = &item->ri_key;
	il->ril_frm.fi_view.fv_prio = item->ri_prio;
	il->ril_frm.fi_view.fv_size = item->ri_size;
	return &il->ril_frm;
}

struct m0_rpc_frm_item *m0_rpc__source_ask(struct m0_rpc__target *target,
					   m0_bcount_t            bytes)
{
	struct m0_rpc_item_source *source;
	struct m0_rpc__conn       *conn;
	struct m0_rpc__link       *link;
	struct m0_rpc_item        *item;

	M0_PRE_EX(m0_rpc__is_here(target->trg_machine));
	if (bytes < M0_RPC_WIRE_ITEM_BYTES + M0_RPC_WIRE_ALIGN)
		return NULL;
	bytes = (bytes - M0_RPC_WIRE_ITEM_BYTES) &
		~(m0_bcount_t)(M0_RPC_WIRE_ALIGN - 1);
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		conn = link->lnk_conn;
		if (m0_rpc__conn_state(conn->rcx_conn) != M0_RPC_CONN_ACTIVE)
			continue;
		m0_list_for_each_entry(&conn->rcx_sources, source,
				       struct m0_rpc_item_source, ris_link) {
			if (!source->ris_ops->riso_has_item(source))
				continue;
			item = source->ris_ops->riso_get_item(source, bytes);
			if (item != NULL)
				return source_item(conn, target, item);
		}
	}
	return NULL;
}
