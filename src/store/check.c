/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Checks of a file before LMDB, which trusts what it maps, opens it. LMDB keeps
 * two roots, of the last transaction and of the one before, in the first two
 * pages; neither has a checksum. Both must be of transactions that follow one
 * another, and the tree of each must bear the mark of its own.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE_MIN = 512,
	PAGE_MAX = 1 << 16,
	/** LMDB's flags of the tree of free pages, and of a file that is not in
	 * a directory of its own. */
	FREE_FLAGS = 8,
	NOSUBDIR_FLAG = 0x4000,
	/** Pages at the end that a transaction may have taken without writing
	 * them. */
	LOOSE_MAX = 1 << 17
};

int m0_store__bytes_get(const struct m0_store__file *file, uint64_t at,
			void *to, size_t nr)
{
	ssize_t got = pread(file->sfi_fd, to, nr, (off_t)at);

	if (got < 0)
		return -errno;
	return (size_t)got == nr ? 0 : -EUCLEAN;
}

/* --------------------------------------------------------------- pages -- */

int m0_store__node_get(const struct m0_store__file *file, const uint8_t *page,
		       unsigned i, struct m0_store__node *ret)
{
	size_t at = m0_store__u16(page + M0_STORE__PAGE_HEAD + 2 * i);
	size_t left = file->sfi_page_bytes - at - M0_STORE__NODE_HEAD;
	bool   leaf = m0_store__u16(page + 10) == M0_STORE__LEAF;

	ret->snd_value_nr = m0_store__u16(page + at) |
			    (size_t)m0_store__u16(page + at + 2) << 16;
	ret->snd_flags = m0_store__u16(page + at + 4);
	ret->snd_child = ret->snd_value_nr | (uint64_t)ret->snd_flags << 32;
	ret->snd_key_nr = m0_store__u16(page + at + 6);
	ret->snd_key = page + at + M0_STORE__NODE_HEAD;
	ret->snd_value = ret->snd_key + ret->snd_key_nr;
	ret->snd_here_nr = !leaf ? 0
			   : (ret->snd_flags & M0_STORE__BIG) != 0
				   ? sizeof(uint64_t)
				   : ret->snd_value_nr;
	return ret->snd_key_nr > left ||
			       ret->snd_here_nr > left - ret->snd_key_nr
		       ? -EUCLEAN
		       : 0;
}

/* Returns the bytes that the nodes of a page use: all behind its free
 * middle, which LMDB fills. 0: they do not fit. */
static size_t nodes_bytes(const struct m0_store__file *file,
			  const uint8_t *page, unsigned nr)
{
	struct m0_store__node node;
	size_t                bytes = 0;
	size_t                one;
	unsigned              i;

	for (i = 0; i < nr; ++i) {
		if (m0_store__node_get(file, page, i, &node) != 0)
			return 0;
		one = M0_STORE__NODE_HEAD + node.snd_key_nr + node.snd_here_nr;
		bytes += one + one % 2;
	}
	return bytes;
}

int m0_store__page_get(const struct m0_store__file *file, uint64_t nr,
		       unsigned kind, uint8_t *page)
{
	unsigned lower;
	unsigned upper;
	unsigned i;
	int      rc = m0_store__bytes_get(file, nr * file->sfi_page_bytes, page,
					  file->sfi_page_bytes);

	if (rc != 0)
		return rc;
	lower = m0_store__u16(page + 12);
	upper = m0_store__u16(page + 14);
	if (memcmp(page, &nr, sizeof nr) != 0 ||
	    m0_store__u16(page + 10) != kind || lower < M0_STORE__PAGE_HEAD ||
	    lower > upper || upper > file->sfi_page_bytes || lower % 2 != 0)
		return -EUCLEAN;
	for (i = M0_STORE__PAGE_HEAD; i < lower; i += 2) {
		unsigned at = m0_store__u16(page + i);

		if (at < upper || at % 2 != 0 ||
		    at + M0_STORE__NODE_HEAD > file->sfi_page_bytes)
			return -EUCLEAN;
	}
	lower = (lower - M0_STORE__PAGE_HEAD) / 2;
	return nodes_bytes(file, page, lower) == file->sfi_page_bytes - upper
		       ? (int)lower
		       : -EUCLEAN;
}

/* --------------------------------------------------------------- metas -- */

static bool is_page_size(uint32_t nr)
{
	return nr >= PAGE_MIN && nr <= PAGE_MAX && (nr & (nr - 1)) == 0;
}

static int meta_get(struct m0_store__file *file, unsigned i)
{
	struct m0_store__meta *meta = &file->sfi_meta[i];
	uint32_t               page_bytes;
	int rc = m0_store__bytes_get(file, (uint64_t)i * file->sfi_page_bytes,
				     meta, sizeof *meta);

	if (rc != 0)
		return rc;
	if (meta->sme_magic != 0xbeefc0de)
		return i == 0 ? -EMEDIUMTYPE : -EUCLEAN;
	if (meta->sme_version != 1)
		return -EPROTONOSUPPORT;
	page_bytes = meta->sme_free.sre_page_bytes;
	if (!is_page_size(page_bytes))
		return -EUCLEAN;
	if (i == 0)
		file->sfi_page_bytes = page_bytes;
	return meta->sme_page == i && meta->sme_page_flags == M0_STORE__META &&
			       page_bytes == file->sfi_page_bytes &&
			       (meta->sme_free.sre_flags & ~NOSUBDIR_FLAG) ==
				       FREE_FLAGS &&
			       meta->sme_main.sre_flags == 0 &&
			       meta->sme_last_page <=
				       file->sfi_bytes / page_bytes + LOOSE_MAX
		       ? 0
		       : -EUCLEAN;
}

static int metas_get(struct m0_store__file *file)
{
	const struct m0_store__meta *m = file->sfi_meta;
	int                          rc = meta_get(file, 0);

	rc = rc ?: meta_get(file, 1);
	if (rc != 0)
		return rc;
	/* Even transactions are in the first page, odd ones in the second. */
	return (m[0].sme_tx & 1) == 0 && (m[1].sme_tx & 1) == 1 &&
			       (m[0].sme_tx + 1 == m[1].sme_tx ||
				m[1].sme_tx + 1 == m[0].sme_tx)
		       ? 0
		       : -EUCLEAN;
}

/* --------------------------------------------------------------- marks -- */

/** Read the mark in the main tree, which is one leaf. */
static int mark_get(const struct m0_store__file *file, uint64_t root,
		    struct m0_store__mark *ret)
{
	const char            name[] = M0_STORE__MARK_KEY;
	uint8_t              *page = file->sfi_page[0];
	struct m0_store__node node;
	int nr = m0_store__page_get(file, root, M0_STORE__LEAF, page);
	int i;
	int rc;

	for (i = 0; i < nr; ++i) {
		rc = m0_store__node_get(file, page, (unsigned)i, &node);
		if (rc != 0)
			return rc;
		if (node.snd_key_nr == sizeof name - 1 && node.snd_flags == 0 &&
		    memcmp(node.snd_key, name, node.snd_key_nr) == 0)
			return m0_store__mark_decode(node.snd_value,
						     node.snd_value_nr, ret);
	}
	return nr < 0 ? nr : -EMEDIUMTYPE;
}

static int root_check(const struct m0_store__file *file,
		      const struct m0_store__meta *meta)
{
	struct m0_store__mark mark;
	uint64_t              root = meta->sme_main.sre_root;
	int                   rc;

	/* The file was created and nothing was committed to it. */
	if (meta->sme_tx == 0)
		return root == M0_STORE__NO_PAGE ? 0 : -EUCLEAN;
	if (root == M0_STORE__NO_PAGE || meta->sme_main.sre_depth != 1)
		return -EMEDIUMTYPE;
	if (root > meta->sme_last_page)
		return -EUCLEAN;
	rc = mark_get(file, root, &mark);
	if (rc != 0)
		return rc;
	if (mark.smk_version > M0_STORE__VERSION)
		return -EPROTONOSUPPORT;
	return mark.smk_version == M0_STORE__VERSION &&
			       mark.smk_tx == meta->sme_tx
		       ? 0
		       : -EUCLEAN;
}

static void pages_free(struct m0_store__file *file)
{
	unsigned i;

	for (i = 0; i < M0_STORE__DEPTH_MAX; ++i)
		m0_free(file->sfi_page[i]);
}

static int pages_alloc(struct m0_store__file *file)
{
	unsigned i;

	for (i = 0; i < M0_STORE__DEPTH_MAX; ++i) {
		file->sfi_page[i] = m0_alloc(file->sfi_page_bytes);
		if (file->sfi_page[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int file_check(struct m0_store__file *file)
{
	const struct m0_store__meta *m = file->sfi_meta;
	int                          rc = metas_get(file);

	if (rc != 0)
		return rc;
	rc = pages_alloc(file);
	rc = rc ?: root_check(file, &m[0]) ?: root_check(file, &m[1]);
	rc = rc ?: m0_store__walk(file, &m[m[1].sme_tx > m[0].sme_tx]);
	pages_free(file);
	return rc;
}

static int refuse(int rc, const char *path)
{
	switch (rc) {
	case -EUCLEAN:
		return m0_store__refuse(rc, path, "is damaged",
					"Nothing was changed. Move the file "
					"away and put back a copy that was "
					"made while no server had it open; "
					"without one, what it kept is lost.");
	case -EMEDIUMTYPE:
		return m0_store__refuse(rc, path, "is not a store",
					"Give the server another directory, "
					"or move the file away.");
	case -EPROTONOSUPPORT:
		return m0_store__refuse(rc, path, "is of a newer format",
					"Use the version that wrote it, or a "
					"later one.");
	default:
		return m0_store__refuse(rc, path, "cannot be read",
					"See what the system says of the "
					"file and its disk.");
	}
}

int m0_store__check(const char *path)
{
	struct m0_store__file file = { .sfi_fd = -1 };
	struct stat           st;
	int                   rc;

	file.sfi_fd = open(path, O_RDWR | O_CLOEXEC);
	if (file.sfi_fd < 0)
		return errno == ENOENT ? -ENOENT : refuse(-errno, path);
	rc = fstat(file.sfi_fd, &st) == 0 ? 0 : -errno;
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = -EMEDIUMTYPE;
	if (rc == 0) {
		file.sfi_bytes = (m0_bcount_t)st.st_size;
		rc = file_check(&file);
	}
	(void)close(file.sfi_fd);
	return rc == 0 ? 0 : refuse(rc, path);
}
