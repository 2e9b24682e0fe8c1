/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Cost of peers: bytes of clients, sessions and streams, which are refused
 * when they would cost too much, and answers that wait for hosts that do not
 * read. */
#include "rpc/rpc_internal.h"

enum {
	/** Answers that wait for one address, in rc_executing_max. */
	ANSWERS_EACH = 4
};

void m0_rpc__cost(struct m0_rpc__client *client, int64_t nr)
{
	M0_PRE_EX(nr >= 0 || client->rct_bytes >= (m0_bcount_t)-nr);
	client->rct_bytes += (m0_bcount_t)nr;
	client->rct_machine->rml_server.rsv_clients_bytes += (m0_bcount_t)nr;
}

bool m0_rpc__may_cost(const struct m0_rpc__machine *m,
		      const struct m0_rpc__client *client, m0_bcount_t nr)
{
	m0_bcount_t all = m->rml_server.rsv_clients_bytes +
			  m->rml_server.rsv_budget.rsb_bytes + nr;
	m0_bcount_t own = nr;

	if (client != NULL)
		own += client->rct_bytes + client->rct_budget.rsb_bytes;
	return own <= m->rml_cfg.rc_client_bytes_max &&
	       all <= m->rml_cfg.rc_clients_bytes_max;
}

/* -------------------------------------------------------------- streams -- */

m0_bcount_t m0_rpc__ssession_bytes(uint32_t streams)
{
	return sizeof(struct m0_rpc__ssession) +
	       streams * sizeof(struct m0_rpc__sstream *);
}

/* ------------------------------------------------------------- requests -- */

bool m0_rpc__copies_are_full(const struct m0_rpc__machine *m)
{
	return __atomic_load_n(&m->rml_receiver.rrv_copies_bytes,
			       __ATOMIC_RELAXED) >=
	       m->rml_cfg.rc_clients_bytes_max;
}

bool m0_rpc__may_hold(const struct m0_rpc__machine *m,
		      const struct m0_rpc__client *client, m0_bcount_t nr)
{
	m0_bcount_t own = client->rct_holds_bytes + nr;

	if (own <= M0_RPC__CLIENT_BYTES_MIN)
		return true;
	return own <= m->rml_cfg.rc_client_bytes_max &&
	       m->rml_server.rsv_holds_bytes + nr <=
		       m->rml_cfg.rc_clients_bytes_max &&
	       !m0_rpc__copies_are_full(m);
}

void m0_rpc__hold(struct m0_rpc__item *il, uint32_t nr)
{
	struct m0_rpc__client *client = il->ril_client;
	m0_bcount_t            more = (m0_bcount_t)nr - il->ril_held_bytes;

	M0_PRE_EX(client != NULL);
	M0_PRE_EX(client->rct_holds_bytes >= il->ril_held_bytes);
	client->rct_holds_bytes += more;
	client->rct_machine->rml_server.rsv_holds_bytes += more;
	il->ril_held_bytes = nr;
}

/* -------------------------------------------------------------- answers -- */

/* Own requests that are outstanding there, which others bound; their bytes. */
static uint64_t own_nr(const struct m0_rpc__target *target,
		       m0_bcount_t                 *ret_bytes)
{
	const struct m0_rpc__link *link;
	uint64_t                   nr = 0;

	*ret_bytes = 0;
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		nr += link->lnk_info.lki_items_nr;
		*ret_bytes += link->lnk_info.lki_bytes;
	}
	return nr;
}

static m0_bcount_t bytes_of(uint64_t items, m0_bcount_t payload)
{
	return payload + items * sizeof(struct m0_rpc_item);
}

/* Sum over all destinations: one where little waits is served all the same. */
static bool are_crowded(const struct m0_rpc__machine *m, m0_bcount_t here)
{
	const struct m0_rpc_frm_set *set = &m->rml_sender.rsn_frms;

	if (set->fs_items_nr >= m->rml_cfg.rc_cached_max &&
	    set->fs_items_nr >=
		    m->rml_cfg.rc_cached_max + (uint64_t)m0_rpc__cached_nr(m))
		return true;
	return here >= M0_RPC__CLIENT_BYTES_MIN &&
	       bytes_of(set->fs_items_nr, set->fs_bytes) >=
		       m->rml_cfg.rc_clients_bytes_max;
}

bool m0_rpc__is_crowded(const struct m0_rpc__machine *m,
			const struct m0_rpc__target  *target)
{
	const struct m0_rpc_frm *frm;
	uint64_t    max = ANSWERS_EACH * (uint64_t)m->rml_cfg.rc_executing_max;
	m0_bcount_t here;
	m0_bcount_t own_bytes;
	uint64_t    own;

	if (target == NULL)
		return are_crowded(m, 0);
	frm = &target->trg_frm;
	here = bytes_of(frm->f_items_nr,
			frm->f_bytes[0] + frm->f_bytes[1] + frm->f_bytes[2]);
	if (M0_UNLIKELY(are_crowded(m, here)))
		return true;
	if (M0_LIKELY(frm->f_items_nr < max &&
		      here < m->rml_cfg.rc_client_bytes_max))
		return false;
	own = own_nr(target, &own_bytes);
	return frm->f_items_nr >= max + own ||
	       here >= m->rml_cfg.rc_client_bytes_max +
			       bytes_of(own, own_bytes);
}
