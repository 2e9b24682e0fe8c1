/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hosts, wires and their faults: everything between the io of two nodes. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"

/* Interval of the first resend of a SYN, and the time limit of a connect. */
#define SYN_WAIT_NS    M0_TIME_ONE_SECOND
#define SYN_GIVE_UP_NS (127 * M0_TIME_ONE_SECOND)
/* How long it takes to learn that there is no such host. */
#define NO_HOST_NS (3 * M0_TIME_ONE_SECOND)

enum {
	PORT_ANY_MIN = 32768,
	PORT_ANY_MAX = 60999
};

static struct sim_net *the_net;

static void syn_fire(struct m0_sim_timer *timer);

struct sim_net *m0_sim__net(void)
{
	M0_ASSERT_INFO(the_net != NULL, "no simulated network");
	return the_net;
}

struct m0_sim_stream *m0_sim__stream(struct sim_end *end)
{
	return &end->sie_wire->siw_stream;
}

static struct sim_end *end_other(struct sim_end *end)
{
	return &end->sie_wire->siw_end[1 - end->sie_nr];
}

/* -- addresses ------------------------------------------------------------- */

bool m0_sim__addr_eq(const struct m0_host_addr *left,
		     const struct m0_host_addr *right, bool ports)
{
	return left->sa_bytes_nr == right->sa_bytes_nr &&
	       memcmp(left->sa_bytes, right->sa_bytes, left->sa_bytes_nr) ==
		       0 &&
	       (!ports || left->sa_port == right->sa_port);
}

struct m0_host_addr m0_sim_addr(const char *text, uint16_t port)
{
	struct m0_host_addr addr = { .sa_port = port };

	if (inet_pton(AF_INET, text, addr.sa_bytes) == 1)
		addr.sa_bytes_nr = 4;
	else if (inet_pton(AF_INET6, text, addr.sa_bytes) == 1)
		addr.sa_bytes_nr = 16;
	else
		m0_sim_fail(m0_sim__net()->sin_sim, "no address: %s", text);
	return addr;
}

struct m0_sim_host *m0_sim__host_at(const struct m0_host_addr *addr)
{
	struct sim_net     *net = m0_sim__net();
	struct m0_sim_host *host;
	unsigned            i;
	unsigned            k;

	for (i = 0; i < net->sin_hosts_nr; ++i) {
		host = net->sin_hosts[i];
		for (k = 0; k < host->smh_addrs_nr; ++k)
			if (m0_sim__addr_eq(addr, &host->smh_addrs[k], false))
				return host;
	}
	return NULL;
}

bool m0_sim__link_is_up(const struct m0_host_addr *addr)
{
	const struct m0_sim_host *host = m0_sim__host_at(addr);
	unsigned                  i;

	for (i = 0; host != NULL && i < host->smh_addrs_nr; ++i)
		if (m0_sim__addr_eq(addr, &host->smh_addrs[i], false))
			return !host->smh_iface_down[i];
	return true;
}

struct sim_listener *m0_sim__listener_at(const struct m0_host_addr *addr)
{
	struct sim_listener *listener;

	TAILQ_FOREACH(listener, &m0_sim__net()->sin_listeners, sil_link)
		if (m0_sim__addr_eq(addr, &listener->sil_addr, true))
			return listener;
	return NULL;
}

int m0_sim__listener_add(struct sim_listener       *listener,
			 const struct m0_host_addr *addr)
{
	struct m0_sim_host *host = m0_sim__host_at(addr);

	if (host == NULL)
		return -EADDRNOTAVAIL;
	if (host->smh_listen_rc != 0)
		return host->smh_listen_rc;
	if (m0_sim__listener_at(addr) != NULL)
		return -EADDRINUSE;
	listener->sil_addr = *addr;
	TAILQ_INIT(&listener->sil_backlog);
	TAILQ_INSERT_TAIL(&m0_sim__net()->sin_listeners, listener, sil_link);
	return 0;
}

void m0_sim__listener_del(struct sim_listener *listener)
{
	struct sim_end *end;

	TAILQ_REMOVE(&m0_sim__net()->sin_listeners, listener, sil_link);
	while ((end = TAILQ_FIRST(&listener->sil_backlog)) != NULL) {
		TAILQ_REMOVE(&listener->sil_backlog, end, sie_backlog_link);
		m0_sim__end_leave(end, true);
	}
}

/* -- wires ----------------------------------------------------------------- */

static void grave_fire(struct m0_sim_timer *timer)
{
	struct sim_net  *net = timer->simt_data;
	struct sim_wire *wire;

	while ((wire = TAILQ_FIRST(&net->sin_grave)) != NULL) {
		TAILQ_REMOVE(&net->sin_grave, wire, siw_link);
		m0_sim_stream_fini(&wire->siw_stream);
		free(wire->siw_end[0].sie_held);
		free(wire->siw_end[1].sie_held);
		free(wire);
	}
}

static void wire_bury(struct sim_wire *wire)
{
	struct sim_net *net = m0_sim__net();

	m0_sim_timer_cancel(net->sin_sim, &wire->siw_syn_timer);
	TAILQ_REMOVE(&net->sin_wires, wire, siw_link);
	--net->sin_wires_nr;
	TAILQ_INSERT_TAIL(&net->sin_grave, wire, siw_link);
	m0_sim_timer_arm(net->sin_sim, &net->sin_grave_timer,
			 m0_sim_now(net->sin_sim), grave_fire);
}

void m0_sim__end_leave(struct sim_end *end, bool reset)
{
	struct sim_wire *wire = end->sie_wire;

	M0_PRE(end->sie_owner != SIM_OWNER_NONE);
	end->sie_owner = SIM_OWNER_NONE;
	if (reset)
		m0_sim_stream_reset(&wire->siw_stream, end->sie_nr);
	else
		m0_sim_stream_close(&wire->siw_stream, end->sie_nr);
	if (end_other(end)->sie_owner == SIM_OWNER_NONE)
		wire_bury(wire);
}

static void wire_notice(struct m0_sim_stream *stream, int nr)
{
	struct sim_wire *wire = stream->sst_data;
	struct sim_end  *end = &wire->siw_end[nr];

	if (end->sie_owner == SIM_OWNER_NODE)
		m0_sim__node_notice(end);
	else if (end->sie_owner == SIM_OWNER_RAW)
		m0_sim__raw_notice(end);
}

bool m0_sim__is_cut(const struct m0_sim_host *from,
		    const struct m0_sim_host *to)
{
	return from->smh_down != SIM_UP || to->smh_down != SIM_UP ||
	       m0_sim__net()->sin_cut[from->smh_index][to->smh_index];
}

static bool wire_has_links(const struct sim_wire *wire)
{
	return m0_sim__link_is_up(&wire->siw_end[0].sie_addr) &&
	       m0_sim__link_is_up(&wire->siw_end[1].sie_addr);
}

static void end_hush(struct sim_end *end)
{
	m0_sim_stream_silence(m0_sim__stream(end), end->sie_nr,
			      m0_sim__is_cut(end->sie_host,
					     end_other(end)->sie_host) ||
				      !wire_has_links(end->sie_wire));
}

/* Apply the faults of both hosts to the stream. */
static void wire_faults(struct sim_wire *wire)
{
	struct m0_sim_host *host;
	int                 i;

	for (i = 0; i < 2; ++i) {
		host = wire->siw_end[i].sie_host;
		m0_sim_stream_slow(&wire->siw_stream, i, host->smh_slow_bytes);
		m0_sim_stream_ignore_reset(&wire->siw_stream, i,
					   host->smh_ignores_resets);
		end_hush(&wire->siw_end[i]);
	}
}

/*
 * Return true if the dialling end holds its port: it has an owner, or the
 * system of its node is still sending.
 */
static bool wire_holds_port(const struct sim_wire *wire)
{
	const struct m0_sim_stream_dir *dir = &wire->siw_stream.sst_dir[0];
	const struct sim_end           *end = &wire->siw_end[0];

	return end->sie_owner != SIM_OWNER_NONE ||
	       (end->sie_io != NULL && dir->ssd_shut && dir->ssd_way != NULL);
}

static bool port_is_taken(const struct m0_host_addr *addr)
{
	const struct sim_wire *wire;

	TAILQ_FOREACH(wire, &m0_sim__net()->sin_wires, siw_link)
		if (wire_holds_port(wire) &&
		    m0_sim__addr_eq(&wire->siw_end[0].sie_addr, addr, true))
			return true;
	return m0_sim__listener_at(addr) != NULL;
}

bool m0_sim_port_is_free(const char *at, uint16_t port)
{
	struct m0_host_addr addr = m0_sim_addr(at, port);

	return !port_is_taken(&addr);
}

static int port_find(struct m0_host_addr *addr, uint16_t min, uint16_t max)
{
	struct sim_net *net = m0_sim__net();
	unsigned        port;
	unsigned        nr;

	if (max == 0) {
		for (nr = PORT_ANY_MIN; nr < PORT_ANY_MAX; ++nr) {
			if (++net->sin_port < PORT_ANY_MIN ||
			    net->sin_port > PORT_ANY_MAX)
				net->sin_port = PORT_ANY_MIN;
			addr->sa_port = net->sin_port;
			if (!port_is_taken(addr))
				return 0;
		}
		return -EADDRINUSE;
	}
	for (port = max; port >= min && port > 0; --port) {
		addr->sa_port = (uint16_t)port;
		if (!port_is_taken(addr))
			return 0;
	}
	return -EADDRINUSE;
}

static void syn_arm(struct sim_wire *wire, m0_time_t wait)
{
	struct sim_net *net = m0_sim__net();

	m0_sim_timer_arm(net->sin_sim, &wire->siw_syn_timer,
			 m0_sim_now(net->sin_sim) + wait, syn_fire);
}

int m0_sim__dial(const struct m0_host_addr *from, uint16_t port_min,
		 uint16_t port_max, const struct m0_host_addr *to,
		 struct sim_end **ret)
{
	struct sim_net     *net = m0_sim__net();
	struct m0_sim_host *host = m0_sim__host_at(from);
	struct m0_host_addr addr = *from;
	struct sim_wire    *wire;
	int                 rc;

	if (host == NULL)
		return -EADDRNOTAVAIL;
	rc = port_find(&addr, port_min, port_max);
	if (rc != 0)
		return rc;
	wire = m0_sim__realloc(NULL, 1, sizeof *wire);
	*wire = (struct sim_wire){
		.siw_syn_wait = SYN_WAIT_NS,
		.siw_syn_since = m0_sim_now(net->sin_sim),
		.siw_syn_timer.simt_data = wire,
	};
	(void)snprintf(wire->siw_name, sizeof wire->siw_name, "%.15s:%u",
		       host->smh_name, addr.sa_port);
	m0_sim_stream_init(&wire->siw_stream, net->sin_sim, wire->siw_name,
			   &net->sin_cfg, wire_notice);
	wire->siw_stream.sst_data = wire;
	wire->siw_end[0] = (struct sim_end){ .sie_wire = wire,
					     .sie_host = host,
					     .sie_addr = addr };
	wire->siw_end[1] = (struct sim_end){ .sie_wire = wire,
					     .sie_nr = 1,
					     .sie_addr = *to,
					     .sie_is_dialled = true,
					     .sie_is_notified = true };
	TAILQ_INSERT_TAIL(&net->sin_wires, wire, siw_link);
	++net->sin_wires_nr;
	++host->smh_dials_nr;
	syn_arm(wire, net->sin_cfg.ssc_latency_ns);
	*ret = &wire->siw_end[0];
	return 0;
}

/* -- the three steps of a connect ------------------------------------------ */

static void dial_end(struct sim_wire *wire, int rc)
{
	struct sim_end *end = &wire->siw_end[0];

	end->sie_is_dialled = true;
	end->sie_dial_rc = rc;
	m0_sim__trace(m0_sim__net()->sin_sim->sim_core, wire->siw_name,
		      "stream", rc == 0 ? "connected" : "not connected");
	wire_notice(&wire->siw_stream, 0);
}

static void answer_fire(struct m0_sim_timer *timer)
{
	struct sim_wire *wire = timer->simt_data;

	dial_end(wire, wire->siw_end[0].sie_dial_rc);
}

/* Send the answer to a SYN: 0 or an error. */
static void syn_answer(struct sim_wire *wire, int rc, m0_time_t wait)
{
	struct sim_net *net = m0_sim__net();

	wire->siw_end[0].sie_dial_rc = rc;
	m0_sim_timer_arm(net->sin_sim, &wire->siw_syn_timer,
			 m0_sim_now(net->sin_sim) + wait, answer_fire);
}

static void syn_again(struct sim_wire *wire)
{
	m0_time_t now = m0_sim_now(m0_sim__net()->sin_sim);

	if (now - wire->siw_syn_since >= SYN_GIVE_UP_NS) {
		dial_end(wire, -ETIMEDOUT);
		return;
	}
	syn_arm(wire, wire->siw_syn_wait);
	wire->siw_syn_wait *= 2;
}

/*
 * Does the accepting end still know the connection? It does not after a reset.
 * A connection that ended with TCP_LINGER2 = -1 sends one when its end of file
 * is acknowledged.
 */
static bool wire_is_known(const struct m0_sim_stream *stream)
{
	return !stream->sst_reset[1] &&
	       !(stream->sst_gone[0] && stream->sst_dir[0].ssd_eof);
}

/* A connection of the same name that one side has forgotten. */
static struct sim_wire *wire_stale(struct sim_wire *wire)
{
	struct sim_wire *old;

	TAILQ_FOREACH(old, &m0_sim__net()->sin_wires, siw_link)
		if (old != wire && old->siw_is_up &&
		    wire_is_known(&old->siw_stream) &&
		    m0_sim__addr_eq(&old->siw_end[0].sie_addr,
				    &wire->siw_end[0].sie_addr, true) &&
		    m0_sim__addr_eq(&old->siw_end[1].sie_addr,
				    &wire->siw_end[1].sie_addr, true))
			return old;
	return NULL;
}

static void wire_up(struct sim_wire *wire, struct sim_listener *listener)
{
	struct sim_end *end = &wire->siw_end[1];

	wire->siw_is_up = true;
	m0_sim__pcap_wire(wire);
	wire_faults(wire);
	syn_answer(wire, 0, m0_sim__net()->sin_cfg.ssc_latency_ns);
	if (listener->sil_io == NULL) {
		m0_sim__raw_accepted(listener, end);
		return;
	}
	end->sie_owner = SIM_OWNER_BACKLOG;
	TAILQ_INSERT_TAIL(&listener->sil_backlog, end, sie_backlog_link);
	++listener->sil_backlog_nr;
	m0_sim__node_backlog(listener);
}

static void syn_fire(struct m0_sim_timer *timer)
{
	struct sim_wire     *wire = timer->simt_data;
	struct sim_end      *to = &wire->siw_end[1];
	struct m0_sim_host  *from = wire->siw_end[0].sie_host;
	m0_time_t            latency = m0_sim__net()->sin_cfg.ssc_latency_ns;
	struct sim_listener *listener = m0_sim__listener_at(&to->sie_addr);
	struct sim_wire     *old;

	to->sie_host = m0_sim__host_at(&to->sie_addr);
	if (to->sie_host == NULL)
		syn_answer(wire, -EHOSTUNREACH, NO_HOST_NS);
	else if (to->sie_host->smh_unreachable)
		syn_answer(wire, -EHOSTUNREACH, latency);
	else if (from->smh_down == SIM_UP &&
		 to->sie_host->smh_down == SIM_KILLED)
		syn_answer(wire, -ECONNREFUSED, latency);
	else if (m0_sim__is_cut(from, to->sie_host) ||
		 m0_sim__is_cut(to->sie_host, from) || !wire_has_links(wire))
		syn_again(wire);
	else if (listener == NULL)
		syn_answer(wire, -ECONNREFUSED, latency);
	else if (listener->sil_backlog_nr >= SIM_BACKLOG_MAX)
		syn_again(wire);
	else if ((old = wire_stale(wire)) != NULL) {
		syn_again(wire);
		m0_sim_stream_cut(&old->siw_stream);
	} else
		wire_up(wire, listener);
}

/* -- life ------------------------------------------------------------------ */

void m0_sim_net_init(struct m0_sim *sim, const struct m0_sim_stream_cfg *cfg)
{
	const struct m0_host_ops *before = m0_host_ops_get();

	/* A failed test may have left its network; do not read that memory. */
	if (the_net != NULL)
		before = the_net->sin_ops_before;
	the_net = m0_sim__realloc(NULL, 1, sizeof *the_net);
	*the_net = (struct sim_net){ .sin_sim = sim,
				     .sin_cfg = *cfg,
				     .sin_ops_before = before };
	TAILQ_INIT(&the_net->sin_wires);
	TAILQ_INIT(&the_net->sin_grave);
	TAILQ_INIT(&the_net->sin_listeners);
	m0_list_init(&the_net->sin_ios);
	the_net->sin_grave_timer.simt_data = the_net;
	m0_rand_init(&the_net->sin_rand,
		     m0_rand_next(&sim->sim_core->simk_link_rand));
	m0_host_ops_set(&m0_sim_host_ops);
	if (getenv("M0_SIM_PCAP") != NULL)
		m0_sim_net_pcap(getenv("M0_SIM_PCAP"));
}

void m0_sim_net_fini(void)
{
	struct sim_net      *net = m0_sim__net();
	struct sim_listener *listener;
	struct sim_listener *next;
	unsigned             i;

	m0_sim__raws_free(net);
	TAILQ_FOREACH(listener, &net->sin_listeners, sil_link)
		if (listener->sil_io != NULL)
			++net->sin_left_nr;
	if (net->sin_ios_nr + net->sin_wires_nr + net->sin_left_nr > 0)
		m0_sim_fail(net->sin_sim,
			    "left behind on the network: %u ios, %u "
			    "connections, %u listeners or ends",
			    net->sin_ios_nr, net->sin_wires_nr,
			    net->sin_left_nr);
	for (listener = TAILQ_FIRST(&net->sin_listeners); listener != NULL;
	     listener = next) {
		next = TAILQ_NEXT(listener, sil_link);
		m0_sim__listener_del(listener);
		free(listener);
	}
	m0_sim_timer_cancel(net->sin_sim, &net->sin_grave_timer);
	grave_fire(&net->sin_grave_timer);
	for (i = 0; i < net->sin_hosts_nr; ++i) {
		m0_sim__place_forget(net->sin_sim->sim_core,
				     &net->sin_hosts[i]->smh_place);
		free(net->sin_hosts[i]);
	}
	m0_sim__pcap_fini(net);
	m0_host_ops_set(net->sin_ops_before);
	free(net->sin_router_cfg);
	free(net);
	the_net = NULL;
}

void m0_sim_net_cfg_set(const struct m0_sim_stream_cfg *cfg)
{
	m0_sim__net()->sin_cfg = *cfg;
}

void m0_sim_net_copy_rate(uint64_t bytes_per_s)
{
	m0_sim__net()->sin_copy_bytes = bytes_per_s;
}

unsigned m0_sim_net_streams_nr(void)
{
	return m0_sim__net()->sin_wires_nr;
}

/* -- hosts ----------------------------------------------------------------- */

struct m0_sim_host *m0_sim_host_add(const char *name, const char *addrs)
{
	struct sim_net     *net = m0_sim__net();
	struct m0_sim_host *host;
	char                text[256];
	char               *at = text;
	char               *word;

	M0_PRE(net->sin_hosts_nr < SIM_HOSTS_MAX);
	host = m0_sim__realloc(NULL, 1, sizeof *host);
	*host = (struct m0_sim_host){ .smh_name = name,
				      .smh_index = net->sin_hosts_nr };
	(void)snprintf(text, sizeof text, "%s", addrs);
	while ((word = strsep(&at, " ")) != NULL)
		host->smh_addrs[host->smh_addrs_nr++] = m0_sim_addr(word, 0);
	net->sin_hosts[net->sin_hosts_nr++] = host;
	return host;
}

void m0_sim_host_use(struct m0_sim_host *host)
{
	struct sim_net *net = m0_sim__net();

	net->sin_host_used = host;
	net->sin_sim->sim_core->simk_place = host == NULL ? NULL
							  : &host->smh_place;
}

/* Calls fn for each end of a wire that is up, and whose host is `host`. */
static void ends_each(struct m0_sim_host *host,
		      void (*fn)(struct sim_end *end, struct m0_sim_host *arg),
		      struct m0_sim_host *arg)
{
	struct sim_net   *net = m0_sim__net();
	unsigned          nr = net->sin_wires_nr;
	struct sim_wire **wires;
	struct sim_wire  *wire;
	unsigned          i = 0;

	/* A copy: notices may take wires off; they are freed later. */
	wires = m0_sim__realloc(NULL, nr + 1, sizeof wires[0]);
	TAILQ_FOREACH(wire, &net->sin_wires, siw_link)
		wires[i++] = wire;
	for (i = 0; i < nr; ++i) {
		if (!wires[i]->siw_is_up)
			continue;
		if (wires[i]->siw_end[0].sie_host == host)
			fn(&wires[i]->siw_end[0], arg);
		if (wires[i]->siw_end[1].sie_host == host)
			fn(&wires[i]->siw_end[1], arg);
	}
	free(wires);
}

static void end_silence(struct sim_end *end, struct m0_sim_host *to)
{
	if (end_other(end)->sie_host == to)
		end_hush(end);
}

void m0_sim_host_cut_way(struct m0_sim_host *from, struct m0_sim_host *to,
			 bool cut)
{
	m0_sim__net()->sin_cut[from->smh_index][to->smh_index] = cut;
	ends_each(from, end_silence, to);
}

void m0_sim_host_cut(struct m0_sim_host *host, bool cut)
{
	struct sim_net *net = m0_sim__net();
	unsigned        i;

	for (i = 0; i < net->sin_hosts_nr; ++i) {
		if (net->sin_hosts[i] == host)
			continue;
		m0_sim_host_cut_way(host, net->sin_hosts[i], cut);
		m0_sim_host_cut_way(net->sin_hosts[i], host, cut);
	}
}

static void end_reset(struct sim_end *end, struct m0_sim_host *other)
{
	if (other == NULL || end_other(end)->sie_host == other)
		m0_sim_stream_cut(m0_sim__stream(end));
}

void m0_sim_host_reset(struct m0_sim_host *host)
{
	ends_each(host, end_reset, NULL);
}

void m0_sim_host_reset_way(struct m0_sim_host *host, struct m0_sim_host *other)
{
	ends_each(host, end_reset, other);
}

static void end_ignore(struct sim_end *end, struct m0_sim_host *arg)
{
	m0_sim_stream_ignore_reset(m0_sim__stream(end), end->sie_nr,
				   arg->smh_ignores_resets);
}

void m0_sim_host_ignore_resets(struct m0_sim_host *host, bool ignores)
{
	host->smh_ignores_resets = ignores;
	ends_each(host, end_ignore, host);
}

void m0_sim_host_unreachable(struct m0_sim_host *host, bool unreachable)
{
	host->smh_unreachable = unreachable;
}

/* Silence the streams of a host as its cuts and its state require. */
static void host_silence(struct m0_sim_host *host)
{
	struct sim_net *net = m0_sim__net();
	unsigned        i;

	for (i = 0; i < net->sin_hosts_nr; ++i) {
		ends_each(host, end_silence, net->sin_hosts[i]);
		if (net->sin_hosts[i] != host)
			ends_each(net->sin_hosts[i], end_silence, host);
	}
}

static void host_down(struct m0_sim_host *host, enum sim_down how,
		      const char *what)
{
	struct m0_sim *sim = m0_sim__net()->sin_sim;

	M0_PRE(host->smh_down == SIM_UP);
	m0_sim__trace(sim->sim_core, host->smh_name, "host", "%s", what);
	if (how == SIM_KILLED)
		m0_sim_host_reset(host);
	host->smh_down = how;
	host_silence(host);
}

void m0_sim_host_crash(struct m0_sim_host *host)
{
	host_down(host, SIM_POWERLESS, "crashes");
}

void m0_sim_host_kill(struct m0_sim_host *host)
{
	host_down(host, SIM_KILLED, "is killed");
}

bool m0_sim_host_is_down(const struct m0_sim_host *host)
{
	return host->smh_down != SIM_UP;
}

/* Lose the bytes: no system is left that would resend them. */
static void end_lose(struct sim_end *end, struct m0_sim_host *arg)
{
	(void)arg;
	m0_sim__stream_lose(m0_sim__stream(end), end->sie_nr);
}

void m0_sim_host_restart(struct m0_sim_host *host)
{
	struct m0_sim *sim = m0_sim__net()->sin_sim;

	M0_PRE(host->smh_down != SIM_UP);
	if (host->smh_ios_nr > 0)
		m0_sim_fail(sim,
			    "%s restarts with %u nodes of its former life open",
			    host->smh_name, host->smh_ios_nr);
	m0_sim__trace(sim->sim_core, host->smh_name, "host", "restarts");
	ends_each(host, end_lose, NULL);
	host->smh_down = SIM_UP;
	host_silence(host);
}

void m0_sim_host_skew(struct m0_sim_host *host, int64_t skew_ns)
{
	host->smh_place.spc_skew_ns = skew_ns;
}

void m0_sim_host_late(struct m0_sim_host *host, m0_time_t late_ns_max)
{
	host->smh_place.spc_late_ns_max = late_ns_max;
	m0_sim__place_late(m0_sim__net()->sin_sim->sim_core, &host->smh_place,
			   late_ns_max);
}

static void end_slow(struct sim_end *end, struct m0_sim_host *arg)
{
	(void)arg;
	m0_sim_stream_slow(m0_sim__stream(end), end->sie_nr,
			   end->sie_host->smh_slow_bytes);
}

void m0_sim_host_slow(struct m0_sim_host *host, uint64_t bytes_per_s)
{
	host->smh_slow_bytes = bytes_per_s;
	ends_each(host, end_slow, NULL);
}

void m0_sim_host_listen_fails(struct m0_sim_host *host, int rc)
{
	host->smh_listen_rc = rc;
}

static void link_silence(struct sim_end *end, struct m0_sim_host *arg)
{
	(void)arg;
	end_hush(end);
	end_hush(end_other(end));
}

/* Puts the state in force, and notifies the nodes of the host. */
static void links_changed(struct m0_sim_host *host)
{
	struct sim_io *io;

	ends_each(host, link_silence, NULL);
	m0_list_for_each_entry(&m0_sim__net()->sin_ios, io, struct sim_io,
			       sno_link)
		if (!m0_list_is_empty(&io->sno_watches))
			m0_sim__reactor_wake(io->sno_reactor);
}

void m0_sim_host_iface_up(struct m0_sim_host *host, bool up)
{
	unsigned i;

	for (i = 0; i < host->smh_addrs_nr; ++i)
		host->smh_iface_down[i] = !up;
	links_changed(host);
}

void m0_sim_link_up(const char *at, bool up)
{
	struct m0_host_addr addr = m0_sim_addr(at, 0);
	struct m0_sim_host *host = m0_sim__host_at(&addr);
	unsigned            i;

	if (host == NULL) {
		m0_sim_fail(m0_sim__net()->sin_sim, "no host at %s", at);
		return;
	}
	for (i = 0; i < host->smh_addrs_nr; ++i)
		if (m0_sim__addr_eq(&addr, &host->smh_addrs[i], false))
			host->smh_iface_down[i] = !up;
	links_changed(host);
}

unsigned m0_sim_host_streams_nr(const struct m0_sim_host *host)
{
	const struct sim_wire *wire;
	unsigned               nr = 0;

	TAILQ_FOREACH(wire, &m0_sim__net()->sin_wires, siw_link)
		if (wire->siw_is_up && (wire->siw_end[0].sie_host == host ||
					wire->siw_end[1].sie_host == host))
			++nr;
	return nr;
}

unsigned m0_sim_host_dials_nr(const struct m0_sim_host *host)
{
	return host->smh_dials_nr;
}
