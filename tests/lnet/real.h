/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Two nodes of this process that speak TCP over 127.0.0.0/8, with threads of
 * their own, or without.
 */
#ifndef M0_TESTS_LNET_REAL_H
#define M0_TESTS_LNET_REAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/lnet.h"

enum {
	REAL_PORTAL = 7,
	REAL_LOG_MAX = 1 << 16
};

enum real_mode {
	REAL_THREADS,
	/** Both are inline, and the test makes progress. */
	REAL_INLINE,
	/** The first has a thread. */
	REAL_MIXED,
	REAL_MODES_NR
};

/** Events by callback, as they came. */
struct real_log {
	struct m0_mutex       rl_lock;
	struct m0_lnet_event *rl_events;
	unsigned              rl_nr;
	/** Looked at already by real_log_next. */
	unsigned rl_seen_nr;
};

struct real_node {
	struct m0_lnet    *rn_lnet;
	struct m0_lnet_nid rn_nid;
	bool               rn_inline;
	/** Polled; and by callback, into rn_log. */
	struct m0_lnet_eq rn_eq;
	struct m0_lnet_eq rn_cb;
	struct real_log   rn_log;
};

struct real {
	enum real_mode   re_mode;
	struct real_node re_a;
	struct real_node re_b;
};

/** A configuration for 127.0.0.`last`, with every time-out short. */
void real_cfg(struct m0_lnet_cfg *cfg, unsigned last);
/** A port that is this process's own. */
uint16_t real_port(void);

/** Opens one node; `cfg` as by real_cfg and changed. Fails the test if not. */
void real_node_open(struct real_node *node, const struct m0_lnet_cfg *cfg);
/** Closes it, and its queues; what was not taken is thrown away. */
void real_node_close(struct real_node *node);

/** Two nodes. @param tune  changes the configurations; may be NULL. */
void real_open(struct real *re, enum real_mode mode,
	       void (*tune)(struct m0_lnet_cfg *cfg));
void real_close(struct real *re);

/** Makes progress where nobody else does. */
void real_turn(struct real *re);
/** Waits until cond(arg); fails the test after 20 s. */
void real_until(struct real *re, bool (*cond)(void *arg), void *arg);
/** Makes a probe, whose request is filled in, to its end. @return pr_status. */
int real_probe(struct real *re, struct real_node *node,
	       struct m0_lnet_probe *probe);
/** Takes the next event of a node's polled queue. */
void real_event(struct real *re, struct real_node *node,
		struct m0_lnet_event *ev);
/** Takes the next event and checks its type and status; status -1: any. */
void real_expect(struct real *re, struct real_node *node,
		 enum m0_lnet_event_type type, int status,
		 struct m0_lnet_event *ev);
/** Nothing is in it. */
void real_none(struct real_node *node);
/** Events of the log that are of the type; -1: of any. */
unsigned real_log_count(struct real_node *node, int type);
/** Waits until the log has so many. */
void real_log_until(struct real *re, struct real_node *node, int type,
		    unsigned nr);

/** A vector over flat memory, in segments of up to `seg` bytes. */
struct real_vec {
	struct m0_bufvec rv_vec;
	m0_bcount_t     *rv_counts;
	void           **rv_bufs;
};
void real_vec_init(struct real_vec *vec, void *data, size_t bytes, size_t seg);
void real_vec_fini(struct real_vec *vec);

/** Fills with what a seed says; and is it that? */
void real_fill(void *data, size_t bytes, uint64_t seed);
bool real_is(const void *data, size_t bytes, uint64_t seed);

/** An ME with an MD, and the MD of an operation; both with infinite threshold
 * unless changed by the caller beforehand. */
struct m0_lnet_me_attr real_me(uint64_t match_bits);
struct m0_lnet_md_attr real_md(const struct real_vec *vec, size_t bytes,
			       unsigned options, struct m0_lnet_eq *eq);
struct m0_lnet_op      real_op(const struct real_node *to, uint64_t match_bits);
struct m0_lnet_handle  real_attach(struct real_node             *node,
				   const struct m0_lnet_me_attr *me,
				   const struct m0_lnet_md_attr *md,
				   struct m0_lnet_handle        *ret_me);
struct m0_lnet_handle  real_bind(struct real_node             *node,
				 const struct m0_lnet_md_attr *md);

#endif /* M0_TESTS_LNET_REAL_H */
