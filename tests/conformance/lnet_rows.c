/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The nodes of the LNet transport's rows. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <poll.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "lib/io_hook.h"
#include "sim/net/sim_raw.h"
#include "sim/net/sim_rdma.h"

#include "m0/lnet.h"
#include "m0/xlnet.h"

#include "attach_rows.h"
#include "cf.h"
#include "cf_internal.h"
#include "lnet_rows.h"
#include "row_parts.h"

enum {
	NODES_MAX = 2
};

static struct m0_lnet *nodes[NODES_MAX];
static unsigned        nodes_nr;

static struct m0_sim_host *hosts[NODES_MAX];

struct io_hook *lnet_hook;

static bool same_host;
/* The first node is that of colibri.ko, at the same address and the usual port. */
static bool     is_device;
static unsigned lanes_nr;
static bool     is_o2ib;
/* GETs name their memory, and connections to make to a peer (net o2ib). */
static unsigned o2ib_gets;
static unsigned o2ib_conns;

static const char *const lo_addrs[] = { "127.0.0.1" };
static const char *const tcp4_addrs[] = { "127.0.0.1", "127.0.0.2" };
static char              other6[INET6_ADDRSTRLEN] = "fd00::2";
static const char *const tcp6_addrs[] = { "::1", other6 };

static void cfg_fill(struct m0_lnet_cfg *cfg, const char *addr)
{
	char text[128];

	snprintf(text, sizeof text,
		 is_o2ib ? "o2ib(%s) get_req=%u conns_per_peer=%u" : "tcp(%s)",
		 addr, o2ib_gets, o2ib_conns);
	row_lnet_cfg(cfg, text);
	cfg->lc_port = (uint16_t)(20000 + (unsigned)getpid() % 12000);
	cfg->lc_same_host = same_host;
	cfg->lc_lanes = lanes_nr;
}

static void sim_begin(void)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 10 * 1000,
		.ssc_jitter_ns = 5 * 1000,
		.ssc_piece_bytes_max = 60000,
	};
	static const struct m0_sim_rdma_cfg rdma_cfg = {
		.srd_latency_ns = 5 * 1000,
		.srd_jitter_ns = 5 * 1000,
		.srd_retry_ns = 100 * M0_TIME_ONE_MSEC,
		.srd_draws = true,
	};

	m0_sim_net_init(cf__sim(), &cfg);
	if (is_o2ib)
		m0_sim_rdma_init(&rdma_cfg);
}

static void device_set(struct m0_lnet_cfg *cfg, unsigned i)
{
	cfg->lc_port = 988;
	/* An emulated machine needs its time. */
	cfg->lc_transaction_timeout_ms = 5000;
	cfg->lc_timeout_ms = 5000;
	if (i == 0)
		(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach,
			       "/dev/colibri");
}

static void nodes_begin(const char *const *addrs, unsigned nr, bool attached)
{
	struct m0_lnet_cfg *cfg = calloc(1, sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	unsigned            i;

	if (cf.c_sim)
		sim_begin();
	for (i = 0; i < nr; ++i) {
		if (cf.c_sim) {
			hosts[i] = m0_sim_host_add(addrs[i], addrs[i]);
			m0_sim_host_use(hosts[i]);
		}
		cfg_fill(cfg, addrs[i]);
		cfg->lc_attach[0] = 0;
		if (attached)
			attach_daemon_begin(cfg);
		if (is_device)
			device_set(cfg, i);
		if (i == 1 && lnet_hook != NULL)
			io_hook_next(lnet_hook);
		CF_EQ(m0_lnet_open(&nodes[i], cfg, why), 0, "%s", why);
		CF_EQ(m0_net_lnet_use(nodes[i]), 0, "use");
	}
	nodes_nr = nr;
	free(cfg);
}

struct m0_lnet *lnet_node(unsigned i)
{
	return nodes[i];
}

struct m0_sim_host *lnet_host(unsigned i)
{
	return hosts[i];
}

void lnet_end(void)
{
	while (nodes_nr > 0) {
		--nodes_nr;
		CF_EQ(m0_net_lnet_unuse(nodes[nodes_nr]), 0, "unuse");
		m0_lnet_close(nodes[nodes_nr]);
	}
	attach_daemons_end();
	if (cf.c_sim && is_o2ib)
		m0_sim_rdma_fini();
	if (cf.c_sim)
		m0_sim_net_fini();
}

void lnet_turn(void)
{
	unsigned i;

	for (i = 0; i < nodes_nr; ++i)
		(void)m0_lnet_progress(nodes[i]);
}

/* ------------------------------------------------------------------- lo -- */

void lnet_lo_begin(void)
{
	nodes_begin(lo_addrs, 1, false);
}

void lnet_lo_addr(char *ret, unsigned nr)
{
	row_lnet_addr(ret, "127.0.0.1@tcp", nr);
}

void lnet_lo_spelling(char *ret, unsigned nr)
{
	row_lnet_addr(ret, "127.0.0.1@tcp0", nr);
}

/* ----------------------------------------------------------------- tcp4 -- */

void lnet_tcp4_begin(void)
{
	nodes_begin(tcp4_addrs, 2, false);
}

void lnet_tcp4_addr(char *ret, unsigned nr)
{
	row_lnet_addr(ret, nr % 2 ? "127.0.0.1@tcp" : "127.0.0.2@tcp", nr);
}

void lnet_tcp4_spelling(char *ret, unsigned nr)
{
	row_lnet_addr(ret, nr % 2 ? "127.0.0.1@tcp0" : "127.0.0.2@tcp0", nr);
}

/* ----------------------------------------------------------------- o2ib -- */

/* Addresses of the nodes: those of a real device are in the environment. */
static const char *o2ib_ip(unsigned nr)
{
	const char *ip = getenv(nr % 2 ? "M0_CF_O2IB_1" : "M0_CF_O2IB_2");

	return cf.c_sim || ip == NULL ? tcp4_addrs[(nr + 1) % 2] : ip;
}

void lnet_o2ib_begin(void)
{
	const char *const addrs[] = { o2ib_ip(1), o2ib_ip(2) };

	is_o2ib = true;
	/* Two seeds, or two modes, have both. */
	o2ib_gets = (unsigned)(cf.c_seed + (unsigned)cf.c_mode) % 2;
	o2ib_conns = 1 + (unsigned)(cf.c_seed + (unsigned)cf.c_mode) / 2 % 3;
	nodes_begin(addrs, 2, false);
}

void lnet_o2ib_end(void)
{
	unsigned rnr_nr = cf.c_sim ? m0_sim_rdma_rnr_nr() : 0;

	lnet_end();
	is_o2ib = false;
	CF_EQ(rnr_nr, 0, "messages without a receive");
}

void lnet_o2ib_addr(char *ret, unsigned nr)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	snprintf(nid, sizeof nid, "%s@o2ib", o2ib_ip(nr));
	row_lnet_addr(ret, nid, nr);
}

void lnet_o2ib_spelling(char *ret, unsigned nr)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	snprintf(nid, sizeof nid, "%s@o2ib0", o2ib_ip(nr));
	row_lnet_addr(ret, nid, nr);
}

/* ----------------------------------------------------------------- host -- */

void lnet_host_begin(void)
{
	same_host = true;
	cf_library_memory = true;
	nodes_begin(tcp4_addrs, 2, false);
}

/* No connection of a case was made over the network. */
static void host_check(struct m0_lnet *node)
{
	struct m0_lnet_info *info;
	unsigned             i;

	CF_EQ(m0_lnet_info_get(node, &info), 0, "info");
	for (i = 0; i < info->li_nis_nr; ++i) {
		const struct m0_lnet_ni_info *ni = &info->li_nis[i];

		CF_EQ(ni->nii_lnd.ldi_fell_back_nr, 0, "fell back");
		if (!m0_lnet_nid_is_lo(&ni->nii_nid))
			CF_EQ(ni->nii_lnd.ldi_near_nr,
			      ni->nii_lnd.ldi_connections_nr, "near");
	}
	m0_lnet_info_free(info);
}

void lnet_host_end(void)
{
	unsigned i;

	for (i = 0; i < nodes_nr; ++i)
		host_check(nodes[i]);
	lnet_end();
	same_host = false;
	cf_library_memory = false;
}

/* ---------------------------------------------------------------- lanes -- */

void lnet_lanes_begin(void)
{
	lanes_nr = 2;
	nodes_begin(tcp4_addrs, 2, false);
}

void lnet_lanes_end(void)
{
	lnet_end();
	lanes_nr = 0;
}

/* --------------------------------------------------------------- attach -- */

void lnet_attach_begin(void)
{
	nodes_begin(tcp4_addrs, 2, true);
}

/* --------------------------------------------------------------- direct -- */

/* Machines of one process, which copies its payloads itself. */
void lnet_direct_begin(void)
{
	same_host = true;
	cf_library_memory = true;
	nodes_begin(lo_addrs, 1, true);
}

void lnet_direct_end(void)
{
	lnet_end();
	same_host = false;
	cf_library_memory = false;
}

/* --------------------------------------------------------------- device -- */

void lnet_device_begin(void)
{
	is_device = true;
	nodes_begin(tcp4_addrs, 2, false);
}

void lnet_device_end(void)
{
	lnet_end();
	is_device = false;
}

/* ----------------------------------------------------------------- tcp6 -- */

/* An address of this machine besides ::1, one that peers can name. */
static bool addr6_find(void)
{
	struct ifaddrs *all;
	struct ifaddrs *ifa;
	bool            found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (ifa = all; ifa != NULL && !found; ifa = ifa->ifa_next) {
		const struct sockaddr_in6 *sin = (const void *)ifa->ifa_addr;

		if (sin == NULL || sin->sin6_family != AF_INET6 ||
		    !(ifa->ifa_flags & IFF_UP) ||
		    IN6_IS_ADDR_LOOPBACK(&sin->sin6_addr) ||
		    IN6_IS_ADDR_LINKLOCAL(&sin->sin6_addr))
			continue;
		found = inet_ntop(AF_INET6, &sin->sin6_addr, other6,
				  sizeof other6) != NULL;
	}
	freeifaddrs(all);
	return found;
}

/* As the kernel's struct in6_ifreq, whose header meets others. */
struct addr6_request {
	struct in6_addr ar_addr;
	uint32_t        ar_prefix;
	int             ar_index;
};

/* Wait until the kernel lets sockets bind to the address: it does so from a work
 * queue of its own, after SIOCSIFADDR has returned. */
static bool addr6_wait(const struct in6_addr *addr)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6 };
	bool                ok = false;
	int                 tries;
	int                 fd;

	sa.sin6_addr = *addr;
	for (tries = 0; tries < 5000 && !ok; ++tries) {
		fd = socket(AF_INET6, SOCK_DGRAM, 0);
		ok = bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0;
		(void)close(fd);
		if (!ok)
			(void)poll(NULL, 0, 1);
	}
	return ok;
}

/* A network of this process's own, with fd00::2 on its loopback. */
static bool addr6_make(void)
{
	struct addr6_request request = { .ar_prefix = 128 };
	struct ifreq         lo = { .ifr_name = "lo" };
	int                  flags = geteuid() == 0 ? 0 : CLONE_NEWUSER;
	int                  fd;
	bool                 ok;

	if (unshare(CLONE_NEWNET | flags) != 0)
		return false;
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	if (fd < 0)
		return false;
	ok = ioctl(fd, SIOCGIFFLAGS, &lo) == 0;
	lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP);
	ok = ok && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
	request.ar_index = (int)if_nametoindex("lo");
	ok = ok && inet_pton(AF_INET6, other6, &request.ar_addr) == 1 &&
	     ioctl(fd, SIOCSIFADDR, &request) == 0 &&
	     addr6_wait(&request.ar_addr);
	close(fd);
	return ok;
}

void lnet_tcp6_begin(void)
{
	if (!cf.c_sim)
		CF_TRUE(addr6_find() || addr6_make(),
			"this machine has no IPv6 address but ::1: add one, "
			"say fd00::2/128 to lo");
	nodes_begin(tcp6_addrs, 2, false);
}

void lnet_tcp6_addr(char *ret, unsigned nr)
{
	char nid[INET6_ADDRSTRLEN + 8];

	snprintf(nid, sizeof nid, "%s@tcp", tcp6_addrs[!(nr % 2)]);
	row_lnet_addr(ret, nid, nr);
}

void lnet_tcp6_spelling(char *ret, unsigned nr)
{
	char nid[INET6_ADDRSTRLEN + 8];

	snprintf(nid, sizeof nid, "%s@tcp0", tcp6_addrs[!(nr % 2)]);
	row_lnet_addr(ret, nid, nr);
}
