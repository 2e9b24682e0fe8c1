/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Net o2ib carries a small payload within a message, and writes a large one to
 * memory that the receiver has named. Which of them a row has measured is told
 * by what the nodes of this process have received, and by the size where the
 * payload arrives elsewhere.
 */
#ifndef M0_TOOLS_PERF_PATH_H
#define M0_TOOLS_PERF_PATH_H

#include "perf.h"

enum {
	/** The largest payload within a message: 4096 bytes without headers. */
	PERF_PATH_IMMEDIATE_MAX = 4096 - 120
};

/** Bytes of payloads that nodes have received. */
struct perf_arrived {
	/** The peer wrote them to their memory. */
	uint64_t pra_direct;
	/** The driver copied them there. */
	uint64_t pra_copied;
};

/** Do the rows have a path: do they use net o2ib? */
bool perf_path_has(const struct perf_setup *setup);
void perf_path_look(const struct perf_setup *setup, struct perf_arrived *ret);
/** How payloads of `size` bytes went, of which there were about `ops`. */
enum perf_path perf_path_of(uint64_t size, uint64_t ops,
			    const struct perf_arrived *from,
			    const struct perf_arrived *to);

#endif /* M0_TOOLS_PERF_PATH_H */
