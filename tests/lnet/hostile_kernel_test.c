/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A peer as the LNet of a kernel: it notices the end of a stream, and no reset
 * of an idle one. It keeps the connection and the incarnation then, and answers
 * a HELLO of another incarnation with type NONE when it drops them. One process
 * of ours after the other pings it, in the simulator and on sockets.
 */
#include <stdlib.h>

#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	INCARNATION = 100,
	CONNS_MAX = 64,
	ROUNDS_NR = 12,
	PING_MS = 3000
};

enum conn_state {
	CONN_NEW,
	CONN_OPEN,
	CONN_GONE
};

/** A connection to the peer. */
struct conn {
	struct place_end *c_end;
	enum conn_state   c_state;
	uint32_t          c_ctype;
	bool              c_has_request;
};

struct kernel {
	struct conn k_conns[CONNS_MAX];
	unsigned    k_conns_nr;
	unsigned    k_open_nr;
	uint64_t    k_incarnation;
	unsigned    k_nones_nr;
	unsigned    k_ends_nr;
	unsigned    k_resets_nr;
	/** The kernel notices no end either, as if its system had lost the
	 * FIN. */
	bool k_is_deaf;
};

static struct place  place;
static struct kernel kernel;

static void conn_close(struct conn *conn)
{
	kernel.k_open_nr -= conn->c_state == CONN_OPEN;
	conn->c_state = CONN_GONE;
	place_close(conn->c_end);
}

static void all_close(void)
{
	unsigned i;

	for (i = 0; i < kernel.k_conns_nr; ++i)
		if (kernel.k_conns[i].c_state == CONN_OPEN)
			conn_close(&kernel.k_conns[i]);
}

static bool has_type(uint32_t ctype)
{
	unsigned i;

	for (i = 0; i < kernel.k_conns_nr; ++i)
		if (kernel.k_conns[i].c_state == CONN_OPEN &&
		    kernel.k_conns[i].c_ctype == ctype)
			return true;
	return false;
}

static const uint8_t *unseen(const struct conn *conn, size_t *ret_nr)
{
	*ret_nr = conn->c_end->pe_in_nr - conn->c_end->pe_done;
	return *ret_nr == 0 ? NULL : conn->c_end->pe_in + conn->c_end->pe_done;
}

static void hello_come(struct conn *conn, const struct m0_sock_hello *hello)
{
	uint32_t type = m0_sock__ctype_invert(hello->sh_ctype);
	bool     again = kernel.k_open_nr > 0 &&
		     hello->sh_src_incarnation != kernel.k_incarnation;
	bool          none = again || has_type(type);
	struct speech speech = {};

	if (again)
		all_close();
	kernel.k_nones_nr += none;
	speech_hello(&speech, &place, WHO, 3, none ? M0_SOCK_NONE : type,
		     INCARNATION);
	speech_say(conn->c_end, &speech);
	if (none) {
		conn_close(conn);
		return;
	}
	conn->c_state = CONN_OPEN;
	conn->c_ctype = type;
	kernel.k_incarnation = hello->sh_src_incarnation;
	++kernel.k_open_nr;
}

/* Request, then HELLO. */
static void introduction_look(struct conn *conn)
{
	struct m0_sock_hello hello;
	size_t               nr;
	const uint8_t       *at = unseen(conn, &nr);

	if (!conn->c_has_request && nr >= M0_SOCK_HEAD_BYTES &&
	    nr >= (size_t)m0_sock__request_bytes(at)) {
		conn->c_has_request = true;
		conn->c_end->pe_done += (size_t)m0_sock__request_bytes(at);
		at = unseen(conn, &nr);
	}
	if (!conn->c_has_request || nr < M0_SOCK_HEAD_BYTES ||
	    nr < (size_t)m0_sock__hello_bytes(at))
		return;
	assert_int_equal(m0_sock__hello_decode(&hello, at), 0);
	conn->c_end->pe_done += (size_t)m0_sock__hello_bytes(at);
	conn->c_end->pe_version = hello.sh_version;
	hello_come(conn, &hello);
}

static void ping_answer(struct conn *conn, const struct m0_lnet_hdr *get)
{
	struct m0_lnet_ping_ni   ni = { .lpg_nid = place_nid(&place, WHO),
					.lpg_up = true };
	struct m0_lnet_ping_info info = { .lpi_features = 0x0e,
					  .lpi_pid = M0_LNET_PID_LUSTRE,
					  .lpi_seq = 1,
					  .lpi_nis = &ni,
					  .lpi_nis_nr = 1,
					  .lpi_nis_max = 1 };
	struct m0_lnet_hdr       hdr = speech_hdr(&place, WHO, M0_LNET_REPLY);
	struct speech            speech = {};

	hdr.lhd_wmd = get->lhd_wmd;
	hdr.lhd_payload_bytes = (uint32_t)m0_lnet__ping_size(&info);
	speech_msg(&speech, conn->c_end->pe_version == M0_SOCK_V4, 0, &hdr);
	speech.sp_nr += m0_lnet__ping_encode(
		&info, speech.sp_bytes + speech.sp_nr, hdr.lhd_payload_bytes);
	speech_say(conn->c_end, &speech);
}

/* Pings are all it is asked. */
static void messages_look(struct conn *conn)
{
	struct m0_lnet_hdr hdr;
	bool               large = conn->c_end->pe_version == M0_SOCK_V4;
	size_t             all = M0_SOCK_FRAME_BYTES +
		     (large ? (size_t)M0_LNET_HDR_LARGE_BYTES
			    : (size_t)M0_LNET_HDR_BYTES);
	size_t         nr;
	const uint8_t *at = unseen(conn, &nr);

	if (nr < all)
		return;
	assert_int_equal(
		m0_lnet__hdr_decode(&hdr, large, at + M0_SOCK_FRAME_BYTES), 0);
	assert_int_equal(hdr.lhd_type, M0_LNET_GET);
	conn->c_end->pe_done += all;
	ping_answer(conn, &hdr);
}

static void conn_look(struct conn *conn)
{
	struct place_end *end = conn->c_end;

	if (conn->c_state == CONN_NEW)
		introduction_look(conn);
	if (conn->c_state == CONN_OPEN)
		messages_look(conn);
	if (conn->c_state == CONN_GONE || !end->pe_has_ended ||
	    (conn->c_state == CONN_OPEN && kernel.k_is_deaf))
		return;
	if (conn->c_state == CONN_NEW) {
		conn_close(conn);
	} else if (end->pe_status == 0) {
		++kernel.k_ends_nr;
		all_close();
	} else {
		++kernel.k_resets_nr;
	}
}

static void kernel_look(void)
{
	struct place_end *end;
	unsigned          i;

	while ((end = place_accept(&place, WHO, 0)) != NULL) {
		assert_true(kernel.k_conns_nr < CONNS_MAX);
		kernel.k_conns[kernel.k_conns_nr++] =
			(struct conn){ .c_end = end };
	}
	for (i = 0; i < kernel.k_conns_nr; ++i)
		conn_look(&kernel.k_conns[i]);
}

static unsigned answers_nr;

static void answered(struct m0_lnet_probe *probe)
{
	(void)probe;
	__atomic_add_fetch(&answers_nr, 1, __ATOMIC_ACQ_REL);
}

/* A process of ours: it pings the peer, and ends. */
static void one_shot(void)
{
	struct m0_lnet_probe probe = { .pr_kind = M0_LNET_PING,
				       .pr_nid = place_nid(&place, WHO),
				       .pr_self = m0_lnet_nid_any,
				       .pr_timeout_ms = PING_MS,
				       .pr_done = answered };
	unsigned before = __atomic_load_n(&answers_nr, __ATOMIC_ACQUIRE);
	unsigned i;

	place_node_open(&place);
	assert_int_equal(m0_lnet_probe(place.pl_node, &probe), 0);
	for (i = 0; i < 10 * PING_MS &&
		    __atomic_load_n(&answers_nr, __ATOMIC_ACQUIRE) == before;
	     ++i) {
		place_run(&place, 1);
		kernel_look();
	}
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(probe.pr_nids_nr, 1);
	place_node_close(&place);
	/* The end of what it had is seen before the next one comes. */
	for (i = 0; i < 10 * PING_MS && kernel.k_open_nr > 0 &&
		    !kernel.k_is_deaf && kernel.k_resets_nr == 0;
	     ++i) {
		place_run(&place, 1);
		kernel_look();
	}
}

static void control_tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_control_only = true;
}

static void up(void **state)
{
	place_up(&place, *(enum place_kind *)*state, control_tune);
	kernel = (struct kernel){};
	place_listen(&place, WHO);
	place_node_close(&place);
}

static void down(void)
{
	place_node_open(&place);
	place_down(&place);
}

/* Each ends in order: the peer notices, and refuses none. */
static void one_shots_are_not_refused(void **state)
{
	unsigned i;

	up(state);
	for (i = 0; i < ROUNDS_NR; ++i)
		one_shot();
	assert_int_equal(kernel.k_conns_nr, ROUNDS_NR);
	assert_int_equal(kernel.k_ends_nr, ROUNDS_NR);
	assert_int_equal(kernel.k_nones_nr, 0);
	assert_int_equal(kernel.k_resets_nr, 0);
	down();
}

/* The peer notices none of the ends: it refuses each process once, which
 * connects again. */
static void one_shots_unnoticed_are_refused_once(void **state)
{
	unsigned i;

	up(state);
	kernel.k_is_deaf = true;
	for (i = 0; i < ROUNDS_NR; ++i)
		one_shot();
	assert_int_equal(kernel.k_nones_nr, ROUNDS_NR - 1);
	assert_int_equal(kernel.k_conns_nr, 2 * ROUNDS_NR - 1);
	down();
}

#define ALL(test)                                           \
	cmocka_unit_test_prestate(test, &kinds[0]),         \
		cmocka_unit_test_prestate(test, &kinds[1]), \
		cmocka_unit_test_prestate(test, &kinds[2])

int main(void)
{
	static enum place_kind  kinds[] = { PLACE_SIM, PLACE_SOCKETS,
					    PLACE_SIM6 };
	const struct CMUnitTest tests[] = {
		ALL(one_shots_are_not_refused),
		ALL(one_shots_unnoticed_are_refused_once),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-hostile-kernel", tests, NULL,
					   NULL);
}
