/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Regions of memory that a node lends to a node of the same host. The descriptor of a
 * region goes through the Unix socket of the stream, and the peer maps it to be read, so
 * that an offer in it is copied without a system call. A region that goes back to the
 * system is recalled: until the peer has unmapped it, its pages are in use.
 *
 * On the Unix socket a zero byte is a wake-up; anything else begins a word of fixed size.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"
#include "os/shm.h"

enum {
	LEND = 1,
	RECALL = 2,
	SLOTS_NR = M0_PIPE_REGIONS_MAX,
	READ_BYTES = 256,
	READS_MAX = 4,
	WHY_BYTES = 160
};

M0_BASSERT(sizeof(struct m0_near_word) == 16);

/* -- own regions ----------------------------------------------------------- */

struct near_lent {
	struct m0_os_region lnt_region;
	uint32_t            lnt_nr;
};

struct m0_near_lend {
	/** By address. */
	struct near_lent nle_lent[SLOTS_NR];
	unsigned         nle_nr;
	/** The last number of each slot. */
	uint32_t nle_slots[SLOTS_NR];
	unsigned nle_slot_next;
	/** Value of m0_os_regions_gone() when all of them were looked at. */
	uint64_t nle_gone;
	/** A region could not be recalled: nothing is lent until it was. */
	bool nle_is_stuck;
};

static int word_send(struct m0_tcp_stream *stream, uint8_t type, uint32_t nr,
		     uint64_t bytes, int fd)
{
	const struct m0_near_word word = { .nwo_type = type,
					   .nwo_nr = nr,
					   .nwo_bytes = bytes };
	ssize_t                   rc;

	++stream->tcs_stream.stm_counts->stc_writes_nr;
	rc = m0_os_fds_send(stream->tcs_fd.lof_fd, &word, sizeof word, &fd,
			    fd >= 0, MSG_DONTWAIT | MSG_NOSIGNAL);
	return rc == sizeof word ? 0 : rc < 0 ? (int)rc : -EPROTO;
}

/* Number of regions that do not begin above an address. */
static unsigned rank_of(const struct m0_near_lend *lend, const void *addr)
{
	unsigned low = 0;
	unsigned high = lend->nle_nr;
	unsigned mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((uintptr_t)lend->nle_lent[mid].lnt_region.org_base <=
		    (uintptr_t)addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct near_lent *lent_find(struct m0_near_lend *lend, const void *addr)
{
	unsigned                   rank = rank_of(lend, addr);
	struct near_lent          *lent;
	const struct m0_os_region *region;

	if (rank == 0)
		return NULL;
	lent = &lend->nle_lent[rank - 1];
	region = &lent->lnt_region;
	return (uintptr_t)addr - (uintptr_t)region->org_base < region->org_bytes
		       ? lent
		       : NULL;
}

static void lent_del(struct m0_near_lend *lend, unsigned rank)
{
	M0_PRE(rank < lend->nle_nr);
	--lend->nle_nr;
	memmove(&lend->nle_lent[rank], &lend->nle_lent[rank + 1],
		(lend->nle_nr - rank) * sizeof lend->nle_lent[0]);
}

void m0_tcp__near_lend_look(struct m0_tcp_stream *stream)
{
	struct m0_near_lend *lend = stream->tcs_near->nea_lend;
	uint64_t             gone = m0_os_regions_gone();
	unsigned             i;

	if (lend == NULL || (M0_LIKELY(lend->nle_gone == gone) &&
			     M0_LIKELY(!lend->nle_is_stuck)))
		return;
	lend->nle_gone = gone;
	lend->nle_is_stuck = false;
	for (i = lend->nle_nr; i-- > 0;) {
		const struct near_lent *lent = &lend->nle_lent[i];

		if (m0_os_region_is(&lent->lnt_region))
			continue;
		if (word_send(stream, RECALL, lent->lnt_nr, 0, -1) == 0)
			lent_del(lend, i);
		else
			lend->nle_is_stuck = true;
	}
}

/* A slot serves again when the peer has unmapped what it was for. 0: there is none. */
static uint32_t number_take(struct m0_near *near)
{
	struct m0_near_lend *lend = near->nea_lend;
	unsigned             left;

	M0_PRE(lend != NULL);
	for (left = SLOTS_NR; left > 0; --left) {
		unsigned  slot = lend->nle_slot_next++ % SLOTS_NR;
		uint32_t *last = &lend->nle_slots[slot];

		if (*last == 0)
			return *last = slot == 0 ? SLOTS_NR : slot;
		if (*last < UINT32_MAX - SLOTS_NR &&
		    m0_pipe_region_get(&near->nea_pipe, *last) ==
			    M0_PIPE_REGION_DROPPED)
			return *last += SLOTS_NR;
	}
	return 0;
}

/* The peer looks at it later. */
static void region_lend(struct m0_tcp_stream      *stream,
			const struct m0_os_region *region)
{
	struct m0_near      *near = stream->tcs_near;
	struct m0_near_lend *lend = near->nea_lend;
	unsigned             rank;
	uint32_t             nr;

	if (lend->nle_nr == SLOTS_NR)
		return;
	nr = number_take(near);
	if (nr == 0)
		return;
	if (word_send(stream, LEND, nr, region->org_bytes, region->org_fd) !=
	    0) {
		lend->nle_slots[nr % SLOTS_NR] = nr <= SLOTS_NR ? 0
								: nr - SLOTS_NR;
		return;
	}
	rank = rank_of(lend, region->org_base);
	M0_ASSERT(rank <= lend->nle_nr && lend->nle_nr < SLOTS_NR);
	memmove(&lend->nle_lent[rank + 1], &lend->nle_lent[rank],
		(lend->nle_nr - rank) * sizeof lend->nle_lent[0]);
	lend->nle_lent[rank] =
		(struct near_lent){ .lnt_region = *region, .lnt_nr = nr };
	++lend->nle_nr;
}

static bool lend_make(struct m0_near *near)
{
	if (near->nea_lend == NULL) {
		M0_ALLOC_PTR(near->nea_lend);
		if (near->nea_lend != NULL)
			near->nea_lend->nle_gone = m0_os_regions_gone();
	}
	return near->nea_lend != NULL;
}

bool m0_tcp__near_is_lent(struct m0_tcp_stream *stream, const void *addr,
			  size_t nr, uint32_t *ret_region, uint64_t *ret_place)
{
	struct m0_near     *near = stream->tcs_near;
	struct m0_os_region region;
	struct near_lent   *lent = NULL;

	m0_tcp__near_lend_look(stream);
	if (near->nea_lend != NULL && near->nea_lend->nle_is_stuck)
		return false;
	if (near->nea_lend != NULL)
		lent = lent_find(near->nea_lend, addr);
	if (M0_UNLIKELY(lent == NULL)) {
		if (m0_os_region_read(addr, &region) && lend_make(near))
			region_lend(stream, &region);
		return false;
	}
	*ret_region = lent->lnt_nr;
	*ret_place = (uintptr_t)addr - (uintptr_t)lent->lnt_region.org_base;
	return nr <= lent->lnt_region.org_bytes - *ret_place &&
	       m0_pipe_region_get(&near->nea_pipe, lent->lnt_nr) ==
		       M0_PIPE_REGION_MAPPED;
}

/* -- regions of the peer --------------------------------------------------- */

struct near_map {
	/** 0: there is none. */
	uint32_t nmp_nr;
	void    *nmp_addr;
	uint64_t nmp_bytes;
};

struct m0_near_maps {
	/** By the number modulo SLOTS_NR. */
	struct near_map nmz_map[SLOTS_NR];
	uint64_t        nmz_bytes;
};

const void *m0_tcp__near_map_at(const struct m0_tcp_stream *stream,
				uint32_t region, uint64_t place, uint64_t bytes)
{
	const struct m0_near_maps *maps = stream->tcs_near->nea_maps;
	const struct near_map     *map;

	if (maps == NULL || region == 0)
		return NULL;
	map = &maps->nmz_map[region % SLOTS_NR];
	if (map->nmp_nr != region || place > map->nmp_bytes ||
	    bytes > map->nmp_bytes - place)
		return NULL;
	return (const char *)map->nmp_addr + place;
}

static void map_drop(struct m0_tcp_io *io, struct m0_near_maps *maps,
		     struct near_map *map)
{
	M0_PRE(map->nmp_bytes <= maps->nmz_bytes);
	M0_PRE(io->tci_maps_nr > 0);
	m0_os_shm_unmap(map->nmp_addr, map->nmp_bytes);
	maps->nmz_bytes -= map->nmp_bytes;
	--io->tci_maps_nr;
	map->nmp_nr = 0;
}

/* NULL, or what is wrong. */
static const char *region_recalled(struct m0_tcp_stream      *stream,
				   const struct m0_near_word *word)
{
	struct m0_near      *near = stream->tcs_near;
	struct m0_near_maps *maps = near->nea_maps;
	struct near_map     *map;

	/* A descriptor that is here belongs to a word behind this one, if any. */
	if (maps == NULL || word->nwo_bytes != 0)
		return "a region is recalled in a wrong way";
	map = &maps->nmz_map[word->nwo_nr % SLOTS_NR];
	if (map->nmp_nr != word->nwo_nr || word->nwo_nr == 0)
		return "a region is recalled that was not lent";
	if (map->nmp_addr != NULL)
		map_drop(stream->tcs_io, maps, map);
	map->nmp_nr = 0;
	m0_pipe_region_set(&near->nea_pipe, word->nwo_nr,
			   M0_PIPE_REGION_DROPPED);
	return NULL;
}

static bool may_map(const struct m0_tcp_io *io, const struct m0_near_maps *maps,
		    uint64_t bytes)
{
	return io->tci_maps_nr < M0_NEAR_MAPS_MAX &&
	       bytes <= M0_NEAR_MAPS_BYTES_MAX - maps->nmz_bytes;
}

/* A region that is not mapped has no address. */
static const char *region_map(struct m0_tcp_stream      *stream,
			      const struct m0_near_word *word,
			      struct near_map           *map)
{
	struct m0_near      *near = stream->tcs_near;
	struct m0_near_maps *maps = near->nea_maps;
	char                 why[WHY_BYTES];
	int                  rc = -EDQUOT;

	M0_PRE(near->nea_word_fd >= 0 && map->nmp_nr == 0);
	map->nmp_addr = NULL;
	if (may_map(stream->tcs_io, maps, word->nwo_bytes))
		rc = m0_os_shm_map(near->nea_word_fd, word->nwo_bytes, false,
				   &map->nmp_addr, why, sizeof why);
	if (rc == -EINVAL)
		return "a region is lent whose memory could vanish";
	map->nmp_nr = word->nwo_nr;
	if (rc == 0) {
		map->nmp_bytes = word->nwo_bytes;
		maps->nmz_bytes += word->nwo_bytes;
		++stream->tcs_io->tci_maps_nr;
	} else {
		map->nmp_bytes = 0;
	}
	m0_pipe_region_set(&near->nea_pipe, word->nwo_nr,
			   rc == 0 ? M0_PIPE_REGION_MAPPED
				   : M0_PIPE_REGION_REFUSED);
	return NULL;
}

static void word_fd_close(struct m0_near *near)
{
	if (near->nea_word_fd >= 0)
		(void)close(near->nea_word_fd);
	near->nea_word_fd = -1;
}

static const char *region_lent(struct m0_tcp_stream      *stream,
			       const struct m0_near_word *word)
{
	struct m0_near  *near = stream->tcs_near;
	struct near_map *map;
	const char      *flaw;

	if (near->nea_word_fd < 0 || word->nwo_nr == 0)
		return "a region is lent in a wrong way";
	if (near->nea_maps == NULL)
		M0_ALLOC_PTR(near->nea_maps);
	if (near->nea_maps == NULL)
		return "there is no memory for its regions";
	map = &near->nea_maps->nmz_map[word->nwo_nr % SLOTS_NR];
	if (map->nmp_nr != 0)
		return "a region is lent with a number that is in use";
	flaw = region_map(stream, word, map);
	word_fd_close(near);
	return flaw;
}

void m0_tcp__near_regions_free(struct m0_tcp_io *io, struct m0_near *near)
{
	unsigned i;

	for (i = 0; near->nea_maps != NULL && i < SLOTS_NR; ++i) {
		struct near_map *map = &near->nea_maps->nmz_map[i];

		if (map->nmp_nr != 0 && map->nmp_addr != NULL)
			map_drop(io, near->nea_maps, map);
	}
	word_fd_close(near);
	m0_free0(&near->nea_maps);
	m0_free0(&near->nea_lend);
}

/* -- the Unix socket ------------------------------------------------------- */

/* NULL, or what is wrong. */
static const char *word_done(struct m0_tcp_stream *stream)
{
	const struct m0_near_word *word = &stream->tcs_near->nea_word;
	static const uint8_t       none[sizeof word->nwo_reserved];

	if (memcmp(word->nwo_reserved, none, sizeof none) != 0)
		return "a word with fields that are not accepted";
	switch (word->nwo_type) {
	case LEND:
		return region_lent(stream, word);
	case RECALL:
		return region_recalled(stream, word);
	default:
		return "a word of unknown type";
	}
}

static const char *bytes_take(struct m0_tcp_stream *stream,
			      const uint8_t *bytes, size_t nr)
{
	struct m0_near *near = stream->tcs_near;
	const char     *flaw = NULL;
	size_t          i;

	for (i = 0; i < nr && flaw == NULL; ++i) {
		/* A wake-up. */
		if (near->nea_word_nr == 0 && bytes[i] == 0)
			continue;
		M0_ASSERT(near->nea_word_nr < sizeof near->nea_word);
		((uint8_t *)&near->nea_word)[near->nea_word_nr++] = bytes[i];
		if (near->nea_word_nr < sizeof near->nea_word)
			continue;
		near->nea_word_nr = 0;
		flaw = word_done(stream);
	}
	/* A descriptor comes with the word that it belongs to. */
	if (flaw == NULL && near->nea_word_nr == 0 && near->nea_word_fd >= 0)
		flaw = "a descriptor that belongs to nothing";
	return flaw;
}

static const char *fds_take(struct m0_near *near, struct m0_os_fds *fds)
{
	if (M0_LIKELY(fds->ofs_nr == 0 && !fds->ofs_is_cut))
		return NULL;
	if (fds->ofs_is_cut || fds->ofs_nr > 1 || near->nea_word_fd >= 0) {
		m0_os_fds_drop(fds);
		return "more descriptors than are accepted";
	}
	M0_ASSERT(fds->ofs_nr == 1);
	near->nea_word_fd = fds->ofs_fds[0];
	return NULL;
}

int m0_tcp__near_words_in(struct m0_tcp_stream *stream, const char **ret_flaw)
{
	struct m0_near  *near = stream->tcs_near;
	uint8_t          bytes[READ_BYTES];
	struct m0_os_fds fds;
	ssize_t          nr;
	bool             has_fd;
	int              i;

	*ret_flaw = NULL;
	for (i = 0; i < READS_MAX; ++i) {
		++stream->tcs_stream.stm_counts->stc_reads_nr;
		nr = m0_os_fds_recv(stream->tcs_fd.lof_fd, bytes, sizeof bytes,
				    &fds, MSG_DONTWAIT);
		if (nr <= 0)
			return nr == 0                        ? -ECONNRESET
			       : M0_IN(nr, (-EAGAIN, -EINTR)) ? 0
							      : (int)nr;
		has_fd = fds.ofs_nr > 0;
		*ret_flaw = fds_take(near, &fds);
		if (*ret_flaw == NULL)
			*ret_flaw = bytes_take(stream, bytes, (size_t)nr);
		if (*ret_flaw != NULL)
			return -EPROTO;
		/* Bytes behind a descriptor come with another call. */
		if (nr < READ_BYTES && !has_fd)
			break;
	}
	return 0;
}
