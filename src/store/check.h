/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** An LMDB file as bytes, as check.c and walk.c read it. */
#ifndef M0_SRC_STORE_CHECK_H
#define M0_SRC_STORE_CHECK_H

#include "store_internal.h"

enum {
	/** Levels of a path from a root to a leaf. */
	M0_STORE__DEPTH_MAX = 24,
	M0_STORE__PAGE_HEAD = 16,
	M0_STORE__NODE_HEAD = 8,
	/** Kinds of pages. */
	M0_STORE__BRANCH = 1,
	M0_STORE__LEAF = 2,
	M0_STORE__OVERFLOW = 4,
	M0_STORE__META = 8,
	/** Flags of nodes: the value is elsewhere; it is a tree. */
	M0_STORE__BIG = 1,
	M0_STORE__SUBTREE = 2
};

#define M0_STORE__NO_PAGE (~UINT64_C(0))

/* As in files of LMDB's version 1. */
struct m0_store__tree {
	uint32_t sre_page_bytes;
	uint16_t sre_flags;
	uint16_t sre_depth;
	uint64_t sre_branches_nr;
	uint64_t sre_leaves_nr;
	uint64_t sre_overflow_nr;
	uint64_t sre_keys_nr;
	uint64_t sre_root;
};

struct m0_store__meta {
	uint64_t              sme_page;
	uint16_t              sme_pad;
	uint16_t              sme_page_flags;
	uint32_t              sme_page_rest;
	uint32_t              sme_magic;
	uint32_t              sme_version;
	uint64_t              sme_address;
	uint64_t              sme_map_bytes;
	struct m0_store__tree sme_free;
	struct m0_store__tree sme_main;
	uint64_t              sme_last_page;
	uint64_t              sme_tx;
};

struct m0_store__file {
	int                   sfi_fd;
	m0_bcount_t           sfi_bytes;
	uint32_t              sfi_page_bytes;
	struct m0_store__meta sfi_meta[2];
	uint8_t              *sfi_page[M0_STORE__DEPTH_MAX];
};

/** A node within a page that was read. */
struct m0_store__node {
	const uint8_t *snd_key;
	size_t         snd_key_nr;
	/** Value of a node of a leaf. */
	const uint8_t *snd_value;
	size_t         snd_value_nr;
	/** Bytes of the value in this page: all of it, or the number of the
	 * first page of a big value. A branch's node has none. */
	size_t   snd_here_nr;
	uint16_t snd_flags;
	/** Child of a node of a branch. */
	uint64_t snd_child;
};

static inline uint16_t m0_store__u16(const uint8_t *at)
{
	uint16_t ret;

	memcpy(&ret, at, sizeof ret);
	return ret;
}

/** @retval -EUCLEAN  it ends before. */
int m0_store__bytes_get(const struct m0_store__file *file, uint64_t at,
			void *to, size_t nr);
/**
 * Reads a page of a tree. Every node's offset is within it.
 * @return number of nodes; -EUCLEAN not a page of such a kind.
 */
int m0_store__page_get(const struct m0_store__file *file, uint64_t nr,
		       unsigned kind, uint8_t *page);
int m0_store__node_get(const struct m0_store__file *file, const uint8_t *page,
		       unsigned i, struct m0_store__node *ret);

/**
 * Goes through all that can be reached from a root and all that is free: every
 * page has one use, keys are in order, values match their checksums, and the
 * counts are right.
 */
int m0_store__walk(struct m0_store__file       *file,
		   const struct m0_store__meta *meta);

#endif /* M0_SRC_STORE_CHECK_H */
