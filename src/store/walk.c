/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Walk through a file, page by page, before it is trusted. An error that is not
 * found here would lead LMDB astray or reach a reader as a wrong answer.
 */
#include "check.h"

#include "os/os.h"

struct walk {
	const struct m0_store__file *wlk_file;
	/** One bit for each page that is in use. */
	struct m0_bitmap wlk_used;
	/** The tree that is walked. */
	struct m0_store__tree wlk_seen;
	/** Called for each node of a leaf, with its value's bytes. */
	int (*wlk_node)(struct walk *walk, const struct m0_store__node *node);
	/** Are keys numbers, in another order than that of bytes? */
	bool wlk_numbers;
	/** The key visited last, and whether it was a branch's. */
	uint8_t wlk_last[M0_RPC_STORE_KEY_MAX];
	size_t  wlk_last_nr;
	bool    wlk_last_is_branch;
	bool    wlk_any;
	/** A value that lies in pages of its own. */
	uint8_t *wlk_big;
	size_t   wlk_big_nr;
};

static int use(struct walk *walk, uint64_t page)
{
	if (page >= walk->wlk_used.b_nr || m0_bitmap_get(&walk->wlk_used, page))
		return -EUCLEAN;
	m0_bitmap_set(&walk->wlk_used, page, true);
	return 0;
}

/* ----------------------------------------------------------------- keys -- */

/**
 * The key of a branch is greater than all before it and not greater than the
 * first key of the next leaf.
 */
static int key_follows(struct walk *walk, const struct m0_store__node *node,
		       bool branch)
{
	size_t nr = min64u(node->snd_key_nr, walk->wlk_last_nr);
	int    cmp;

	if (walk->wlk_numbers)
		return 0;
	if (node->snd_key_nr == 0 || node->snd_key_nr > M0_RPC_STORE_KEY_MAX)
		return -EUCLEAN;
	cmp = memcmp(walk->wlk_last, node->snd_key, nr);
	if (cmp == 0)
		cmp = (walk->wlk_last_nr > node->snd_key_nr) -
		      (walk->wlk_last_nr < node->snd_key_nr);
	if (walk->wlk_any &&
	    (cmp > 0 || (cmp == 0 && !walk->wlk_last_is_branch)))
		return -EUCLEAN;
	walk->wlk_any = true;
	walk->wlk_last_is_branch = branch;
	walk->wlk_last_nr = node->snd_key_nr;
	memcpy(walk->wlk_last, node->snd_key, node->snd_key_nr);
	return 0;
}

/* --------------------------------------------------------------- values -- */

static int big_size(struct walk *walk, size_t nr)
{
	if (nr <= walk->wlk_big_nr)
		return 0;
	m0_free(walk->wlk_big);
	walk->wlk_big_nr = 0;
	walk->wlk_big = m0_alloc(nr);
	if (walk->wlk_big == NULL)
		return -ENOMEM;
	walk->wlk_big_nr = nr;
	return 0;
}

/**
 * Reads a value from pages of its own and makes the node name it there. There
 * may be more pages than the value needs: it replaced a longer one in the
 * transaction that put it.
 */
static int big_get(struct walk *walk, struct m0_store__node *node)
{
	const struct m0_store__file *file = walk->wlk_file;
	size_t   nr = M0_STORE__PAGE_HEAD + node->snd_value_nr;
	uint8_t  head[M0_STORE__PAGE_HEAD];
	uint64_t first;
	uint64_t i;
	uint32_t pages;
	int      rc;

	memcpy(&first, node->snd_value, sizeof first);
	if (first >= walk->wlk_used.b_nr)
		return -EUCLEAN;
	rc = m0_store__bytes_get(file, first * file->sfi_page_bytes, head,
				 sizeof head);
	if (rc != 0)
		return rc;
	memcpy(&pages, head + 12, sizeof pages);
	if (memcmp(head, &first, sizeof first) != 0 ||
	    m0_store__u16(head + 10) != M0_STORE__OVERFLOW ||
	    (uint64_t)pages * file->sfi_page_bytes < nr)
		return -EUCLEAN;
	for (i = 0; rc == 0 && i < pages; ++i)
		rc = use(walk, first + i);
	rc = rc ?: big_size(walk, nr)
		     ?: m0_store__bytes_get(file, first * file->sfi_page_bytes,
					    walk->wlk_big, nr);
	if (rc != 0)
		return rc;
	walk->wlk_seen.sre_overflow_nr += pages;
	node->snd_value = walk->wlk_big + M0_STORE__PAGE_HEAD;
	return 0;
}

static int leaf_node(struct walk *walk, struct m0_store__node *node)
{
	int rc = key_follows(walk, node, false);

	++walk->wlk_seen.sre_keys_nr;
	if (rc == 0 && (node->snd_flags & M0_STORE__BIG) != 0)
		rc = big_get(walk, node);
	return rc ?: walk->wlk_node(walk, node);
}

/* ---------------------------------------------------------------- trees -- */

static int page_walk(struct walk *walk, uint64_t nr, unsigned level)
{
	const struct m0_store__file *file = walk->wlk_file;
	bool                  leaf = level + 1U == walk->wlk_seen.sre_depth;
	uint8_t              *page = file->sfi_page[level];
	struct m0_store__node node;
	int                   nodes;
	int                   i;
	int                   rc = use(walk, nr);

	if (rc != 0)
		return rc;
	nodes = m0_store__page_get(
		file, nr, leaf ? M0_STORE__LEAF : M0_STORE__BRANCH, page);
	if (nodes <= 0)
		return nodes ?: -EUCLEAN;
	++*(leaf ? &walk->wlk_seen.sre_leaves_nr
		 : &walk->wlk_seen.sre_branches_nr);
	for (i = 0; rc == 0 && i < nodes; ++i) {
		rc = m0_store__node_get(file, page, (unsigned)i, &node);
		if (rc == 0 && leaf)
			rc = leaf_node(walk, &node);
		/* The first child of a branch has no lower bound: its key is
		 * not used. */
		if (rc == 0 && !leaf && i > 0)
			rc = key_follows(walk, &node, true);
		if (rc == 0 && !leaf)
			rc = page_walk(walk, node.snd_child, level + 1);
	}
	return rc;
}

static int tree_walk(struct walk *walk, const struct m0_store__tree *tree,
		     int (*node)(struct walk                 *walk,
				 const struct m0_store__node *node))
{
	const struct m0_store__tree *seen = &walk->wlk_seen;
	int                          rc = 0;

	if (tree->sre_depth > M0_STORE__DEPTH_MAX)
		return -EUCLEAN;
	walk->wlk_any = false;
	walk->wlk_last_nr = 0;
	walk->wlk_node = node;
	walk->wlk_seen =
		(struct m0_store__tree){ .sre_depth = tree->sre_depth };
	if (tree->sre_root != M0_STORE__NO_PAGE && tree->sre_depth > 0)
		rc = page_walk(walk, tree->sre_root, 0);
	if (rc != 0)
		return rc;
	return (tree->sre_root == M0_STORE__NO_PAGE) ==
				       (tree->sre_depth == 0) &&
			       seen->sre_branches_nr == tree->sre_branches_nr &&
			       seen->sre_leaves_nr == tree->sre_leaves_nr &&
			       seen->sre_overflow_nr == tree->sre_overflow_nr &&
			       seen->sre_keys_nr == tree->sre_keys_nr
		       ? 0
		       : -EUCLEAN;
}

/* ----------------------------------------------------------- what is it -- */

static int value_node(struct walk *walk, const struct m0_store__node *node)
{
	uint32_t sum;
	uint32_t zero;

	(void)walk;
	if ((node->snd_flags & ~M0_STORE__BIG) != 0 ||
	    node->snd_value_nr < M0_STORE__VALUE_HEAD)
		return -EUCLEAN;
	memcpy(&sum, node->snd_value, sizeof sum);
	memcpy(&zero, node->snd_value + sizeof sum, sizeof zero);
	return zero == 0 && sum == m0_os_crc32c(m0_os_crc32c(0, node->snd_key,
							     node->snd_key_nr),
						node->snd_value +
							M0_STORE__VALUE_HEAD,
						node->snd_value_nr -
							M0_STORE__VALUE_HEAD)
		       ? 0
		       : -EUCLEAN;
}

/** A list of pages, its length first. */
static int free_node(struct walk *walk, const struct m0_store__node *node)
{
	uint64_t nr;
	uint64_t page;
	uint64_t i;
	int      rc = 0;

	if ((node->snd_flags & ~M0_STORE__BIG) != 0 ||
	    node->snd_key_nr != sizeof nr || node->snd_value_nr < sizeof nr)
		return -EUCLEAN;
	memcpy(&nr, node->snd_value, sizeof nr);
	if (nr > node->snd_value_nr / sizeof nr - 1)
		return -EUCLEAN;
	for (i = 1; rc == 0 && i <= nr; ++i) {
		memcpy(&page, node->snd_value + i * sizeof page, sizeof page);
		rc = use(walk, page);
	}
	return rc;
}

/** Handles a node of the main tree, whose mark was checked: it names the
 * tree of keys. */
static int main_node(struct walk *walk, const struct m0_store__node *node)
{
	const char name[] = M0_STORE__TREE;

	(void)walk;
	if (node->snd_flags == 0)
		return 0;
	return node->snd_flags == M0_STORE__SUBTREE &&
			       node->snd_key_nr == sizeof name - 1 &&
			       memcmp(node->snd_key, name, sizeof name - 1) ==
				       0 &&
			       node->snd_value_nr ==
				       sizeof(struct m0_store__tree)
		       ? 0
		       : -EUCLEAN;
}

/**
 * Find the tree of keys in the main leaf, which is still in the page buffer.
 */
static int keys_tree(const struct m0_store__file *file,
		     struct m0_store__tree       *ret)
{
	const uint8_t *page = file->sfi_page[0];
	int nr = (m0_store__u16(page + 12) - M0_STORE__PAGE_HEAD) / 2;
	struct m0_store__node node;
	int                   i;

	for (i = 0; i < nr; ++i)
		if (m0_store__node_get(file, page, (unsigned)i, &node) == 0 &&
		    node.snd_flags == M0_STORE__SUBTREE) {
			memcpy(ret, node.snd_value, sizeof *ret);
			return ret->sre_flags == 0 ? 0 : -EUCLEAN;
		}
	return -EUCLEAN;
}

static int trees_walk(struct walk *walk, const struct m0_store__meta *meta)
{
	struct m0_store__tree keys;
	int                   rc = use(walk, 0) ?: use(walk, 1);

	rc = rc ?: tree_walk(walk, &meta->sme_main, main_node);
	rc = rc ?: keys_tree(walk->wlk_file, &keys);
	rc = rc ?: tree_walk(walk, &keys, value_node);
	walk->wlk_numbers = true;
	return rc ?: tree_walk(walk, &meta->sme_free, free_node);
}

int m0_store__walk(struct m0_store__file       *file,
		   const struct m0_store__meta *meta)
{
	struct walk *walk;
	int          rc;

	if (M0_ALLOC_PTR(walk) == NULL)
		return -ENOMEM;
	walk->wlk_file = file;
	rc = m0_bitmap_init(&walk->wlk_used, meta->sme_last_page + 1);
	if (rc == 0) {
		rc = trees_walk(walk, meta);
		m0_bitmap_fini(&walk->wlk_used);
	}
	m0_free(walk->wlk_big);
	m0_free(walk);
	return rc;
}
