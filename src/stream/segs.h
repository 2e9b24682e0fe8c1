/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Segments of a payload that moves by several calls. */
#ifndef M0_SRC_STREAM_SEGS_H
#define M0_SRC_STREAM_SEGS_H

#include <sys/uio.h>

#include "m0/base.h"

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
