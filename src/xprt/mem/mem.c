/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The in-memory transport: machines of different domains of one process.
 *
 * A message: the sender posts its buffer to the receiver's inbox; the
 * receiver's run claims it, copies, and posts it back done. Bulk: the active
 * machine's run claims both buffers, copies, and posts the passive one to its
 * owner done. Each byte is copied once. Addresses are found in one registry of
 * started machines; an end point remembers the machine it was found to be.
 */
#include "m0/mem.h"
#include "m0/net_xprt.h"

/* Started machines by address. Under registry_lock, which nests in
 * everything and in which nothing nests. */
static struct m0_net_kit_addr_table registry;
static struct m0_mutex registry_lock = M0_MUTEX_SINIT(&registry_lock);

struct mem_machine {
	struct m0_net_kit_machine  *mm_machine;
	struct m0_net_kit_addr_node mm_node;
};

/**
 * A machine that messages go to, held by the end point and by every message on
 * its way: the end point may find another one at the same address meanwhile.
 * Under the sending machine's lock.
 */
struct mem_peer {
	struct m0_net_kit_machine *mp_machine;
	uint32_t                   mp_users_nr;
};

/** Data of an end point. */
struct mem_ep {
	/** NULL: not looked for yet, or not there. */
	struct mem_peer *mep_peer;
};

/** Data of a buffer on the message send queue. */
struct mem_buf {
	struct mem_peer *mb_peer;
};

enum {
	WORK_MSG = M0_NET_KIT_WORK_XPRT
};

/* ------------------------------------------------------------ addresses -- */

/* Canonical binary: four bytes of host, two of port, network order. */
enum {
	ADDR_LEN = 6,
	PORT_MAX = 65535
};

static bool number_take(const char **s, uint32_t max, uint32_t *ret)
{
	uint32_t v = 0;
	int      nr = 0;

	for (; **s >= '0' && **s <= '9' && nr < 5; ++*s, ++nr)
		v = v * 10 + (uint32_t)(**s - '0');
	*ret = v;
	return nr > 0 && v <= max;
}

static void addr_make(struct m0_net_kit_addr *ret, const uint32_t host[4],
		      uint32_t port)
{
	int i;

	ret->nka_len = ADDR_LEN;
	for (i = 0; i < 4; ++i)
		ret->nka_bytes[i] = (uint8_t)host[i];
	ret->nka_bytes[4] = (uint8_t)(port >> 8);
	ret->nka_bytes[5] = (uint8_t)port;
}

static int mem_addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	uint32_t host[4];
	uint32_t port;
	int      i;

	for (i = 0; i < 4; ++i) {
		if ((i > 0 && *text++ != '.') ||
		    !number_take(&text, 255, &host[i]))
			return -EINVAL;
	}
	if (*text++ != ':' || !number_take(&text, PORT_MAX, &port) ||
	    port == 0 || *text != '\0')
		return -EINVAL;
	addr_make(ret, host, port);
	return 0;
}

static char *number_put(char *at, uint32_t v)
{
	char digits[10];
	int  nr = 0;

	do {
		digits[nr++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	while (nr > 0)
		*at++ = digits[--nr];
	return at;
}

static void mem_addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	const uint8_t *b = addr->nka_bytes;
	int            i;

	for (i = 0; i < 4; ++i) {
		ret = number_put(ret, b[i]);
		*ret++ = i < 3 ? '.' : ':';
	}
	ret = number_put(ret, (uint32_t)b[4] << 8 | b[5]);
	*ret = '\0';
}

/* ------------------------------------------------------------- registry -- */

static struct m0_net_kit_machine *find_locked(
	const struct m0_net_kit_addr *addr)
{
	struct m0_net_kit_addr_node *node =
		m0_net_kit_addr_find(&registry, addr);

	return node == NULL ? NULL
			    : container_of(node, struct mem_machine, mm_node)
				      ->mm_machine;
}

/* With a reference; NULL: no machine is started there. */
static struct m0_net_kit_machine *mem_find(const struct m0_net_kit_addr *addr)
{
	struct m0_net_kit_machine *machine;

	m0_mutex_lock(&registry_lock);
	machine = find_locked(addr);
	if (machine != NULL)
		m0_net_kit_machine_get(machine);
	m0_mutex_unlock(&registry_lock);
	return machine;
}

/* The highest port of 127.0.0.1 that is free. */
static int port_pick(struct m0_net_kit_addr *ret)
{
	static const uint32_t host[4] = { 127, 0, 0, 1 };
	uint32_t              port;

	for (port = PORT_MAX; port > 0; --port) {
		addr_make(ret, host, port);
		if (find_locked(ret) == NULL)
			return 0;
	}
	return -EADDRNOTAVAIL;
}

static int mem_start(struct m0_net_kit_machine    *machine,
		     const struct m0_net_kit_addr *wanted,
		     struct m0_net_kit_addr       *ret_own)
{
	struct mem_machine *mm = m0_net_kit_machine_pvt(machine);
	int                 rc = 0;

	m0_mutex_lock(&registry_lock);
	if (wanted == NULL)
		rc = port_pick(ret_own);
	else if (find_locked(wanted) != NULL)
		rc = -EADDRINUSE;
	else
		*ret_own = *wanted;
	if (rc == 0) {
		mm->mm_machine = machine;
		mm->mm_node.nan_addr = *ret_own;
		rc = m0_net_kit_addr_add(&registry, &mm->mm_node);
	}
	m0_mutex_unlock(&registry_lock);
	return rc;
}

static void mem_stop(struct m0_net_kit_machine *machine)
{
	struct mem_machine *mm = m0_net_kit_machine_pvt(machine);

	m0_mutex_lock(&registry_lock);
	m0_net_kit_addr_del(&registry, &mm->mm_node);
	m0_mutex_unlock(&registry_lock);
}

/* ------------------------------------------------------------- messages -- */

static void peer_put(struct mem_peer *peer)
{
	if (peer != NULL && --peer->mp_users_nr == 0) {
		m0_net_kit_machine_put(peer->mp_machine);
		m0_free(peer);
	}
}

/* NULL: nobody is started there, or there is no memory. */
static struct mem_peer *peer_find(const struct m0_net_kit_addr *addr)
{
	struct m0_net_kit_machine *machine = mem_find(addr);
	struct mem_peer           *peer;

	if (machine == NULL)
		return NULL;
	M0_ALLOC_PTR(peer);
	if (peer == NULL) {
		m0_net_kit_machine_put(machine);
		return NULL;
	}
	peer->mp_machine = machine;
	peer->mp_users_nr = 1;
	return peer;
}

/* The machine of an end point, if it can be reached. */
static struct mem_peer *peer_of(struct m0_net_end_point *ep)
{
	struct mem_ep *me = m0_net_kit_ep_pvt(ep);

	if (me->mep_peer != NULL &&
	    !m0_net_kit_machine_is_open(me->mep_peer->mp_machine)) {
		peer_put(me->mep_peer);
		me->mep_peer = NULL;
	}
	if (me->mep_peer == NULL)
		me->mep_peer = peer_find(m0_net_kit_ep_addr(ep));
	/* Only machines of other domains are peers. */
	return me->mep_peer != NULL && m0_net_kit_machine_dom(
					       me->mep_peer->mp_machine) !=
					       ep->nep_tm->ntm_dom
		       ? me->mep_peer
		       : NULL;
}

static void mem_ep_fini(struct m0_net_end_point *ep)
{
	struct mem_ep *me = m0_net_kit_ep_pvt(ep);

	peer_put(me->mep_peer);
}

static void mem_send(struct m0_net_kit_buf *kb)
{
	struct mem_peer *peer = peer_of(kb->nkb_ep);
	struct mem_buf  *mb = m0_net_kit_buf_pvt(kb);

	if (peer == NULL) {
		m0_net_kit_done(kb, -ENETUNREACH, 0);
		return;
	}
	++peer->mp_users_nr;
	mb->mb_peer = peer;
	kb->nkb_work.nkw_op = WORK_MSG;
	kb->nkb_work.nkw_due = 0;
	m0_net_kit_post(peer->mp_machine, &kb->nkb_work);
}

static void mem_ended(struct m0_net_kit_buf *kb)
{
	struct mem_buf *mb = m0_net_kit_buf_pvt(kb);

	peer_put(mb->mb_peer);
	mb->mb_peer = NULL;
}

static bool mem_cancel(struct m0_net_kit_buf *kb)
{
	return kb->nkb_buffer->nb_qtype == M0_NET_QT_MSG_SEND &&
	       m0_net_kit_unpost(&kb->nkb_work);
}

static bool mem_work(struct m0_net_kit_machine *machine,
		     struct m0_net_kit_work    *work)
{
	struct m0_net_kit_buf *kb =
		container_of(work, struct m0_net_kit_buf, nkb_work);
	int rc = -ENETUNREACH;

	if (m0_net_kit_machine_is_open(machine)) {
		if (m0_net_kit_msg_must_wait(machine))
			return false;
		if (m0_net_kit_claim(kb))
			rc = m0_net_kit_msg_in(
				machine,
				m0_net_kit_machine_addr(kb->nkb_machine),
				&kb->nkb_buffer->nb_buffer,
				kb->nkb_buffer->nb_offset, kb->nkb_send_nr);
	}
	m0_net_kit_done(kb, rc, 0);
	return true;
}

static void mem_refuse(struct m0_net_kit_work *work)
{
	m0_net_kit_done(container_of(work, struct m0_net_kit_buf, nkb_work),
			-ENETUNREACH, 0);
}

/* ----------------------------------------------------------------- bulk -- */

/* Why a passive buffer cannot be claimed: it is over, or its owner is. */
static int passive_lost(const struct m0_net_kit_desc *desc, int rc)
{
	struct m0_net_kit_machine *owner = mem_find(&desc->nks_passive);

	if (owner == NULL)
		return -ENETUNREACH;
	m0_net_kit_machine_put(owner);
	return rc;
}

/* Returns true if the active TM may use this buffer, whatever its descriptor has. */
static int passive_check(const struct m0_net_kit_buf  *kb,
			 const struct m0_net_kit_buf  *passive,
			 const struct m0_net_kit_desc *desc)
{
	const struct m0_net_kit_machine *owner = passive->nkb_machine;

	if (m0_net_kit_machine_dom(owner) ==
		    m0_net_kit_machine_dom(kb->nkb_machine) ||
	    !m0_net_kit_addr_eq(m0_net_kit_machine_addr(owner),
				&desc->nks_passive))
		return -ENETUNREACH;
	if (!m0_net_kit_admits(passive,
			       m0_net_kit_machine_addr(kb->nkb_machine)))
		return -EACCES;
	return 0;
}

/* Both are claimed. */
static void bulk_move(struct m0_net_kit_buf *from, struct m0_net_kit_buf *to)
{
	if (from->nkb_send_nr <= to->nkb_size) {
		m0_net_kit_move(from, to);
		return;
	}
	m0_net_kit_done(from, -EFBIG, 0);
	m0_net_kit_done(to, -EFBIG, 0);
}

static void mem_bulk(struct m0_net_kit_buf        *kb,
		     const struct m0_net_kit_desc *desc)
{
	struct m0_net_kit_buf *passive;
	int                    rc = -ENOENT;

	if (desc->nks_incarnation == m0_net_kit_incarnation())
		rc = m0_net_kit_claim_id(
			desc->nks_id, (enum m0_net_queue_type)desc->nks_qtype,
			&passive);
	if (rc != 0) {
		m0_net_kit_done(kb, passive_lost(desc, rc), 0);
		return;
	}
	rc = passive_check(kb, passive, desc);
	if (rc != 0) {
		m0_net_kit_unclaim(passive);
		m0_net_kit_done(kb, rc, 0);
	} else if (desc->nks_qtype == M0_NET_QT_PASSIVE_BULK_SEND) {
		bulk_move(passive, kb);
	} else {
		bulk_move(kb, passive);
	}
}

/* ---------------------------------------------------------------- table -- */

static const struct m0_net_kit_copy_ops mem_copy_ops = {
	.nkc_bulk_is_short = true,
	.nkc_work = mem_work,
	.nkc_refuse = mem_refuse
};

static const struct m0_net_kit_ops mem_kit_ops = {
	.nko_copy = &mem_copy_ops,
	.nko_machine_size = sizeof(struct mem_machine),
	.nko_ep_size = sizeof(struct mem_ep),
	.nko_buf_size = sizeof(struct mem_buf),
	.nko_buffer_max = M0_NET_BULK_MEM_BUFFER_MAX,
	.nko_segment_max = M0_NET_BULK_MEM_SEGMENT_MAX,
	.nko_segments_max = M0_NET_BULK_MEM_SEGMENTS_MAX,
	.nko_addr_parse = mem_addr_parse,
	.nko_addr_print = mem_addr_print,
	.nko_start = mem_start,
	.nko_stop = mem_stop,
	.nko_send = mem_send,
	.nko_bulk = mem_bulk,
	.nko_cancel = mem_cancel,
	.nko_ended = mem_ended,
	.nko_ep_fini = mem_ep_fini
};

static int mem_dom_init(const struct m0_net_xprt *xprt,
			struct m0_net_domain     *dom)
{
	(void)xprt;
	return m0_net_kit_dom_init(dom, &mem_kit_ops);
}

static const struct m0_net_xprt_ops mem_ops = { M0_NET_KIT_XPRT_OPS,
						.xo_dom_init = mem_dom_init };

const struct m0_net_xprt m0_net_bulk_mem_xprt = { .nx_name = "mem",
						  .nx_ops = &mem_ops };

void m0_net_bulk_mem_tm_set_num_threads(struct m0_net_transfer_mc *tm,
					size_t                     num)
{
	m0_net_kit_machine_workers_set(tm, num);
}

size_t m0_net_bulk_mem_tm_get_num_threads(const struct m0_net_transfer_mc *tm)
{
	return m0_net_kit_machine_workers_get(tm);
}
