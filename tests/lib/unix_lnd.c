/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Each NI has a pair of Unix sockets: it reads one end, and every other NI of the
 * process writes to the other. A message is one packet, with its header and a
 * pointer to a copy of its payload, which belongs to the receiver.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/unix_lnd.h"
#include "loop/loop_reactor.h"

enum {
	NIS_MAX = 8,
	PACKETS_MAX = 64
};

struct packet {
	struct m0_lnet_nid from;
	uint32_t           pid;
	m0_bcount_t        bytes;
	void              *data;
	uint8_t            hdr[M0_LND_HDR_BYTES_MAX];
};

struct ux {
	struct m0_lnd            lnd;
	struct m0_reactor_source source;
	struct m0_list           nis;
};

struct ux_ni {
	struct m0_list_link link;
	struct m0_lnd_ni   *ni;
	struct m0_loop     *loop;
	/** The end that is read, and the other one. */
	struct m0_loop_fd fd;
	int               write_fd;
	struct m0_list    txs;
	/** Most packets that a pass reads. */
	unsigned packets_max;
	/** A packet that the engine has put off, with rx; NULL: none. */
	struct m0_lnd_rx *rx;
	struct packet     packet;
	bool              is_ready;
	bool              is_stopping;
	unsigned          kept_nr;
};

struct unix_lnd_counts unix_lnd_counts;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ux_ni   *directory[NIS_MAX];

static void count(unsigned *nr, unsigned more)
{
	__atomic_fetch_add(nr, more, __ATOMIC_RELAXED);
}

/* Puts `to` in the place of `from`, one of which is NULL. */
static void directory_set(struct ux_ni *from, struct ux_ni *to)
{
	int i = 0;

	pthread_mutex_lock(&lock);
	while (directory[i] != from)
		M0_ASSERT(++i < NIS_MAX);
	directory[i] = to;
	pthread_mutex_unlock(&lock);
}

static int packet_send(const struct m0_lnet_nid *to,
		       const struct packet      *packet)
{
	int rc = -EHOSTUNREACH;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < NIS_MAX; ++i) {
		struct ux_ni *un = directory[i];

		if (un == NULL || !m0_lnet_nid_eq(&un->ni->ldn_nid, to))
			continue;
		rc = send(un->write_fd, packet, sizeof *packet, MSG_DONTWAIT) <
				     0
			     ? -errno
			     : 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static void copy(const struct m0_lnd_payload *pl, void *data, m0_bcount_t nr,
		 bool in)
{
	m0_bcount_t      count[1] = { nr };
	struct m0_bufvec flat = { .ov_vec = { 1, count }, .ov_buf = &data };

	if (nr > 0 && in)
		m0_bufvec_copy_at(pl->lpy_vec, pl->lpy_offset, &flat, 0, nr);
	else if (nr > 0)
		m0_bufvec_copy_at(&flat, 0, pl->lpy_vec, pl->lpy_offset, nr);
}

static int tx_send(struct ux_ni *un, struct m0_lnd_tx *tx)
{
	struct packet packet = { .from = un->ni->ldn_nid,
				 .pid = M0_LNET_PID_LUSTRE,
				 .bytes = tx->ltx_payload.lpy_bytes };
	int           rc;

	if (un->ni->ldn_ops->lu_tx_header(tx, true, packet.hdr) == 0)
		return -EAFNOSUPPORT;
	packet.data = malloc(packet.bytes + 1);
	M0_ASSERT(packet.data != NULL);
	copy(&tx->ltx_payload, packet.data, packet.bytes, false);
	rc = packet_send(&tx->ltx_nid, &packet);
	if (rc != 0)
		free(packet.data);
	return rc;
}

/* @return true if a message has completed. */
static bool txs_send(struct ux_ni *un, m0_time_t now)
{
	bool any = false;

	while (!m0_list_is_empty(&un->txs)) {
		struct m0_lnd_tx *tx = m0_list_entry(
			m0_list_first(&un->txs), struct m0_lnd_tx, ltx_link);
		int rc = un->is_stopping           ? -ENETDOWN
			 : tx->ltx_word[0] != 0    ? -ECANCELED
			 : tx->ltx_deadline <= now ? -ETIMEDOUT
						   : tx_send(un, tx);

		if (rc == -EAGAIN)
			break;
		m0_list_del(&tx->ltx_link);
		any = true;
		count(&unix_lnd_counts.sinks_nr, tx->ltx_sink != NULL);
		count(&unix_lnd_counts.answers_nr, tx->ltx_answers != NULL);
		un->ni->ldn_ops->lu_tx_done(
			tx, rc, rc == 0 ? M0_LND_OK : M0_LND_LOCAL_ERROR);
	}
	return any;
}

/* Offers the packet. @return false: the engine has put it off. */
static bool packet_take(struct ux_ni *un)
{
	struct m0_lnd_rx *rx = un->rx;
	int               rc;

	rc = un->ni->ldn_ops->lu_rx_begin(un->ni, rx, un->packet.hdr, true);
	if (rc == -EAGAIN)
		return false;
	un->rx = NULL;
	if (rc == 0) {
		if (!rx->lr_cancelled)
			copy(&rx->lr_payload, un->packet.data,
			     rx->lr_payload.lpy_bytes, true);
		un->kept_nr += rx->lr_kept;
		count(&unix_lnd_counts.kept_nr, rx->lr_kept);
		un->ni->ldn_ops->lu_rx_done(rx, 0, M0_LND_OK);
	}
	free(un->packet.data);
	if (rc != 0 || !rx->lr_kept)
		free(rx);
	return true;
}

/* @return true if it has called up. */
static bool ni_read(struct ux_ni *un)
{
	unsigned nr;

	for (nr = 0; nr < un->packets_max && un->is_ready; ++nr) {
		if (un->rx == NULL &&
		    recv(un->fd.lof_fd, &un->packet, sizeof un->packet,
			 MSG_DONTWAIT) < 0) {
			un->is_ready = false;
			break;
		}
		if (un->rx == NULL) {
			un->rx = calloc(1, sizeof *un->rx);
			M0_ASSERT(un->rx != NULL);
			un->rx->lr_nid = un->packet.from;
			un->rx->lr_pid = un->packet.pid;
		}
		if (!packet_take(un))
			break;
	}
	return nr > 0;
}

static struct ux_ni *ni_of(const struct m0_lnd_ni *ni)
{
	return ni->ldn_priv;
}

/* Frees a NI that has stopped. @return false: it is not time yet. */
static bool ni_end(struct ux_ni *un)
{
	if (!un->is_stopping || un->kept_nr > 0)
		return false;
	m0_loop_del(un->loop, &un->fd);
	while (un->rx != NULL || recv(un->fd.lof_fd, &un->packet,
				      sizeof un->packet, MSG_DONTWAIT) > 0) {
		free(un->packet.data);
		free(un->rx);
		un->rx = NULL;
	}
	close(un->fd.lof_fd);
	close(un->write_fd);
	m0_list_del(&un->link);
	un->ni->ldn_up = false;
	un->ni->ldn_ops->lu_ni_stopped(un->ni);
	free(un);
	return true;
}

static m0_time_t ux_step(struct m0_lnd *lnd, m0_time_t now)
{
	struct ux    *ux = container_of(lnd, struct ux, lnd);
	struct ux_ni *un;
	struct ux_ni *next;
	m0_time_t     at = M0_TIME_NEVER;

	m0_list_for_each_entry_safe(&ux->nis, un, next, struct ux_ni, link) {
		if (txs_send(un, now) || ni_end(un))
			return M0_TIME_IMMEDIATELY;
		if (un->rx != NULL && packet_take(un))
			return M0_TIME_IMMEDIATELY;
		if (un->rx != NULL || !m0_list_is_empty(&un->txs))
			at = m0_time_add(now, M0_TIME_ONE_MSEC);
	}
	return at;
}

static bool ux_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct ux    *ux = container_of(src, struct ux, source);
	struct ux_ni *un;
	bool          more = false;

	(void)now;
	if (!src->rts_reactor->rtr_looked)
		(void)m0_loop_reactor_ask(m0_loop_reactor_of(src->rts_reactor),
					  M0_TIME_IMMEDIATELY);
	m0_list_for_each_entry(&ux->nis, un, struct ux_ni, link) {
		if (!un->is_stopping && ni_read(un))
			src->rts_reactor->rtr_called = true;
		more |= un->is_ready && un->rx == NULL && !un->is_stopping;
	}
	return more;
}

static void ux_flush(struct m0_reactor_source *src)
{
	(void)src;
}

static bool ux_has_work(const struct m0_reactor_source *src)
{
	const struct ux *ux = container_of(src, const struct ux, source);
	struct ux_ni    *un;

	m0_list_for_each_entry(&ux->nis, un, struct ux_ni, link)
		if (un->is_ready && un->rx == NULL && !un->is_stopping)
			return true;
	return false;
}

static const struct m0_reactor_source_ops source_ops = {
	.rtso_pass = ux_pass,
	.rtso_flush = ux_flush,
	.rtso_has_work = ux_has_work,
};

static void fd_event(struct m0_loop_fd *fd, unsigned events)
{
	(void)events;
	container_of(fd, struct ux_ni, fd)->is_ready = true;
}

static const struct m0_option options[] = {
	M0_OPTION(struct ux_ni, packets_max, "packets", "", 1, PACKETS_MAX, 1),
};

static int ux_options(const struct m0_lnet_cfg *cfg, const char *text,
		      char *why)
{
	struct ux_ni un;

	(void)cfg;
	return m0_options_read(options, ARRAY_SIZE(options), &un, text, why);
}

static int ux_ni_start(struct m0_lnd *lnd, struct m0_lnd_ni *ni, char *why)
{
	struct ux    *ux = container_of(lnd, struct ux, lnd);
	struct ux_ni *un = calloc(1, sizeof *un);
	int           fds[2];

	M0_ASSERT(un != NULL &&
		  socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
	un->packets_max = PACKETS_MAX;
	M0_ASSERT(ni->ldn_options == NULL ||
		  m0_options_read(options, ARRAY_SIZE(options), un,
				  ni->ldn_options, why) == 0);
	__atomic_store_n(&unix_lnd_counts.packets_max, un->packets_max,
			 __ATOMIC_RELAXED);
	un->ni = ni;
	un->loop = &m0_loop_reactor_of(ux->source.rts_reactor)->lre_loop;
	un->fd = (struct m0_loop_fd){ fds[0], fd_event };
	un->write_fd = fds[1];
	M0_ASSERT(m0_loop_add(un->loop, &un->fd) == 0);
	m0_list_init(&un->txs);
	m0_list_link_init(&un->link);
	m0_list_add_tail(&ux->nis, &un->link);
	ni->ldn_priv = un;
	ni->ldn_up = true;
	directory_set(NULL, un);
	return 0;
}

static void ux_ni_stop(struct m0_lnd_ni *ni)
{
	directory_set(ni_of(ni), NULL);
	ni_of(ni)->is_stopping = true;
}

static void ux_xmit(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	tx->ltx_word[0] = 0;
	m0_list_link_init(&tx->ltx_link);
	m0_list_add_tail(&ni_of(ni)->txs, &tx->ltx_link);
}

static void ux_tx_cancel(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	(void)ni;
	tx->ltx_word[0] = 1;
}

static void ux_peer_drop(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid)
{
	(void)ni;
	(void)nid;
}

static void ux_ni_info(const struct m0_lnd_ni *ni, struct m0_lnd_ni_info *info)
{
	(void)ni;
	M0_SET0(info);
}

static void ux_mem_add(struct m0_lnd *lnd, const struct m0_lnd_mem *mem)
{
	(void)lnd;
	count(&unix_lnd_counts.mems_added_nr, 1);
	unix_lnd_counts.mem_last = *mem;
}

static void ux_mem_del(struct m0_lnd *lnd, const struct m0_lnd_mem *mem)
{
	(void)lnd;
	count(&unix_lnd_counts.mems_deleted_nr, 1);
	unix_lnd_counts.mem_last = *mem;
}

static void ux_rx_release(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx)
{
	--ni_of(ni)->kept_nr;
	count(&unix_lnd_counts.released_nr, 1);
	free(rx);
}

static void ux_fini(struct m0_lnd *lnd)
{
	struct ux *ux = container_of(lnd, struct ux, lnd);

	m0_reactor_del(&ux->source);
	free(ux);
}

static const struct m0_lnd_ops ux_ops = {
	.ldo_name = "unix",
	.ldo_type = M0_LNET_TYPE_EFA,
	.ldo_ni_start = ux_ni_start,
	.ldo_ni_stop = ux_ni_stop,
	.ldo_xmit = ux_xmit,
	.ldo_tx_cancel = ux_tx_cancel,
	.ldo_step = ux_step,
	.ldo_peer_drop = ux_peer_drop,
	.ldo_ni_info = ux_ni_info,
	.ldo_mem_add = ux_mem_add,
	.ldo_mem_del = ux_mem_del,
	.ldo_rx_release = ux_rx_release,
	.ldo_fini = ux_fini,
};

static int ux_create(struct m0_lnd **ret, const struct m0_lnd_env *env,
		     char *why)
{
	struct ux *ux = calloc(1, sizeof *ux);

	(void)why;
	M0_ASSERT(ux != NULL);
	ux->lnd.ld_ops = &ux_ops;
	ux->source.rts_ops = &source_ops;
	m0_list_init(&ux->nis);
	m0_reactor_add(env->lev_reactor, &ux->source);
	*ret = &ux->lnd;
	return 0;
}

const struct m0_lnd_row unix_lnd_row = { .lrw_name = "unix",
					 .lrw_types = { M0_LNET_TYPE_EFA },
					 .lrw_options = ux_options,
					 .lrw_create = ux_create };
