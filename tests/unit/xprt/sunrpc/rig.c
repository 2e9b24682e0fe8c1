/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/xprt/sunrpc/rig.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig                   rig;
static struct sr_node *const node = &m0_sunrpc__node;
static m0_time_t             begin;

/* ------------------------------------------------------------ the machine -- */

bool m0_sunrpc__hold(struct sr_machine *sm)
{
	assert_ptr_equal(sm, &rig.r_machine);
	++sm->sm_users_nr;
	return true;
}

void m0_sunrpc__release(struct sr_machine *sm)
{
	assert_true(sm->sm_users_nr > 0);
	--sm->sm_users_nr;
}

struct sr_machine *m0_sunrpc__find(const struct sr_ep *ep)
{
	if (ep->se_id != RIG_ID)
		return NULL;
	(void)m0_sunrpc__hold(&rig.r_machine);
	return &rig.r_machine;
}

void m0_sunrpc__addr(struct m0_net_kit_addr *ret, const struct sr_ep *ep)
{
	M0_SET0(ret);
	ret->nka_len = sizeof *ep;
	memcpy(ret->nka_bytes, ep, sizeof *ep);
}

bool m0_sunrpc__ep(struct sr_ep *ret, const struct m0_net_kit_addr *addr)
{
	memcpy(ret, addr->nka_bytes, sizeof *ret);
	return addr->nka_len == sizeof *ret;
}

bool m0_sunrpc__ep_is_valid(const struct sr_ep *ep)
{
	return ep->se_port > 0;
}

struct sr_dom *m0_sunrpc__dom(const struct m0_net_domain *dom)
{
	(void)dom;
	return &rig.r_dom;
}

/* ---------------------------------------------------------------- the kit -- */

void *m0_net_kit_machine_pvt(struct m0_net_kit_machine *machine)
{
	(void)machine;
	return &rig.r_machine;
}

const struct m0_bitmap *m0_net_kit_machine_cpus(
	const struct m0_net_kit_machine *machine)
{
	(void)machine;
	return NULL;
}

struct m0_net_transfer_mc *m0_net_kit_machine_tm(
	const struct m0_net_kit_machine *machine)
{
	static struct m0_net_transfer_mc tm = { .ntm_state = M0_NET_TM_STARTED,
						.ntm_mutex =
							M0_MUTEX_SINIT(NULL) };

	(void)machine;
	return &tm;
}

struct m0_net_domain *m0_net_kit_machine_dom(
	const struct m0_net_kit_machine *machine)
{
	(void)machine;
	return NULL;
}

const struct m0_net_kit_addr *m0_net_kit_machine_addr(
	const struct m0_net_kit_machine *machine)
{
	static struct m0_net_kit_addr addr;

	(void)machine;
	m0_sunrpc__addr(&addr, &rig.r_machine.sm_ep);
	return &addr;
}

void m0_net_kit_machine_get(struct m0_net_kit_machine *machine)
{
	(void)machine;
	++rig.r_refs_nr;
}

void m0_net_kit_machine_put(struct m0_net_kit_machine *machine)
{
	(void)machine;
	--rig.r_refs_nr;
}

void m0_net_kit_enter(struct m0_net_kit_machine *machine,
		      struct m0_net_kit_visit   *visit)
{
	(void)machine;
	(void)visit;
}

void m0_net_kit_leave(struct m0_net_kit_machine *machine,
		      struct m0_net_kit_visit   *visit)
{
	(void)machine;
	(void)visit;
}

/* No end point is ever made: any caller may use the buffer. */
const struct m0_net_kit_addr *m0_net_kit_ep_addr(
	const struct m0_net_end_point *ep)
{
	(void)ep;
	return m0_net_kit_machine_addr(NULL);
}

bool m0_net_kit_admits(const struct m0_net_kit_buf  *kb,
		       const struct m0_net_kit_addr *initiator)
{
	return kb->nkb_ep == NULL || memcmp(m0_net_kit_ep_addr(kb->nkb_ep),
					    initiator, sizeof *initiator) == 0;
}

uint64_t m0_net_kit_incarnation(void)
{
	return 0;
}

void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb)
{
	assert_ptr_equal(kb, &rig.r_kb);
	return &rig.r_sb;
}

uint64_t m0_net_kit_buf_id(const struct m0_net_kit_buf *kb)
{
	(void)kb;
	return RIG_BUF;
}

bool m0_net_kit_claim(struct m0_net_kit_buf *kb)
{
	(void)kb;
	assert_false(rig.r_claimed);
	rig.r_claimed = rig.r_armed;
	return rig.r_armed;
}

int m0_net_kit_claim_id(uint64_t id, enum m0_net_queue_type qtype,
			struct m0_net_kit_buf **ret)
{
	if (id != RIG_BUF || !rig.r_armed)
		return -ENOENT;
	if (qtype != rig.r_qtype)
		return -EPERM;
	*ret = &rig.r_kb;
	return m0_net_kit_claim(*ret) ? 0 : -ENOENT;
}

void m0_net_kit_unclaim(struct m0_net_kit_buf *kb)
{
	(void)kb;
	assert_true(rig.r_claimed);
	rig.r_claimed = false;
}

void m0_net_kit_done(struct m0_net_kit_buf *kb, int32_t status,
		     m0_bcount_t length)
{
	m0_net_kit_unclaim(kb);
	rig.r_armed = false;
	++rig.r_done_nr;
	rig.r_status = status;
	rig.r_length = length;
}

void m0_net_kit_deadline(struct m0_net_kit_buf *kb, m0_time_t deadline,
			 int32_t status)
{
	(void)kb;
	(void)deadline;
	(void)status;
}

int m0_net_kit_msg_in(struct m0_net_kit_machine    *machine,
		      const struct m0_net_kit_addr *from,
		      const struct m0_bufvec *data, m0_bindex_t offset,
		      m0_bcount_t nr)
{
	(void)machine;
	(void)from;
	(void)data;
	(void)offset;
	(void)nr;
	return rig.r_msg_rc;
}

/* --------------------------------------------------------------- the node -- */

int rig_begin(void **state)
{
	(void)state;
	M0_SET0(&rig);
	rig.r_machine.sm_machine = (struct m0_net_kit_machine *)&rig;
	rig.r_machine.sm_ep = (struct sr_ep){ RIG_HOST, RIG_PORT, RIG_ID };
	rig.r_dom.sdm_timeout_ms = M0_NET_BULK_SUNRPC_TIMEOUT_MS;
	rig.r_dom.sdm_idle_ms = M0_NET_BULK_SUNRPC_IDLE_MS;
	rig.r_msg_rc = -ENOBUFS;
	m0_list_link_init(&rig.r_dom.sdm_link);
	M0_SET0(&node->sn_stats);
	assert_int_equal(m0_sunrpc__node_init(), 0);
	begin = m0_time_now();
	return 0;
}

int rig_end(void **state)
{
	struct sr_conn *conn;
	struct sr_conn *next;

	(void)state;
	m0_list_for_each_entry_safe(&node->sn_conns_out, conn, next,
				    struct sr_conn, sc_link)
		m0_sunrpc__conn_close(conn, -ECANCELED);
	m0_sunrpc__node_fini();
	/* Nothing is left that refers to the machine. */
	assert_int_equal(rig.r_machine.sm_users_nr, 0);
	assert_int_equal(rig.r_refs_nr, 0);
	return 0;
}

m0_time_t rig_at(uint64_t ms)
{
	return begin + ms * M0_TIME_ONE_MSEC;
}

/* More rounds than anything here takes: what one look finds is limited. */
void rig_run(uint64_t ms)
{
	int i;

	for (i = 0; i < 16; ++i)
		(void)m0_sunrpc__node_step(&node->sn_strand, rig_at(ms));
}

void rig_arm(enum m0_net_queue_type qtype, m0_bcount_t nr)
{
	static void       *segment = rig.r_bytes;
	static m0_bcount_t count;

	assert_true(nr <= RIG_BYTES_MAX);
	count = nr;
	rig.r_nb.nb_buffer =
		(struct m0_bufvec)M0_BUFVEC_INIT_BUF(&segment, &count);
	rig.r_nb.nb_qtype = qtype;
	rig.r_kb.nkb_machine = rig.r_machine.sm_machine;
	rig.r_kb.nkb_buffer = &rig.r_nb;
	rig.r_kb.nkb_size = nr;
	rig.r_kb.nkb_send_nr = nr;
	rig.r_qtype = qtype;
	rig.r_armed = true;
}

/* ------------------------------------------------------------------ peers -- */

static void pair_make(int *fds)
{
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, fds),
			 0);
}

int rig_caller(uint64_t ms)
{
	int fds[2];

	pair_make(fds);
	m0_sunrpc__conn_take(fds[1], node->sn_epoch_seen, rig_at(ms));
	return fds[0];
}

int rig_server(bool bulk, uint64_t ms)
{
	struct sr_conn *conn;
	int             fds[2];

	pair_make(fds);
	conn = m0_sunrpc__conn_new(fds[1], &rig.r_dom, rig_at(ms));
	assert_non_null(conn);
	conn->sc_host = RIG_HOST;
	conn->sc_port = RIG_PORT;
	conn->sc_bulk = bulk;
	m0_list_add(&node->sn_conns_out, &conn->sc_link);
	sr_count(&node->sn_stats.nss_conns_out_nr, 1);
	return fds[0];
}

unsigned rig_conns_nr(void)
{
	return (unsigned)(m0_list_length(&node->sn_conns_in) +
			  m0_list_length(&node->sn_conns_out));
}

uint32_t rig_call(uint8_t *to, const struct sr_call_head *head)
{
	uint32_t nr = m0_sunrpc__call_encode(to + 4, head);
	uint32_t payload = (head->sch_data_nr + 3) & ~(uint32_t)3;
	uint32_t mark = htonl((nr + payload) | 0x80000000);

	memcpy(to, &mark, 4);
	return 4 + nr;
}

void rig_write(int fd, const void *bytes, size_t nr, uint64_t ms)
{
	const char *at = bytes;
	ssize_t     wrote;

	while (nr > 0) {
		wrote = send(fd, at, nr, MSG_NOSIGNAL);
		if (wrote < 0) {
			assert_int_equal(errno, EAGAIN);
			rig_run(ms);
			continue;
		}
		at += wrote;
		nr -= (size_t)wrote;
	}
}

void rig_call_write(int fd, const struct sr_call_head *head, uint64_t ms)
{
	uint8_t bytes[SR_OUT_HEAD_MAX];

	rig_write(fd, bytes, rig_call(bytes, head), ms);
}

void rig_msg_write(int fd, uint32_t nr, uint64_t ms)
{
	const struct sr_ep        own = { RIG_HOST, RIG_PORT, RIG_ID };
	const struct sr_ep        peer = { RIG_HOST, RIG_PORT, RIG_PEER_ID };
	const struct sr_call_head head = { .sch_xid = 1,
					   .sch_proc = SR_MSG,
					   .sch_from = peer,
					   .sch_to = own,
					   .sch_data_nr = nr };

	rig_call_write(fd, &head, ms);
}

int rig_answer(int fd)
{
	uint32_t words[8];
	ssize_t  got = rig_read(fd, words, sizeof words);

	if (got == -EAGAIN)
		return RIG_NONE;
	assert_int_equal(got, sizeof words);
	return (int)ntohl(words[7]);
}

void rig_null(int fd)
{
	const struct sr_call_head head = { .sch_xid = 1, .sch_proc = SR_NULL };
	uint8_t                   bytes[SR_OUT_HEAD_MAX];
	uint32_t                  nr = rig_call(bytes, &head);

	assert_int_equal(send(fd, bytes, nr, MSG_NOSIGNAL), nr);
}

ssize_t rig_read(int fd, void *bytes, size_t nr)
{
	ssize_t got = recv(fd, bytes, nr, 0);

	return got < 0 ? -errno : got;
}

bool rig_is_closed(int fd)
{
	char    bytes[4096];
	ssize_t got;

	do
		got = rig_read(fd, bytes, sizeof bytes);
	while (got > 0);
	return got != -EAGAIN;
}
