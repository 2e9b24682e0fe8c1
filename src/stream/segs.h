/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Segments of a payload that moves by several calls. */
#ifndef M0_SRC_STREAM_SEGS_H
#define M0_SRC_STREAM_SEGS_H

#include <string.h>
#include <sys/uio.h>

#include "m0/base.h"

enum {
	/** Fewer are not worth segments of their own in a read that reads ahead. */
	M0_STREAM_SMALL_BYTES = 256
};

static inline size_t m0_stream_segs_bytes(const struct iovec *iov, unsigned nr)
{
	size_t   sum = 0;
	unsigned i;

	for (i = 0; i < nr; ++i)
		sum += iov[i].iov_len;
	return sum;
}

/**
 * Adds a place for `ahead` bytes to a read of segments, which have room for one more. A
 * few bytes of the others come there, too.
 * @param direct  bytes that go where the segments say.
 * @return bytes of the read.
 */
static inline size_t m0_stream_segs_ahead(struct iovec *iov, unsigned *nr,
					  size_t *direct, size_t ahead,
					  void *place, size_t place_bytes)
{
	if (*direct < M0_STREAM_SMALL_BYTES) {
		ahead += *direct;
		*direct = 0;
		*nr = 0;
	}
	ahead = min64u(ahead, place_bytes);
	iov[*nr].iov_base = place;
	iov[(*nr)++].iov_len = ahead;
	return *direct + ahead;
}

/** `direct` of `nr` bytes that were read are in the wrong place, these segments: moves them
 * before the others, which begin at `place`. */
static inline void m0_stream_segs_gather(const struct iovec *iov, size_t direct,
					 uint8_t *place, size_t nr)
{
	size_t part;

	memmove(place + direct, place, nr - direct);
	for (; direct > 0; ++iov) {
		part = min64u(direct, iov->iov_len);
		memcpy(place, iov->iov_base, part);
		place += part;
		direct -= part;
	}
}

/** Describes the first `bytes` of `nr` segments for one call, or all of them.
 * @param ret_iov  array of `nr` elements.
 * @return the number of elements. */
static inline unsigned m0_stream_segs_plan(const struct iovec *iov, unsigned nr,
					   size_t bytes, struct iovec *ret_iov)
{
	unsigned i;

	for (i = 0; i < nr && bytes > 0; ++i) {
		ret_iov[i] = iov[i];
		ret_iov[i].iov_len = min64u(iov[i].iov_len, bytes);
		bytes -= ret_iov[i].iov_len;
	}
	return i;
}

/** Takes the first `bytes`, which the segments have, off them.
 * @return how many segments are done. */
static inline unsigned m0_stream_segs_advance(struct iovec *iov, size_t bytes)
{
	unsigned nr = 0;

	while (bytes > 0) {
		size_t part = min64u(bytes, iov[nr].iov_len);

		iov[nr].iov_base = (char *)iov[nr].iov_base + part;
		iov[nr].iov_len -= part;
		bytes -= part;
		nr += iov[nr].iov_len == 0;
	}
	return nr;
}

#endif /* M0_SRC_STREAM_SEGS_H */
