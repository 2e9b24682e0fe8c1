/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * User-defined selection policies (UDSP) of a node: rules that prefer networks,
 * interfaces, NIDs of peers, and gateways. Terms and forms are those of `lnetctl
 * udsp`.
 *
 * A rule has up to three ranges of NIDs and one action:
 *
 *	src alone    priority of interfaces, or (a network alone) of networks, of
 *	             this node
 *	dst alone    priority of NIDs, or (a network alone) of networks, of peers
 *	dst and src  messages to these NIDs prefer these interfaces
 *	dst and rte  messages to these NIDs prefer these gateways
 *
 * Lower numbers are better, and 0 is the best; what no rule names is worse than
 * any number. A rule never excludes a path: if what it prefers is down, or less
 * healthy, messages take another path. Of rules that give one thing different
 * priorities the first counts; preferences add up.
 *
 * The node applies the rules when they change, and to each interface, gateway and
 * peer that appears, so that a message costs the same with any number of rules. A
 * change that concerns many peers is applied to a few at a time, between messages.
 *
 * Text of a range is `ADDR@NET` or `NET`. Each part of an IPv4 address, and a
 * numeric address, is a number, `*`, or a list in brackets of numbers, `LO-HI` and
 * `LO-HI/STRIDE`. Other addresses are `*` (every address), `ADDR/BITS`, and an IPv6
 * address. The number of the network is a number, `*` or such a list; without it,
 * the number is 0. Examples: `tcp`, `tcp[1-3]`, `*@o2ib`, `10.0.[1-5/2,9].*@tcp2`,
 * `10.1.0.0/16@tcp`, `2001:db8::/32@tcp1`, `[1,5-8]@kfi`.
 */
#ifndef M0_LNET_UDSP_H
#define M0_LNET_UDSP_H

#include "m0/lnet.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Most ranges of numbers in a range of NIDs. */
	M0_LNET_RANGES_MAX = 32,
	/** Buffer for the text of a range of NIDs, with its NUL. */
	M0_LNET_NID_RANGE_BYTES = 1280,
	/** Buffer for the encoded form of any rule. */
	M0_LNET_UDSP_BYTES_MAX = 2048,
	/** Most rules of a node. */
	M0_LNET_UDSPS_MAX = 16384,
	/** lud_idx: behind all others. */
	M0_LNET_UDSP_LAST = -1
};

/** Priority of what no rule names. */
#define M0_LNET_PRIORITY_NONE UINT32_MAX

/** The numbers lo, lo + stride, lo + 2 * stride, ... up to hi. */
struct m0_lnet_range {
	uint32_t lrg_lo;
	uint32_t lrg_hi;
	uint32_t lrg_stride;
};

enum m0_lnet_nid_range_form {
	/** No range. */
	M0_LNET_NID_RANGE_NONE,
	/** Networks. */
	M0_LNET_NID_RANGE_NET,
	/** Every address of the networks, IPv6 or not. */
	M0_LNET_NID_RANGE_ALL,
	/** The parts of an IPv4 address, or a number. */
	M0_LNET_NID_RANGE_PARTS,
	/** A prefix of IPv6 addresses. */
	M0_LNET_NID_RANGE_PREFIX,
	M0_LNET_NID_RANGE_FORMS_NR
};

/** A range of NIDs. Fields that a form does not use are 0. */
struct m0_lnet_nid_range {
	/** enum m0_lnet_nid_range_form */
	uint8_t lnr_form;
	/** Type of the networks. */
	uint8_t lnr_type;
	/** Number of ranges of network numbers, the first in lnr_ranges; 0: the
	 * number is 0. */
	uint8_t lnr_nets_nr;
	/** PARTS: 4, or 1 of a numeric address. */
	uint8_t lnr_parts_nr;
	/** PARTS: the number of ranges of each, which follow in lnr_ranges. */
	uint8_t lnr_part_nr[4];
	/** PREFIX: in network order, and its length, 1 to 128. */
	uint8_t              lnr_prefix[M0_LNET_NID_ADDR_BYTES];
	uint32_t             lnr_prefix_bits;
	struct m0_lnet_range lnr_ranges[M0_LNET_RANGES_MAX];
};

enum m0_lnet_udsp_action {
	/** The action of a rule with src or dst alone. */
	M0_LNET_UDSP_PRIORITY = 1,
	/** The action of a rule with dst and src, or dst and rte. */
	M0_LNET_UDSP_PREFER = 2
};

/** A rule. */
struct m0_lnet_udsp {
	/** Place in the list; M0_LNET_UDSP_LAST, or beyond its end: the last. */
	int32_t lud_idx;
	/** enum m0_lnet_udsp_action */
	uint32_t lud_action;
	/** With M0_LNET_UDSP_PRIORITY; else 0. */
	uint32_t                 lud_priority;
	struct m0_lnet_nid_range lud_src;
	struct m0_lnet_nid_range lud_dst;
	struct m0_lnet_nid_range lud_rte;
};

/** A rule as text; NULL: not given. */
struct m0_lnet_udsp_text {
	const char *lut_src;
	const char *lut_dst;
	const char *lut_rte;
	/** Without it, src or dst alone have priority 0. */
	const char *lut_priority;
	const char *lut_idx;
};

/* -- ranges ---------------------------------------------------------------- */

/**
 * Parses a range.
 * @param why  buffer of M0_LNET_WHY_BYTES, or NULL: on failure it receives the place
 *             (a number of characters), what is wrong there, and what is accepted.
 * @retval -EINVAL  the text is none; `range` is unspecified.
 */
M0_EXTERN int m0_lnet_nid_range_parse(struct m0_lnet_nid_range *range,
				      const char *text, char *why);
/** Prints a range; m0_lnet_nid_range_parse() reads the text back. @return buf. */
M0_EXTERN char *m0_lnet_nid_range_print(const struct m0_lnet_nid_range *range,
					char *buf, size_t size);
/** Returns true if the NID is in the range. A range of the form NET has all NIDs of
 * its networks. */
M0_EXTERN bool m0_lnet_nid_range_has(const struct m0_lnet_nid_range *range,
				     const struct m0_lnet_nid       *nid);
/** Returns true if the network is one of those of the range. */
M0_EXTERN bool m0_lnet_nid_range_has_net(const struct m0_lnet_nid_range *range,
					 uint32_t                        net);

/* -- rules ----------------------------------------------------------------- */

/**
 * Makes a rule of texts.
 * @param why  as for m0_lnet_open(): field, value, and the accepted values.
 * @retval -EINVAL  the texts are no rule; `udsp` is unspecified.
 */
M0_EXTERN int m0_lnet_udsp_parse(struct m0_lnet_udsp            *udsp,
				 const struct m0_lnet_udsp_text *text,
				 char                           *why);
/**
 * Checks that the rule has one of the four forms, its ranges are ranges, and its
 * action is the one of the form.
 * @param why  as for m0_lnet_udsp_parse().
 * @retval -EINVAL
 */
M0_EXTERN int m0_lnet_udsp_check(const struct m0_lnet_udsp *udsp, char *why);

/**
 * Adds a rule, or inserts it before the one that has its index. If there is a rule
 * with these ranges and another priority, it gets the new priority, and stays where
 * it is.
 * @param why  as for m0_lnet_udsp_parse().
 * @retval -EINVAL    as for m0_lnet_udsp_check().
 * @retval -EALREADY  there is this rule.
 * @retval -ENOSPC    there are M0_LNET_UDSPS_MAX rules.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_udsp_add(struct m0_lnet            *lnet,
			       const struct m0_lnet_udsp *udsp, char *why);
/**
 * Deletes a rule. What remains has the effect that it would have had without the
 * rule.
 * @param idx  M0_LNET_UDSP_LAST: all rules.
 * @return number of rules that were deleted.
 * @retval -ENOENT  no rule has this index.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_udsp_del(struct m0_lnet *lnet, int32_t idx);
/**
 * Copies rules, in their order.
 * @param first  index of the first one to copy.
 * @param ret    array of `max` entries; further rules are left out.
 * @return number of rules of the node.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_udsp_get(struct m0_lnet *lnet, uint32_t first,
			       struct m0_lnet_udsp *ret, unsigned max);

/* -- encoded form ---------------------------------------------------------- */

/*
 * The encoded form is, in the byte order of the host, a header of 32 bytes (length
 * of all, version, index, action, length of what follows it, priority, and 8 bytes
 * of a pointer, which are written as 0 and ignored) and three descriptors, SRC, DST
 * and RTE in this order, of the tag, the number of parts of the address, the type of
 * network (0: no range) and the number of ranges of network numbers, 16 bytes in
 * all. After a descriptor come these ranges, and for each part the number of its
 * ranges, and the ranges.
 *
 * The tags are "SRC\0", "DST\0" and "RTE\0". A descriptor of an IPv6 prefix has tag
 * "SRC6", "DST6" or "RTE6" and one part, 16 bytes and the length; length 0 stands for
 * every address.
 */

/** Returns the bytes of the encoded form. Pre: m0_lnet_udsp_check() accepts it. */
M0_EXTERN uint32_t m0_lnet_udsp_size(const struct m0_lnet_udsp *udsp);
/**
 * Encodes a rule.
 * @param bulk_size  in: bytes of `bulk`; out: bytes of the encoded form.
 * @retval -EINVAL  m0_lnet_udsp_check() refuses the rule.
 * @retval -ENOSPC  `bulk` is too small.
 */
M0_EXTERN int m0_lnet_udsp_marshal(const struct m0_lnet_udsp *udsp,
				   uint32_t *bulk_size, void *bulk);
/**
 * Decodes a rule.
 * @param why  as for m0_lnet_udsp_parse(), with the offset of what is wrong.
 * @retval -EPROTO  the bytes are no rule; `udsp` is unspecified.
 */
M0_EXTERN int m0_lnet_udsp_unmarshal(const void *bulk, uint32_t bulk_size,
				     struct m0_lnet_udsp *udsp, char *why);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_UDSP_H */
