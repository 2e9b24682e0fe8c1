/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lnet/place.h"

enum {
	READ_BYTES = 64 * 1024,
	/** Time added to each wait for a busy host. */
	GRACE_MS = 5000,
	/** A send that gets nowhere is given up. */
	SEND_MS = 300
};

/** Host `who` listens. */
struct place_port {
	unsigned           pp_who;
	int                pp_fd;
	struct m0_sim_raw *pp_came[16];
	unsigned           pp_came_nr;
	struct place_port *pp_next;
};

bool place_is_sim(const struct place *place)
{
	return place->pl_kind == PLACE_SIM || place->pl_kind == PLACE_SIM6;
}

bool place_is_ip6(const struct place *place)
{
	return place->pl_kind == PLACE_SIM6 || place->pl_kind == PLACE_SOCKETS6;
}

/* Writes the address of host `who`, as in its NID. */
static const char *who_addr(const struct place *place, unsigned who, char *buf,
			    size_t size)
{
	static const char *const formats[] = { [PLACE_SIM] = "10.0.0.%u",
					       [PLACE_SOCKETS] = "127.7.0.%u",
					       [PLACE_SIM6] = "fd00::%u",
					       [PLACE_SOCKETS6] = "fd00::%u" };
	const char              *format = formats[place->pl_kind];

	if (place->pl_kind == PLACE_SOCKETS6 && who == PLACE_NODE)
		format = "::1";
	if (place->pl_kind == PLACE_SOCKETS6 && who == PLACE_GOOD)
		format = formats[PLACE_SOCKETS];
	(void)snprintf(buf, size, format, who);
	return buf;
}

/* Where a socket is bound. */
static socklen_t who_sockaddr(const struct place *place, unsigned who,
			      uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in  *in = (struct sockaddr_in *)ret;
	char                 addr[32];

	memset(ret, 0, sizeof *ret);
	if (place->pl_kind == PLACE_SOCKETS6 && who != PLACE_GOOD) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		in6->sin6_addr = in6addr_loopback;
		return sizeof *in6;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	who_addr(place, who, addr, sizeof addr);
	assert_int_equal(inet_pton(AF_INET, addr, &in->sin_addr), 1);
	return sizeof *in;
}

struct m0_lnet_nid place_nid(const struct place *place, unsigned who)
{
	struct m0_lnet_nid nid;
	char               addr[32];

	assert_int_equal(m0_lnet_nid_parse(&nid, who_addr(place, who, addr,
							  sizeof addr)),
			 0);
	return nid;
}

/* -- up and down ----------------------------------------------------------- */

static void cfg_make(struct place *place, struct m0_lnet_cfg *cfg, unsigned who,
		     const char *nets)
{
	char text[128];
	char addr[32];
	char why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(cfg);
	who_addr(place, who, addr, sizeof addr);
	(void)snprintf(text, sizeof text, nets, addr, addr);
	assert_int_equal(m0_lnet_cfg_networks(cfg, text, why), 0);
	if (place_is_sim(place))
		return;
	cfg->lc_port = place->pl_port;
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_src_port_max = 0;
	cfg->lc_src_port_min = 0;
	cfg->lc_peers_colibri = true;
	cfg->lc_accept_timeout_ms = 400;
	cfg->lc_timeout_ms = 1000;
	cfg->lc_transaction_timeout_ms = 2000;
	cfg->lc_keepalive_ms = 0;
	cfg->lc_reconnect_min_ms = 50;
	cfg->lc_reconnect_max_ms = 200;
}

static void node_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc = m0_lnet_open(ret, cfg, why);

	if (rc != 0)
		print_error("open: %d: %s\n", rc, why);
	assert_int_equal(rc, 0);
}

/* A case that failed may have left its simulation behind: drops that. */
static void sim_forget(void)
{
	static const struct m0_sim_stream_cfg cfg;
	struct m0_sim                         sim;

	m0_sim_init_cfg(&sim, 0, &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &cfg);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static void sim_up(struct place *place)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 100 * 1000,
		.ssc_jitter_ns = 20 * 1000,
		.ssc_piece_bytes_max = 3000,
	};
	char addr[32];

	m0_sim_init_cfg(&place->pl_sim, m0_sim_seed_get(3), &m0_sim_cfg_calm);
	m0_sim_net_init(&place->pl_sim, &cfg);
	place->pl_hosts[PLACE_NODE] = m0_sim_host_add(
		"node", who_addr(place, PLACE_NODE, addr, sizeof addr));
	place->pl_hosts[PLACE_GOOD] = m0_sim_host_add(
		"good", who_addr(place, PLACE_GOOD, addr, sizeof addr));
}

/* A port that is free on the addresses of both. */
static bool port_is_free(struct place *place, unsigned who)
{
	struct sockaddr_storage at;
	socklen_t nr = who_sockaddr(place, who, place->pl_port, &at);
	int       fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int       rc;

	assert_true(fd >= 0);
	rc = bind(fd, (struct sockaddr *)&at, nr);
	(void)close(fd);
	return rc == 0;
}

/* A machine may have no IPv6. */
static void ip6_need(struct place *place)
{
	struct sockaddr_storage at;
	socklen_t               nr = who_sockaddr(place, PLACE_NODE, 0, &at);
	int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, nr);

	if (fd >= 0)
		(void)close(fd);
	if (rc != 0)
		skip();
}

static void port_choose(struct place *place)
{
	unsigned i;

	for (i = 0; i < 1000; ++i) {
		place->pl_port =
			(uint16_t)(10000 + ((unsigned)getpid() + i) % 20000);
		if (port_is_free(place, PLACE_NODE) &&
		    port_is_free(place, PLACE_GOOD))
			return;
	}
	fail_msg("no port is free");
}

static struct m0_lnd_ni_info lnd_info(const struct place       *place,
				      const struct m0_lnet_nid *nid)
{
	struct m0_lnd_ni_info ret = {};
	struct m0_lnet_info  *info;
	unsigned              i;

	assert_int_equal(m0_lnet_info_get(place->pl_node, &info), 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		if (m0_lnet_nid_eq(&info->li_nis[i].nii_nid, nid))
			ret = info->li_nis[i].nii_lnd;
	m0_lnet_info_free(info);
	return ret;
}

static bool good_has_all_connections(void *arg)
{
	const struct place *place = arg;

	/* Control, and bulk in and out. */
	return lnd_info(place, &place->pl_ping_nid).ldi_connections_nr == 3;
}

static void nids_set(struct place *place)
{
	place->pl_nid = place_nid(place, PLACE_NODE);
	place->pl_nid_two = place->pl_nid;
	if (place->pl_kind == PLACE_SOCKETS6)
		assert_int_equal(m0_lnet_nid_parse(&place->pl_nid_two,
						   "127.7.0.9@tcp1"),
				 0);
	place->pl_nid_two.ln_num = 1;
	place->pl_good_nid = place_nid(place, PLACE_GOOD);
	place->pl_ping_nid = place->pl_nid;
	if (place->pl_kind == PLACE_SOCKETS6) {
		place->pl_good_nid.ln_num = 1;
		place->pl_ping_nid = place->pl_nid_two;
	}
}

void place_up(struct place *place, enum place_kind kind,
	      void (*tune)(struct m0_lnet_cfg *cfg))
{
	struct m0_lnet_cfg good;

	*place = (struct place){ .pl_kind = kind, .pl_port = 988 };
	/* Warnings about peers are expected here. */
	m0_log_level_set(M0_LOG_ERROR);
	if (place_is_sim(place)) {
		sim_up(place);
	} else {
		sim_forget();
		if (kind == PLACE_SOCKETS6)
			ip6_need(place);
		port_choose(place);
	}
	nids_set(place);
	cfg_make(place, &place->pl_cfg, PLACE_NODE,
		 kind == PLACE_SOCKETS6 ? "tcp(%s),tcp1(127.7.0.9)"
					: "tcp(%s),tcp1(%s)");
	cfg_make(place, &good, PLACE_GOOD,
		 kind == PLACE_SOCKETS6 ? "tcp1(%s)" : "tcp(%s)");
	if (tune != NULL)
		tune(&place->pl_cfg);
	place_node_open(place);
	node_open(&place->pl_good, &good);
	place_ping(place);
	assert_true(place_wait(place, good_has_all_connections, place, 1000));
	place->pl_ping_ns_max = 0;
}

void place_node_close(struct place *place)
{
	m0_lnet_close(place->pl_node);
	place->pl_node = NULL;
}

void place_node_open(struct place *place)
{
	if (place_is_sim(place))
		m0_sim_host_use(place->pl_hosts[PLACE_NODE]);
	node_open(&place->pl_node, &place->pl_cfg);
	if (place_is_sim(place))
		m0_sim_host_use(place->pl_hosts[PLACE_GOOD]);
}

static void ports_free(struct place *place)
{
	struct place_port *port;

	while ((port = place->pl_ports) != NULL) {
		place->pl_ports = port->pp_next;
		if (!place_is_sim(place))
			(void)close(port->pp_fd);
		free(port);
	}
}

void place_down(struct place *place)
{
	struct place_end *end;

	place_ping(place);
	while ((end = place->pl_ends) != NULL) {
		place_close(end);
		place->pl_ends = end->pe_next;
		free(end->pe_buf);
		free(end);
	}
	m0_lnet_close(place->pl_good);
	m0_lnet_close(place->pl_node);
	ports_free(place);
	if (place_is_sim(place)) {
		m0_sim_net_fini();
		m0_sim_fini(&place->pl_sim);
	}
}

/* -- time ------------------------------------------------------------------ */

m0_time_t place_now(const struct place *place)
{
	return place_is_sim(place) ? m0_sim_now(&place->pl_sim) : m0_time_now();
}

/* Takes what has come at all ends. */
static void ends_pump(struct place *place);

struct place_look {
	struct place *plk_place;
	bool (*plk_cond)(void *arg);
	void *plk_arg;
};

static bool look(void *arg)
{
	struct place_look *l = arg;

	ends_pump(l->plk_place);
	return l->plk_cond(l->plk_arg);
}

bool place_wait(struct place *place, bool (*cond)(void *arg), void *arg,
		uint64_t ms)
{
	struct place_look l = { place, cond, arg };
	m0_time_t         until;

	if (place_is_sim(place))
		return m0_sim_run_until(&place->pl_sim, look, &l,
					ms * M0_TIME_ONE_MSEC);
	until = m0_time_now() + (ms + GRACE_MS) * M0_TIME_ONE_MSEC;
	while (!look(&l)) {
		if (m0_time_now() >= until)
			return false;
		(void)poll(NULL, 0, 1);
	}
	return true;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void place_run(struct place *place, uint64_t ms)
{
	struct place_look l = { place, never, NULL };
	m0_time_t         until = m0_time_now() + ms * M0_TIME_ONE_MSEC;

	if (place_is_sim(place)) {
		(void)place_wait(place, never, NULL, ms);
		return;
	}
	do {
		(void)look(&l);
		(void)poll(NULL, 0, 1);
	} while (m0_time_now() < until);
}

void place_ping(struct place *place)
{
	struct m0_lnet_probe probe = {
		.pr_kind = M0_LNET_PING,
		.pr_nid = place->pl_ping_nid,
		.pr_self = m0_lnet_nid_any,
		.pr_timeout_ms = place_is_sim(place) ? 100 : GRACE_MS,
	};

	assert_int_equal(m0_lnet_probe_sync(place->pl_good, &probe), 0);
	assert_int_equal(probe.pr_nids_nr, 2);
	place->pl_ping_ns_max = max64u(place->pl_ping_ns_max, probe.pr_took_ns);
}

/* A picture, not m0_lnet_stats_get: that may be a little behind. */
struct m0_lnet_stats place_stats(const struct place *place)
{
	struct m0_lnet_info *info;
	struct m0_lnet_stats stats;

	assert_int_equal(m0_lnet_info_get(place->pl_node, &info), 0);
	stats = info->li_stats;
	m0_lnet_info_free(info);
	return stats;
}

struct m0_lnd_ni_info place_lnd_info(const struct place *place)
{
	return lnd_info(place, &place->pl_nid);
}

/* -- ends ------------------------------------------------------------------ */

static struct place_end *end_new(struct place *place, unsigned who)
{
	struct place_end *end = calloc(1, sizeof *end);

	assert_non_null(end);
	end->pe_place = place;
	end->pe_who = who;
	end->pe_fd = -1;
	end->pe_next = place->pl_ends;
	place->pl_ends = end;
	return end;
}

static void end_over(struct place_end *end, int status)
{
	if (!end->pe_has_ended) {
		end->pe_has_ended = true;
		end->pe_status = status;
	}
}

static void end_pump_sim(struct place_end *end)
{
	struct m0_sim_raw *raw = end->pe_raw;

	end->pe_in = raw->smr_in;
	end->pe_in_nr = raw->smr_in_nr;
	if (raw->smr_state == M0_SIM_RAW_EOF)
		end_over(end, 0);
	else if (raw->smr_state == M0_SIM_RAW_BROKEN)
		end_over(end, raw->smr_status);
}

static void end_pump_fd(struct place_end *end)
{
	ssize_t rc;

	while (!end->pe_is_mute && !end->pe_has_ended) {
		if (end->pe_buf_max - end->pe_in_nr < READ_BYTES) {
			end->pe_buf_max = 2 * end->pe_buf_max + READ_BYTES;
			end->pe_buf = realloc(end->pe_buf, end->pe_buf_max);
			assert_non_null(end->pe_buf);
		}
		rc = recv(end->pe_fd, end->pe_buf + end->pe_in_nr, READ_BYTES,
			  MSG_DONTWAIT);
		if (rc < 0 && errno == EAGAIN)
			break;
		if (rc <= 0) {
			end_over(end, rc == 0 ? 0 : -errno);
			break;
		}
		end->pe_in_nr += (size_t)rc;
	}
	end->pe_in = end->pe_buf;
}

static void end_pump(struct place_end *end)
{
	if (end->pe_is_closed)
		return;
	if (end->pe_raw != NULL)
		end_pump_sim(end);
	else
		end_pump_fd(end);
}

static void ends_pump(struct place *place)
{
	struct place_end *end;

	for (end = place->pl_ends; end != NULL; end = end->pe_next)
		end_pump(end);
}

static void host_need(struct place *place, unsigned who)
{
	char addr[32];

	assert_true(who <= PLACE_WHO_MAX && who != PLACE_NODE);
	if (place->pl_hosts[who] == NULL)
		place->pl_hosts[who] = m0_sim_host_add(
			"strange", who_addr(place, who, addr, sizeof addr));
}

struct place_end *place_dial_from(struct place *place, unsigned who,
				  uint16_t port)
{
	struct place_end *end = end_new(place, who);
	char              from[32];
	char              to[32];

	assert_true(place_is_sim(place));
	host_need(place, who);
	end->pe_raw = m0_sim_raw_dial(
		who_addr(place, who, from, sizeof from), port,
		who_addr(place, PLACE_NODE, to, sizeof to), place->pl_port);
	return end;
}

static void dial_sim(struct place_end *end)
{
	struct place *place = end->pe_place;
	char          from[32];
	char          to[32];
	unsigned      port;

	host_need(place, end->pe_who);
	who_addr(place, end->pe_who, from, sizeof from);
	who_addr(place, PLACE_NODE, to, sizeof to);
	for (port = 1023; port > 512; --port)
		if (m0_sim_port_is_free(from, (uint16_t)port))
			break;
	end->pe_raw = m0_sim_raw_dial(from, (uint16_t)port, to, place->pl_port);
}

static void dial_fd(struct place_end *end)
{
	const struct place     *place = end->pe_place;
	struct sockaddr_storage at;
	socklen_t               nr;

	nr = who_sockaddr(place, end->pe_who, 0, &at);
	end->pe_fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(end->pe_fd >= 0);
	assert_int_equal(bind(end->pe_fd, (struct sockaddr *)&at, nr), 0);
	nr = who_sockaddr(place, PLACE_NODE, place->pl_port, &at);
	if (connect(end->pe_fd, (struct sockaddr *)&at, nr) != 0)
		end_over(end, -errno);
	assert_int_equal(fcntl(end->pe_fd, F_SETFL, O_NONBLOCK), 0);
}

struct place_end *place_dial(struct place *place, unsigned who)
{
	struct place_end *end = end_new(place, who);

	if (place_is_sim(place))
		dial_sim(end);
	else
		dial_fd(end);
	return end;
}

static void sim_came(struct m0_sim_raw *raw, void *arg)
{
	struct place_port *port = arg;

	if (port->pp_came_nr < ARRAY_SIZE(port->pp_came))
		port->pp_came[port->pp_came_nr++] = raw;
	else
		m0_sim_raw_reset(raw);
}

void place_listen(struct place *place, unsigned who)
{
	struct place_port      *port = calloc(1, sizeof *port);
	struct sockaddr_storage at;
	socklen_t               nr;
	char                    addr[32];
	int                     one = 1;

	assert_non_null(port);
	port->pp_who = who;
	port->pp_next = place->pl_ports;
	place->pl_ports = port;
	if (place_is_sim(place)) {
		host_need(place, who);
		m0_sim_raw_listen(who_addr(place, who, addr, sizeof addr),
				  place->pl_port, sim_came, port);
		return;
	}
	assert_int_not_equal(place->pl_kind, PLACE_SOCKETS6);
	nr = who_sockaddr(place, who, place->pl_port, &at);
	port->pp_fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(port->pp_fd >= 0);
	/* Ends that a case has closed first are in TIME_WAIT. */
	assert_int_equal(setsockopt(port->pp_fd, SOL_SOCKET, SO_REUSEADDR, &one,
				    sizeof one),
			 0);
	assert_int_equal(bind(port->pp_fd, (struct sockaddr *)&at, nr), 0);
	assert_int_equal(listen(port->pp_fd, 64), 0);
}

struct accept_look {
	struct place_port *al_port;
	struct m0_sim_raw *al_raw;
	int                al_fd;
};

static bool has_come(void *arg)
{
	struct accept_look *al = arg;
	struct place_port  *port = al->al_port;

	if (port->pp_fd > 0) {
		al->al_fd = accept4(port->pp_fd, NULL, NULL,
				    SOCK_CLOEXEC | SOCK_NONBLOCK);
		return al->al_fd >= 0;
	}
	if (port->pp_came_nr == 0)
		return false;
	al->al_raw = port->pp_came[0];
	--port->pp_came_nr;
	memmove(port->pp_came, port->pp_came + 1,
		port->pp_came_nr * sizeof port->pp_came[0]);
	return true;
}

struct place_end *place_accept(struct place *place, unsigned who, uint64_t ms)
{
	struct accept_look al = { .al_fd = -1 };
	struct place_end  *end;
	m0_time_t          until = m0_time_now() + ms * M0_TIME_ONE_MSEC;
	bool               came;

	for (al.al_port = place->pl_ports; al.al_port->pp_who != who;)
		al.al_port = al.al_port->pp_next;
	/* Nobody may be a fine answer: no grace. */
	if (place_is_sim(place)) {
		came = place_wait(place, has_come, &al, ms);
	} else {
		while (!(came = has_come(&al)) && m0_time_now() < until)
			(void)poll(NULL, 0, 1);
	}
	if (!came)
		return NULL;
	end = end_new(place, who);
	end->pe_raw = al.al_raw;
	end->pe_fd = al.al_fd;
	return end;
}

static void send_fd(struct place_end *end, const uint8_t *bytes, size_t nr)
{
	struct pollfd pollfd = { .fd = end->pe_fd, .events = POLLOUT };
	ssize_t       rc;

	while (nr > 0) {
		rc = send(end->pe_fd, bytes, nr, MSG_NOSIGNAL);
		if (rc > 0) {
			bytes += rc;
			nr -= (size_t)rc;
		} else if (errno != EAGAIN || poll(&pollfd, 1, SEND_MS) != 1) {
			return;
		}
	}
}

void place_send(struct place_end *end, const void *bytes, size_t nr)
{
	if (end->pe_is_closed)
		return;
	if (end->pe_raw != NULL)
		m0_sim_raw_send(end->pe_raw, bytes, nr);
	else
		send_fd(end, bytes, nr);
}

void place_mute(struct place_end *end, bool mute)
{
	end->pe_is_mute = mute;
	if (end->pe_raw != NULL)
		m0_sim_raw_mute(end->pe_raw, mute);
}

static void end_leave(struct place_end *end, bool reset)
{
	struct linger linger = { .l_onoff = 1 };

	if (end->pe_is_closed)
		return;
	end->pe_is_closed = true;
	end_over(end, -ECANCELED);
	if (end->pe_raw != NULL) {
		/* The bytes that the end received are gone with it. */
		end->pe_in_nr = 0;
		if (reset)
			m0_sim_raw_reset(end->pe_raw);
		m0_sim_raw_free(end->pe_raw);
		end->pe_raw = NULL;
		return;
	}
	if (reset)
		(void)setsockopt(end->pe_fd, SOL_SOCKET, SO_LINGER, &linger,
				 sizeof linger);
	(void)close(end->pe_fd);
}

void place_close(struct place_end *end)
{
	end_leave(end, false);
}

void place_reset(struct place_end *end)
{
	end_leave(end, true);
}

struct in_look {
	struct place_end *il_end;
	size_t            il_nr;
};

static bool has_in(void *arg)
{
	struct in_look *l = arg;

	return l->il_end->pe_in_nr - l->il_end->pe_done >= l->il_nr;
}

static bool has_in_or_end(void *arg)
{
	struct in_look *l = arg;

	return has_in(arg) || l->il_end->pe_has_ended;
}

bool place_wait_in(struct place_end *end, size_t nr, uint64_t ms)
{
	struct in_look l = { end, nr };

	(void)place_wait(end->pe_place, has_in_or_end, &l, ms);
	return has_in(&l);
}

static bool has_ended(void *arg)
{
	return ((struct place_end *)arg)->pe_has_ended;
}

bool place_wait_end(struct place_end *end, uint64_t ms)
{
	return place_wait(end->pe_place, has_ended, end, ms);
}
