/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lnd/verbs/verbs_internal.h"

enum {
	PRIVILEGED_PORT_MAX = 1023,
	DEPTH_MAX = 255,
	/** Work requests for one message of a queue, with what follows it. */
	WRS_EACH = 8
};

void m0_verbs__sockaddr(const struct m0_host_addr *addr, uint16_t port,
			struct sockaddr_in *ret)
{
	M0_PRE(addr->sa_bytes_nr == sizeof ret->sin_addr);
	M0_SET0(ret);
	ret->sin_family = AF_INET;
	ret->sin_port = htons(port);
	memcpy(&ret->sin_addr, addr->sa_bytes, sizeof ret->sin_addr);
}

void m0_verbs__why(char *why, const char *what, size_t bytes, int rc)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (rc == -ENOMEM && limit.rlim_cur != RLIM_INFINITY)
		(void)snprintf(
			why, M0_LND_WHY_BYTES,
			"cannot make %s of %zu bytes (%s): the limit of locked "
			"memory is %llu KiB, and registered memory counts; raise "
			"it (ulimit -l, LimitMEMLOCK= of systemd, --ulimit "
			"memlock=-1 of a container)",
			what, bytes, m0_errname(rc),
			(unsigned long long)limit.rlim_cur >> 10);
	else
		(void)snprintf(why, M0_LND_WHY_BYTES, "cannot make %s (%s)",
			       what, m0_errname(rc));
}

/* Returns what is wrong with an address, and how to correct it. */
static const char *bind_remedy(const struct m0_host_addr *addr, int rc)
{
	switch (rc) {
	case -EADDRNOTAVAIL:
		return "no interface has this IPv4 address; net o2ib needs one "
		       "on the interface of the RDMA device";
	case -ENODEV:
		return "no RDMA device is behind the interface of this address, "
		       "or /dev/infiniband/uverbs* cannot be read and written; "
		       "ibv_devinfo lists devices, and for soft-RoCE: rdma link "
		       "add rxe0 type rxe netdev DEVICE";
	case -EACCES:
	case -EPERM:
		return addr->sa_port <= PRIVILEGED_PORT_MAX
			       ? "a port below 1024 needs CAP_NET_BIND_SERVICE in "
				 "the initial user namespace: setcap "
				 "cap_net_bind_service+ep, or AmbientCapabilities= "
				 "of systemd; root inside a user namespace does "
				 "not have it"
			       : "/dev/infiniband/rdma_cm or uverbs* cannot be "
				 "read and written";
	case -EADDRINUSE:
		return "another node of this host, or the kernel's LNet, has it; "
		       "lnetctl net del, or another service port";
	default:
		return "see ibv_devinfo and rdma link";
	}
}

int m0_verbs__port_why(const struct m0_o2ib_port *port, char *why, int rc)
{
	const uint8_t *ip = port->ort_addr.sa_bytes;

	(void)snprintf(why, M0_LND_WHY_BYTES,
		       "cannot use %u.%u.%u.%u service %u for RDMA (%s): %s",
		       ip[0], ip[1], ip[2], ip[3], port->ort_addr.sa_port,
		       m0_errname(rc), bind_remedy(&port->ort_addr, rc));
	return rc;
}

/* A RoCE address without GID: the interface was down when it got its address. */
static bool has_gid(const struct rdma_cm_id *id)
{
	static const union ibv_gid none;

	return memcmp(&id->route.addr.addr.ibaddr.sgid, &none, sizeof none) !=
	       0;
}

static bool is_active(const struct m0_verbs_port *vbp)
{
	struct ibv_port_attr attr;

	return ibv_query_port(vbp->vbp_hca->vhc_context, vbp->vbp_port_nr,
			      &attr) == 0 &&
	       attr.state == IBV_PORT_ACTIVE;
}

static void limits_set(struct m0_verbs_port *vbp)
{
	const struct ibv_device_attr *attr = &vbp->vbp_hca->vhc_attr;
	struct m0_o2ib_port          *port = vbp->vbp_port;

	M0_PRE(vbp->vbp_hca != NULL);
	port->ort_depth_max = (uint16_t)min64u(
		DEPTH_MAX, (unsigned)attr->max_qp_wr / WRS_EACH);
	port->ort_sges_max =
		(uint16_t)min64u(M0_VERBS_SGES_MAX, (unsigned)attr->max_sge);
	port->ort_inline_max = M0_VERBS_INLINE_BYTES;
	(void)snprintf(port->ort_device, sizeof port->ort_device, "%s",
		       ibv_get_device_name(vbp->vbp_hca->vhc_context->device));
	port->ort_is_gone = false;
	port->ort_is_up = is_active(vbp);
}

int m0_verbs__gid_why(const char *device, char *why)
{
	(void)snprintf(why, M0_LND_WHY_BYTES,
		       "device %s has no GID for the address: set the "
		       "interface up, then give it the address again",
		       device);
	return -EADDRNOTAVAIL;
}

/* @retval <0  `why` says why. */
static int id_bind(struct m0_verbs_port *vbp, char *why)
{
	struct m0_o2ib_port *port = vbp->vbp_port;
	struct rdma_cm_id   *id = vbp->vbp_id;
	struct sockaddr_in   addr;

	m0_verbs__sockaddr(&port->ort_addr,
			   port->ort_listens ? port->ort_addr.sa_port : 0,
			   &addr);
	if (rdma_bind_addr(id, (struct sockaddr *)&addr) != 0)
		return m0_verbs__port_why(port, why, -errno);
	if (id->verbs == NULL)
		return m0_verbs__port_why(port, why, -ENODEV);
	if (!has_gid(id))
		return m0_verbs__gid_why(ibv_get_device_name(id->verbs->device),
					 why);
	vbp->vbp_port_nr = id->port_num;
	vbp->vbp_hca = m0_verbs__hca_get(vbp->vbp_dev, id->verbs, why);
	if (vbp->vbp_hca == NULL)
		return -ENOMEM;
	if (port->ort_listens && rdma_listen(id, M0_VERBS_BACKLOG) != 0)
		return m0_verbs__port_why(port, why, -errno);
	return 0;
}

int m0_verbs__port_open(struct m0_o2ib_dev *odv, struct m0_o2ib_port *port,
			char *why)
{
	struct m0_verbs_dev  *dev = m0_verbs__dev(odv);
	struct m0_verbs_port *vbp;
	int                   rc;

	M0_ALLOC_PTR(vbp);
	if (vbp == NULL) {
		m0_verbs__why(why, "a port", sizeof *vbp, -ENOMEM);
		return -ENOMEM;
	}
	m0_list_link_init(&vbp->vbp_link);
	vbp->vbp_dev = dev;
	vbp->vbp_port = port;
	if (rdma_create_id(dev->vdv_channel, &vbp->vbp_id, vbp, RDMA_PS_TCP) !=
	    0) {
		rc = m0_verbs__port_why(port, why, -errno);
		m0_free(vbp);
		return rc;
	}
	rc = id_bind(vbp, why);
	if (rc != 0) {
		(void)rdma_destroy_id(vbp->vbp_id);
		m0_free(vbp);
		return rc;
	}
	limits_set(vbp);
	port->ort_priv = vbp;
	m0_list_add_tail(&dev->vdv_ports, &vbp->vbp_link);
	return 0;
}

void m0_verbs__port_deaf(struct m0_o2ib_dev *odv, struct m0_o2ib_port *port)
{
	struct m0_verbs_port *vbp = port->ort_priv;

	(void)odv;
	if (vbp->vbp_id != NULL)
		(void)rdma_destroy_id(vbp->vbp_id);
	vbp->vbp_id = NULL;
}

void m0_verbs__port_close(struct m0_o2ib_dev *odv, struct m0_o2ib_port *port)
{
	struct m0_verbs_port *vbp = port->ort_priv;

	m0_verbs__port_deaf(odv, port);
	m0_list_del(&vbp->vbp_link);
	m0_free(vbp);
	port->ort_priv = NULL;
}

void m0_verbs__ports_look(struct m0_verbs_hca *hca)
{
	struct m0_verbs_dev *dev = hca->vhc_dev;
	struct m0_list_link *pos;
	struct m0_list_link *next;

	m0_list_for_each_safe(&dev->vdv_ports, pos, next) {
		struct m0_verbs_port *vbp =
			m0_list_entry(pos, struct m0_verbs_port, vbp_link);
		struct m0_o2ib_port *port = vbp->vbp_port;
		bool                 is_up;

		if (vbp->vbp_hca != hca || port->ort_is_gone)
			continue;
		is_up = is_active(vbp);
		if (is_up == port->ort_is_up)
			continue;
		port->ort_is_up = is_up;
		m0_verbs__up(dev)->odu_port(port);
	}
}

void m0_verbs__ports_gone(struct m0_verbs_hca *hca)
{
	struct m0_verbs_dev *dev = hca->vhc_dev;
	struct m0_list_link *pos;
	struct m0_list_link *next;

	m0_list_for_each_safe(&dev->vdv_ports, pos, next) {
		struct m0_verbs_port *vbp =
			m0_list_entry(pos, struct m0_verbs_port, vbp_link);
		struct m0_o2ib_port *port = vbp->vbp_port;

		if (vbp->vbp_hca != hca || port->ort_is_gone)
			continue;
		port->ort_is_up = false;
		port->ort_is_gone = true;
		m0_verbs__up(dev)->odu_port(port);
	}
}
