/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The contents of a configuration: interfaces, routes, peers, parameters. It is read from
 * lnet.conf (YAML), from `options` lines of modprobe.d, or from a running node.
 */
#ifndef M0_TOOLS_CONF_MODEL_H
#define M0_TOOLS_CONF_MODEL_H

#include <netinet/in.h>
#include <stdio.h>

#include "m0/lnet_cfg.h"
#include "m0/lnet_udsp.h"
#include "m0/lnet_nid.h"

#include "conf_schema.h"

enum {
	CONF_TUN_FIRST = CONF_PEER_TIMEOUT,
	CONF_TUNS_NR = CONF_GET_REQ - CONF_PEER_TIMEOUT + 1,
	CONF_SETS_NR = CONF_SETS_END - CONF_SETS,
	CONF_NOTES_MAX = 16,
	CONF_LOCALS_MAX = 64
};

#define CONF_NEVER UINT32_MAX

/** An interface of a network. */
struct conf_ni {
	struct conf_place cni_place;
	uint32_t          cni_net;
	/** Device, or address; "" if there is none. */
	char cni_iface[M0_LNET_CFG_NAME_BYTES];
	/** Address of the NID; "" if none is given. */
	char cni_addr[M0_LNET_CFG_NAME_BYTES];
	/** In the order of enum conf_id; 0: not given. CONF_NEVER is a 0 that is given:
	 * no keepalive, the type of service 0, and no GETs that name their memory. */
	uint32_t cni_tuns[CONF_TUNS_NR];
};

struct conf_route {
	struct conf_place         crt_place;
	struct m0_lnet_route_attr crt_attr;
};

struct conf_peer {
	struct conf_place   cpe_place;
	struct m0_lnet_nid  cpe_primary;
	struct m0_lnet_nid *cpe_nids;
	unsigned            cpe_nids_nr;
	bool                cpe_multi_rail;
	/** False: an export says that the node found the peer by itself. */
	bool cpe_configured;
};

struct conf_udsp {
	struct conf_place   cud_place;
	struct m0_lnet_udsp cud_rule;
};

struct conf_set {
	bool              cst_given;
	uint64_t          cst_value;
	struct conf_place cst_place;
};

/** Something known that has no effect here. */
struct conf_note {
	struct conf_place cnt_place;
	char              cnt_text[160];
};

struct conf_model {
	/** Bits 1 << enum conf_id of the sections that are there. */
	unsigned           cmo_sections;
	struct conf_ni    *cmo_nis;
	unsigned           cmo_nis_nr;
	struct conf_route *cmo_routes;
	unsigned           cmo_routes_nr;
	struct conf_peer  *cmo_peers;
	unsigned           cmo_peers_nr;
	struct conf_udsp  *cmo_udsps;
	unsigned           cmo_udsps_nr;
	struct conf_set    cmo_sets[CONF_SETS_NR];
	struct conf_note   cmo_notes[CONF_NOTES_MAX];
	unsigned           cmo_notes_nr;
	/** Values for a node that starts, in the order of enum conf_start. */
	struct conf_set cmo_starts[CONF_STARTS_NR];
	/** The routes are those of the module parameter: one to a network of the
	 * node's own is left out. */
	bool cmo_is_modprobe;
};

/** An address of this host, for ip2nets. */
struct conf_local {
	char           cfl_iface[16];
	struct in_addr cfl_addr;
};

struct conf_locals {
	struct conf_local cfs_locals[CONF_LOCALS_MAX];
	unsigned          cfs_nr;
};

void conf_model_init(struct conf_model *model);
void conf_model_fini(struct conf_model *model);

/**
 * Reads a configuration: YAML, or lines of modprobe.d, which begin with a word as
 * `options`. Checks all that can be checked without a node.
 * @param locals  addresses of this host; NULL: look for them.
 * @retval -EINVAL  and `fail` has the place; the model is empty.
 * @retval -ENOMEM
 */
int conf_read(struct conf_model *model, const char *text, size_t nr,
	      const struct conf_locals *locals, struct conf_fail *fail);

/* Parts of conf_read(). */

int  conf_model_of_tree(struct conf_model *model, const struct conf_node *tree,
			const struct conf_locals *locals,
			struct conf_fail         *fail);
int  conf_model_of_modprobe(struct conf_model *model, const char *text,
			    size_t nr, const struct conf_locals *locals,
			    struct conf_fail *fail);
bool conf_is_modprobe(const char *text, size_t nr);
/** No rule may be there twice. */
int conf_udsps_check(const struct conf_model *model, struct conf_fail *fail);
/** Checks what the parts of the model are to each other. */
int  conf_model_check(struct conf_model *model, struct conf_fail *fail);
void conf_note(struct conf_model *model, const struct conf_place *place,
	       const char *fmt, ...) M0_PRINTF(3, 4);

/** Each adds an empty entry; NULL: no memory. */
struct conf_ni    *conf_ni_add(struct conf_model *model);
struct conf_route *conf_route_add(struct conf_model *model);
struct conf_peer  *conf_peer_add(struct conf_model *model);
struct conf_udsp  *conf_udsp_add(struct conf_model *model);
/** @return 0, or -ENOMEM. */
int conf_peer_nid_add(struct conf_peer *peer, const struct m0_lnet_nid *nid);

/** The NIs of one network as a network of m0_lnet_open(). */
void conf_net_cfg(const struct conf_model *model, uint32_t net,
		  struct m0_lnet_net_cfg *ret);
/** Returns the name of the interface: the address of its NID, which a device may have besides
 * others, or the device; "" if nothing does. */
const char *conf_ni_name(const struct conf_ni *ni);
/** Value of a tunable in cni_tuns, by its number in a file. */
uint32_t conf_tun_of(unsigned id, int64_t number);
/** Has the network that tunable? */
bool conf_net_has_tun(uint32_t net, unsigned id);
/** Parts of conf_net_cfg(). */
void conf_iface_put(struct m0_lnet_net_cfg *ret, const struct conf_ni *ni);
void conf_tuns_put(struct m0_lnet_net_cfg *ret,
		   const uint32_t          tuns[CONF_TUNS_NR]);
/** The address of a NID, without its network. */
void conf_addr_print(const struct m0_lnet_nid *nid,
		     char                      ret[M0_LNET_CFG_NAME_BYTES]);

/* -- conf_ip2nets.c -------------------------------------------------------- */

/** Finds the addresses of this host. */
void conf_locals_get(struct conf_locals *ret);
/**
 * Does an IPv4 expression, as 10.0.[1-3].*, match?
 * @retval 0, 1
 * @retval -EINVAL  it is no expression.
 */
int conf_ip_match(const char *pattern, struct in_addr addr);

/* -- conf_print.c ---------------------------------------------------------- */

/**
 * Prints the model as lnet.conf.
 * @param with_nids  as well the NIDs of interfaces, which an import does not need.
 * @retval -EIO, -ENOMEM
 */
int conf_print(const struct conf_model *model, bool with_nids, FILE *file);

#endif /* M0_TOOLS_CONF_MODEL_H */
