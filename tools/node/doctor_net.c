/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Checks by sockets: name, route, TCP connection. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor.h"
#include "../base/cmd.h"

enum {
	NAME_MS = 2000,
	TCP_MS = 2000,
	/** Connections that are being made at a time. */
	SCAN_NR = 128,
	HOST_BYTES = 256
};

/* --------------------------------------------------------------------- name */

/** A look-up, which may outlast its caller. */
struct doctor_look {
	struct gaicb    dlk_ask;
	struct addrinfo dlk_hints;
	char            dlk_host[HOST_BYTES];
};

/* Looks a name up, for a bounded time. @return 0, or an error of getaddrinfo(). */
static int resolve(const struct doctor *doctor, const char *host,
		   char ret[INET6_ADDRSTRLEN])
{
	struct doctor_look *look = calloc(1, sizeof *look);
	struct gaicb       *asks[1];
	uint64_t            ms = doctor_left_ms(doctor, NAME_MS);
	struct timespec     wait = { .tv_sec = (time_t)(ms / 1000),
				     .tv_nsec = (long)(ms % 1000) * 1000000 };
	int                 rc;

	if (look == NULL)
		return EAI_MEMORY;
	snprintf(look->dlk_host, sizeof look->dlk_host, "%s", host);
	look->dlk_hints.ai_socktype = SOCK_STREAM;
	look->dlk_ask.ar_name = look->dlk_host;
	look->dlk_ask.ar_request = &look->dlk_hints;
	asks[0] = &look->dlk_ask;
	rc = getaddrinfo_a(GAI_NOWAIT, asks, 1, NULL);
	if (rc == 0) {
		(void)gai_suspend((const struct gaicb *const *)asks, 1, &wait);
		rc = gai_error(&look->dlk_ask);
		/* A look-up that goes on writes to it, for as long as it likes. */
		if (rc == EAI_INPROGRESS &&
		    gai_cancel(&look->dlk_ask) != EAI_CANCELED)
			return EAI_AGAIN;
	}
	if (rc == 0) {
		rc = getnameinfo(look->dlk_ask.ar_result->ai_addr,
				 look->dlk_ask.ar_result->ai_addrlen, ret,
				 INET6_ADDRSTRLEN, NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(look->dlk_ask.ar_result);
	}
	free(look);
	return rc == EAI_INPROGRESS ? EAI_AGAIN : rc;
}

/* The IP address in the NID. */
static void addr_of_nid(struct doctor *doctor)
{
	const struct m0_lnet_nid *nid = &doctor->dtr_nid;
	in_port_t port = htons(doctor->dtr_opts.nop_cfg.lc_port);

	M0_SET0(&doctor->dtr_addr);
	doctor->dtr_addr_size = 0;
	if (!M0_IN(nid->ln_type, (M0_LNET_TYPE_TCP, M0_LNET_TYPE_O2IB)))
		return;
	if (nid->ln_size == 0) {
		doctor->dtr_addr.dad_v4.sin_family = AF_INET;
		doctor->dtr_addr.dad_v4.sin_port = port;
		memcpy(&doctor->dtr_addr.dad_v4.sin_addr, nid->ln_addr, 4);
		doctor->dtr_addr_size = sizeof doctor->dtr_addr.dad_v4;
	} else {
		doctor->dtr_addr.dad_v6.sin6_family = AF_INET6;
		doctor->dtr_addr.dad_v6.sin6_port = port;
		memcpy(&doctor->dtr_addr.dad_v6.sin6_addr, nid->ln_addr, 16);
		doctor->dtr_addr_size = sizeof doctor->dtr_addr.dad_v6;
	}
}

static bool name_resolve(struct doctor *doctor, const char *at)
{
	char host[HOST_BYTES];
	char addr[INET6_ADDRSTRLEN];
	char text[INET6_ADDRSTRLEN + 32];
	int  rc;

	snprintf(host, sizeof host, "%.*s", (int)(at - doctor->dtr_operand),
		 doctor->dtr_operand);
	rc = resolve(doctor, host, addr);
	if (rc != 0) {
		doctor_note(doctor, DOCTOR_NAME, DOCTOR_FAIL, "'%s': %s", host,
			    gai_strerror(rc));
		doctor_remedy(
			doctor, DOCTOR_NAME,
			"give the address of the host, as 10.0.0.1@tcp, or "
			"enter the name into DNS or /etc/hosts");
		return false;
	}
	snprintf(text, sizeof text, "%s%.30s", addr, at);
	if (m0_lnet_nid_parse(&doctor->dtr_nid, text) != 0) {
		doctor_note(doctor, DOCTOR_NAME, DOCTOR_FAIL, "'%s' is no NID",
			    text);
		doctor_remedy(doctor, DOCTOR_NAME,
			      "write the network as tcp, tcp1 or o2ib");
		return false;
	}
	doctor_note(doctor, DOCTOR_NAME, DOCTOR_OK, "%s is %s", host, addr);
	return true;
}

bool doctor_name_check(struct doctor *doctor)
{
	const char *at = strrchr(doctor->dtr_operand, '@');
	bool        done;

	if (m0_lnet_nid_parse(&doctor->dtr_nid, doctor->dtr_operand) == 0) {
		doctor_note(doctor, DOCTOR_NAME, DOCTOR_OK, "a NID");
		done = true;
	} else if (at == NULL || at == doctor->dtr_operand ||
		   at - doctor->dtr_operand >= HOST_BYTES) {
		doctor_note(doctor, DOCTOR_NAME, DOCTOR_FAIL,
			    "'%.200s' is no NID", doctor->dtr_operand);
		doctor_remedy(doctor, DOCTOR_NAME,
			      "write ADDRESS@NETWORK or HOST@NETWORK, as "
			      "10.0.0.1@tcp");
		done = false;
	} else {
		done = name_resolve(doctor, at);
	}
	if (!done)
		return false;
	addr_of_nid(doctor);
	(void)m0_lnet_nid_print(&doctor->dtr_nid, doctor->dtr_nid_text,
				sizeof doctor->dtr_nid_text);
	return true;
}

/* -------------------------------------------------------------------- route */

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a == NULL || a->sa_family != b->sa_family)
		return false;
	return a->sa_family == AF_INET
		       ? memcmp(&((const struct sockaddr_in *)(const void *)a)
					 ->sin_addr,
				&((const struct sockaddr_in *)(const void *)b)
					 ->sin_addr,
				4) == 0
		       : memcmp(&((const struct sockaddr_in6 *)(const void *)a)
					 ->sin6_addr,
				&((const struct sockaddr_in6 *)(const void *)b)
					 ->sin6_addr,
				16) == 0;
}

static unsigned mtu_of(int fd, const char *device)
{
	struct ifreq ifr;

	M0_SET0(&ifr);
	snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%s", device);
	return ioctl(fd, SIOCGIFMTU, &ifr) == 0 ? (unsigned)ifr.ifr_mtu : 0;
}

/* The device that has the source address. */
static void device_note(struct doctor *doctor, int fd,
			const union doctor_addr *source)
{
	char            host[INET6_ADDRSTRLEN] = "?";
	struct ifaddrs *all = NULL;
	struct ifaddrs *one;

	(void)getnameinfo(&source->dad_any, doctor->dtr_addr_size, host,
			  sizeof host, NULL, 0, NI_NUMERICHOST);
	(void)getifaddrs(&all);
	for (one = all; one != NULL; one = one->ifa_next)
		if (is_same_host(one->ifa_addr, &source->dad_any))
			break;
	if (one == NULL) {
		doctor_note(doctor, DOCTOR_ROUTE, DOCTOR_OK, "from %s", host);
	} else {
		doctor->dtr_device_mtu = mtu_of(fd, one->ifa_name);
		doctor_note(doctor, DOCTOR_ROUTE,
			    (one->ifa_flags & IFF_RUNNING) != 0 ? DOCTOR_OK
								: DOCTOR_FAIL,
			    "from %s on %s, MTU %u%s", host, one->ifa_name,
			    doctor->dtr_device_mtu,
			    (one->ifa_flags & IFF_RUNNING) != 0
				    ? ""
				    : ", which has no link");
		if ((one->ifa_flags & IFF_RUNNING) == 0)
			doctor_remedy(doctor, DOCTOR_ROUTE,
				      "connect the cable, or `ip link set %s "
				      "up'",
				      one->ifa_name);
	}
	if (all != NULL)
		freeifaddrs(all);
}

void doctor_route_check(struct doctor *doctor)
{
	union doctor_addr source;
	socklen_t         size = sizeof source;
	int               fd;

	if (doctor->dtr_addr_size == 0 || doctor->dtr_is_routed) {
		doctor_note(doctor, DOCTOR_ROUTE, DOCTOR_SKIPPED, "%s",
			    doctor->dtr_is_routed
				    ? "messages go through a router"
				    : "the NID has no IP address");
		return;
	}
	M0_SET0(&source);
	fd = socket(doctor->dtr_addr.dad_any.sa_family,
		    SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, &doctor->dtr_addr.dad_any, doctor->dtr_addr_size) !=
		    0 ||
	    getsockname(fd, &source.dad_any, &size) != 0) {
		doctor_note(doctor, DOCTOR_ROUTE, DOCTOR_FAIL,
			    "this host has no route to the address: %s",
			    tool_errtext(errno));
		doctor_remedy(
			doctor, DOCTOR_ROUTE,
			"look at `ip route' and `ip address'; a NID behind "
			"an LNet router needs `colibri route add' alone");
	} else {
		device_note(doctor, fd, &source);
	}
	if (fd >= 0)
		(void)close(fd);
}

/* ---------------------------------------------------------------------- TCP */

/* @return 0, or an errno. */
static int connect_within(const struct doctor *doctor, int fd)
{
	struct pollfd wait = { fd, POLLOUT, 0 };
	socklen_t     size = sizeof(int);
	int           error = 0;
	int           rc;

	if (connect(fd, &doctor->dtr_addr.dad_any, doctor->dtr_addr_size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	rc = poll(&wait, 1, (int)doctor_left_ms(doctor, TCP_MS));
	if (rc <= 0)
		return rc == 0 ? ETIMEDOUT : errno;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		return errno;
	return error;
}

static void tcp_failed(struct doctor *doctor, int error)
{
	unsigned port = doctor->dtr_opts.nop_cfg.lc_port;

	doctor_note(doctor, DOCTOR_TCP, DOCTOR_FAIL, "port %u: %s", port,
		    tool_errtext(error));
	if (error == ECONNREFUSED)
		doctor_remedy(
			doctor, DOCTOR_TCP,
			"nothing listens there: start LNet on the peer, or "
			"look which port it has (--port of a node)");
	else if (error == ETIMEDOUT)
		doctor_remedy(
			doctor, DOCTOR_TCP,
			"the host is down, or a firewall drops packets to "
			"port %u: `nft list ruleset' on both hosts",
			port);
	else
		doctor_remedy(doctor, DOCTOR_TCP,
			      "look at `ip route get', and whether the host is "
			      "up");
}

/* Notes the MTU of the path, as the connection knows it. */
static void mtu_note(struct doctor *doctor, int fd)
{
	bool      is_v6 = doctor->dtr_addr.dad_any.sa_family == AF_INET6;
	socklen_t size = sizeof(int);
	int       mtu = 0;

	if (getsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
		       is_v6 ? IPV6_MTU : IP_MTU, &mtu, &size) != 0) {
		doctor_note(doctor, DOCTOR_MTU, DOCTOR_SKIPPED,
			    "the kernel does not know it");
	} else if ((unsigned)mtu <
		   min_check(doctor->dtr_device_mtu, (unsigned)UINT16_MAX)) {
		doctor_note(doctor, DOCTOR_MTU, DOCTOR_WARN,
			    "%d on the path, %u on the device", mtu,
			    doctor->dtr_device_mtu);
		doctor_remedy(
			doctor, DOCTOR_MTU,
			"give all devices and switches of the network the "
			"same MTU");
	} else {
		doctor_note(doctor, DOCTOR_MTU, DOCTOR_OK, "%d", mtu);
	}
}

void doctor_tcp_check(struct doctor *doctor)
{
	int fd;
	int error;

	if (doctor->dtr_addr_size == 0 || doctor->dtr_is_routed ||
	    doctor->dtr_nid.ln_type != M0_LNET_TYPE_TCP) {
		doctor_note(doctor, DOCTOR_TCP, DOCTOR_SKIPPED, "%s",
			    doctor->dtr_is_routed
				    ? "messages go through a router"
				    : "the network is not tcp");
		return;
	}
	if (doctor->dtr_scanned > 0) {
		tcp_failed(doctor, doctor->dtr_scanned);
		return;
	}
	fd = socket(doctor->dtr_addr.dad_any.sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = fd < 0 ? errno : connect_within(doctor, fd);
	if (error != 0) {
		tcp_failed(doctor, error);
	} else {
		doctor_note(doctor, DOCTOR_TCP, DOCTOR_OK, "port %u accepts",
			    doctor->dtr_opts.nop_cfg.lc_port);
		mtu_note(doctor, fd);
	}
	if (fd >= 0)
		(void)close(fd);
}

/* --------------------------------------------------------------- many at once */

/* Begins a connection. @return the descriptor; -1: `*error` is the outcome. */
static int scan_begin(struct doctor *doctor, const struct m0_lnet_nid *nid,
		      int *error)
{
	int fd = -1;

	doctor->dtr_nid = *nid;
	addr_of_nid(doctor);
	*error = -1;
	if (doctor->dtr_addr_size == 0 || nid->ln_type != M0_LNET_TYPE_TCP)
		return -1;
	fd = socket(doctor->dtr_addr.dad_any.sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	*error = connect(fd, &doctor->dtr_addr.dad_any,
			 doctor->dtr_addr_size) == 0
			 ? 0
			 : errno;
	if (*error == EINPROGRESS)
		return fd;
	(void)close(fd);
	return -1;
}

static void scan_end(struct pollfd *wait, int *error)
{
	socklen_t size = sizeof *error;

	if (wait->revents == 0)
		*error = ETIMEDOUT;
	else if (getsockopt(wait->fd, SOL_SOCKET, SO_ERROR, error, &size) != 0)
		*error = errno;
	(void)close(wait->fd);
	wait->fd = -1;
}

static void scan_part(struct doctor *doctor, const struct m0_lnet_nid *nids,
		      unsigned nr, int *errors)
{
	struct pollfd waits[SCAN_NR];
	m0_time_t until = m0_time_add(m0_time_now(), TCP_MS * M0_TIME_ONE_MSEC);
	unsigned  left = 0;
	m0_time_t now;
	unsigned  i;

	for (i = 0; i < nr; ++i) {
		waits[i] = (struct pollfd){
			scan_begin(doctor, &nids[i], &errors[i]), POLLOUT, 0
		};
		left += waits[i].fd >= 0 ? 1 : 0;
	}
	while (left > 0 && (now = m0_time_now()) < until) {
		(void)poll(waits, nr,
			   (int)((until - now) / M0_TIME_ONE_MSEC) + 1);
		for (i = 0; i < nr; ++i) {
			if (waits[i].fd < 0 || waits[i].revents == 0)
				continue;
			scan_end(&waits[i], &errors[i]);
			--left;
		}
	}
	for (i = 0; i < nr; ++i)
		if (waits[i].fd >= 0)
			scan_end(&waits[i], &errors[i]);
}

void doctor_tcp_scan(struct doctor *doctor, const struct m0_lnet_nid *nids,
		     unsigned nr, int *errors)
{
	unsigned i;

	for (i = 0; i < nr; i += SCAN_NR)
		scan_part(doctor, nids + i,
			  min_check(nr - i, (unsigned)SCAN_NR), errors + i);
}
