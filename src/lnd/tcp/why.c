/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Texts for users whose address cannot be used: what is wrong, and everything
 * that helps. The texts depend on the value of the sysctl, so that no user is
 * asked to set it again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	PRIVILEGED_PORT_MAX = 1023,
	PATH_BYTES = 256,
	LINE_BYTES = 256,
	IFACES_MAX = 16
};

#define UNPRIVILEGED_START "net.ipv4.ip_unprivileged_port_start"

const char *m0_tcp__root = "";

struct text {
	char  *tct_buf;
	size_t tct_at;
};

static void put(struct text *text, const char *fmt, ...) M0_PRINTF(2, 3);

static void put(struct text *text, const char *fmt, ...)
{
	size_t  room = M0_LND_WHY_BYTES - text->tct_at;
	va_list args;
	int     nr;

	va_start(args, fmt);
	nr = vsnprintf(text->tct_buf + text->tct_at, room, fmt, args);
	va_end(args);
	text->tct_at += min64u((uint64_t)max64(nr, 0), room - 1);
}

static const char *own_path(char buf[PATH_BYTES])
{
	ssize_t nr = readlink("/proc/self/exe", buf, PATH_BYTES - 1);

	if (nr <= 0)
		return "PROGRAM";
	buf[nr] = 0;
	return buf;
}

/* Returns the first port that needs no privilege; -1: unknown. */
static int unprivileged_start(void)
{
	char    buf[16];
	ssize_t nr = -1;
	int     fd = open("/proc/sys/net/ipv4/ip_unprivileged_port_start",
			  O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		nr = read(fd, buf, sizeof buf - 1);
		(void)close(fd);
	}
	if (nr <= 0)
		return -1;
	buf[nr] = 0;
	return atoi(buf);
}

/* How to get at a port below 1024. */
static void put_privilege(struct text *text, uint16_t port)
{
	char path[PATH_BYTES];
	int  start = unprivileged_start();

	put(text,
	    "any of these helps:\n"
	    "- the capability CAP_NET_BIND_SERVICE for the program:\n"
	    "  setcap cap_net_bind_service=+ep %s\n",
	    own_path(path));
	put(text, "- leave ports from %u to everybody:\n  sysctl %s=%u",
	    min_check(port, (uint16_t)512), UNPRIVILEGED_START,
	    min_check(port, (uint16_t)512));
	if (start >= 0)
		put(text, " (it is %d)", start);
	put(text, "\n");
}

static void put_ifaces(struct text *text, uint8_t bytes_nr)
{
	struct m0_host_iface ifaces[IFACES_MAX];
	char                 buf[M0_TCP_TEXT_BYTES];
	int                  nr = m0_tcp__ifaces(ifaces, IFACES_MAX);
	int                  i;

	put(text, "addresses of this machine:");
	for (i = 0; i < nr && i < IFACES_MAX; ++i) {
		if (ifaces[i].sif_addr.sa_bytes_nr == bytes_nr &&
		    !ifaces[i].sif_is_link_local)
			put(text, " %s (%s)",
			    m0_tcp__addr_text(&ifaces[i].sif_addr, buf),
			    ifaces[i].sif_name);
	}
	put(text, "\n");
}

static bool kernel_has_lnet(void)
{
	static const char *const signs[] = { "/sys/module/lnet",
					     "/proc/sys/lnet",
					     "/sys/kernel/debug/lnet" };
	char                     path[PATH_BYTES];
	size_t                   i;

	for (i = 0; i < ARRAY_SIZE(signs); ++i) {
		(void)snprintf(path, sizeof path, "%s%s", m0_tcp__root,
			       signs[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* Tables of the kernel's NIDs: a head line, then a line for each NID, first. */
static bool table_has(const char *name, const char *nid)
{
	char   path[PATH_BYTES];
	char   line[LINE_BYTES];
	size_t len = strlen(nid);
	bool   found = false;
	FILE  *file;

	(void)snprintf(path, sizeof path, "%s%s", m0_tcp__root, name);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof line, file) != NULL)
		found = strncmp(line, nid, len) == 0 &&
			strchr(" \t\n", line[len]) != NULL;
	(void)fclose(file);
	return found;
}

bool m0_tcp__kernel_has_nid(const char *nid, char *why)
{
	struct text text = { .tct_buf = why };

	if (!table_has("/sys/kernel/debug/lnet/nis", nid) &&
	    !table_has("/proc/sys/lnet/nis", nid))
		return false;
	put(&text,
	    "the kernel's LNet of this machine is %s as well: peers would take "
	    "the one for the other, started anew, and drop its connections. "
	    "Any of these helps:\n"
	    "- another address of this machine for this node\n"
	    "- a network namespace with an address of its own\n"
	    "- take the NID from the kernel's: lnetctl net del, or all of it "
	    "away: lustre_rmmod\n"
	    "- to ask other nodes, the kernel's: lnetctl ping",
	    nid);
	return true;
}

#define IN_NAMESPACE                                                          \
	"- a network namespace with an address of its own (ip link add link " \
	"DEVICE type ipvlan mode l2); processes outside attach to its node: " \
	"colibri node --attach there, and M0_LNET=attach"

static void put_in_use(struct text *text, const struct m0_host_addr *addr)
{
	char buf[M0_TCP_TEXT_BYTES];

	if (!kernel_has_lnet()) {
		put(text,
		    "another process listens there; to see which, run\n"
		    "  ss -ltnp 'sport = :%u'\n"
		    "Any of these helps:\n"
		    "- stop it, or, if it is `colibri node --attach', use its "
		    "node: M0_LNET=attach\n"
		    "- another address: ip address add, and --net "
		    "'tcp(ADDRESS)'\n" IN_NAMESPACE,
		    addr->sa_port);
		return;
	}
	put(text,
	    "the kernel's LNet is loaded, and most likely listens there.\n"
	    "A node is known by its address, so two cannot share one. Any of "
	    "these helps:\n"
	    "- another address than %s for this node (ip address add); not "
	    "with Lustre up to 2.16, which listens at all addresses\n" IN_NAMESPACE
	    "\n"
	    "- unload the kernel's: lustre_rmmod\n"
	    "- another port (lc_port), with all peers configured alike "
	    "(accept_port)",
	    m0_tcp__addr_text(addr, buf));
}

static bool is_loopback(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 4 && addr->sa_bytes[0] == 127;
}

/* Reasons that have nothing to do with ports. */
static void put_other(struct text *text, const struct m0_streams_cfg *cfg,
		      const struct m0_host_addr *addr, int rc)
{
	if (rc == -EADDRNOTAVAIL)
		put_ifaces(text, addr->sa_bytes_nr);
	else if (rc == -ENOENT && cfg->sic_congestion[0] != 0)
		put(text,
		    "congestion control \"%.15s\" is not there; what is, shows\n"
		    "  sysctl net.ipv4.tcp_available_congestion_control",
		    cfg->sic_congestion);
	else if (rc == -EPERM && cfg->sic_congestion[0] != 0)
		put(text,
		    "congestion control \"%.15s\" may be restricted; what is "
		    "allowed, shows\n"
		    "  sysctl net.ipv4.tcp_allowed_congestion_control",
		    cfg->sic_congestion);
	else if (rc == -EINVAL && is_loopback(addr))
		put(text, "from an address of the loopback only this machine "
			  "can be reached; the node needs another interface");
	else if (rc == -EAFNOSUPPORT)
		put(text, "this host has no %s",
		    addr->sa_bytes_nr == 4 ? "IPv4" : "IPv6");
	else if (M0_IN(rc, (-EMFILE, -ENFILE)))
		put(text, "too many open files: raise the limit (ulimit -n)");
}

static void text_end(struct text *text)
{
	while (text->tct_at > 0 && text->tct_buf[text->tct_at - 1] == '\n')
		text->tct_buf[--text->tct_at] = 0;
}

void m0_tcp__why_listen(char *why, const struct m0_streams_cfg *cfg,
			const struct m0_host_addr *addr, int rc)
{
	struct text text = { .tct_buf = why };
	char        buf[M0_TCP_TEXT_BYTES];

	put(&text, "cannot listen at %s port %u: %s\n",
	    m0_tcp__addr_text(addr, buf), addr->sa_port, m0_errname(rc));
	if (rc == -EACCES && addr->sa_port <= PRIVILEGED_PORT_MAX) {
		put(&text, "ports below 1024 need a privilege; ");
		put_privilege(&text, addr->sa_port);
		put(&text,
		    "- another port (lc_port), if all peers use it as well\n"
		    "- no listener (lc_accept none): then no peer can connect "
		    "to this node. Peers with accept=all let it connect from "
		    "any port (lc_src_port_min and _max 0), but take each "
		    "connection for a peer of its own, with another PID");
	} else if (rc == -EADDRINUSE) {
		put_in_use(&text, addr);
	} else {
		put_other(&text, cfg, addr, rc);
	}
	text_end(&text);
}

void m0_tcp__why_dial(char *why, const struct m0_streams_cfg *cfg,
		      const struct m0_host_addr *from, uint16_t port_min,
		      uint16_t port_max, const struct m0_host_addr *to, int rc)
{
	struct text text = { .tct_buf = why };
	char        buf[M0_TCP_TEXT_BYTES];

	put(&text, "cannot connect from %s", m0_tcp__addr_text(from, buf));
	if (port_max != 0)
		put(&text, " port %u-%u", port_min, port_max);
	put(&text, " to %s port %u: %s\n", m0_tcp__addr_text(to, buf),
	    to->sa_port, m0_errname(rc));
	if (rc == -EACCES && port_max != 0 && port_min <= PRIVILEGED_PORT_MAX) {
		put(&text,
		    "peers with accept=secure are spoken to from ports below "
		    "1024 only, which need a privilege; ");
		put_privilege(&text, port_min);
		put(&text,
		    "- accept=all at the peers, and any source port here "
		    "(lc_src_port_min and _max 0): then they take each "
		    "connection for a peer of its own, with another PID, and "
		    "never connect to this node");
	} else if (rc == -EADDRINUSE) {
		put(&text, "all of these ports are in use there: close "
			   "connections, or widen the range (lc_src_port_min)");
	} else {
		put_other(&text, cfg, from, rc);
	}
	text_end(&text);
}
