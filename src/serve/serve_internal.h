/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The server of an attached process: what its files share.
 */
#ifndef M0_SRC_SERVE_SERVE_INTERNAL_H
#define M0_SRC_SERVE_SERVE_INTERNAL_H

#include "serve/serve.h"

enum {
	/** Segments for which an MD has room. */
	M0_SERVE_SEGS_NR = 4
};

/* A generation of 0 means that the number is not in use. */

/** Count of an ME in the table of its portal. */
enum m0_serve_hold {
	M0_SERVE_HOLDS_NOTHING,
	M0_SERVE_HOLDS_RAW,
	M0_SERVE_HOLDS_NUMBER
};

struct m0_serve_me {
	struct m0_lnet_handle vme_handle;
	uint32_t              vme_gen;
	uint32_t              vme_flags;
	/** The last generation; an MD for it that comes later ends with vme_gone_rc. */
	uint32_t vme_gone_gen;
	int32_t  vme_gone_rc;
	/** enum m0_serve_hold; its portal and number. */
	uint16_t vme_hold;
	uint16_t vme_portal;
	uint32_t vme_tmid;
};

struct m0_serve_md {
	struct m0_serve      *vmd_serve;
	struct m0_serve_eq   *vmd_eq;
	struct m0_lnet_handle vmd_handle;
	uint32_t              vmd_nr;
	uint32_t              vmd_gen;
	/** Its ME; M0_RING_NR_NONE: it is bound. */
	uint32_t vmd_me;
	uint32_t vmd_me_gen;
	/** Operations on it that are not done. */
	struct m0_serve_op *vmd_ops;
	struct m0_bufvec    vmd_vec;
	void              **vmd_buf;
	m0_bcount_t        *vmd_count;
	uint32_t           *vmd_regions;
	void               *vmd_own_buf[M0_SERVE_SEGS_NR];
	m0_bcount_t         vmd_own_count[M0_SERVE_SEGS_NR];
	uint32_t            vmd_own_regions[M0_SERVE_SEGS_NR];
	/** A long list, made for this MD; NULL: it is its own. */
	void *vmd_long;
};

struct m0_serve_op {
	struct m0_serve_md *vop_md;
	struct m0_serve_op *vop_next;
	uint32_t            vop_nr;
	uint32_t            vop_gen;
	/** Events that it may still have, and entries reserved for them. */
	uint32_t vop_events_nr;
	uint32_t vop_owed_nr;
};

struct m0_serve_eq {
	struct m0_lnet_eq veq_eq;
	struct m0_serve  *veq_serve;
	uint32_t          veq_nr;
	/** m0_lnet_eq_init() was called; the process has it. */
	bool veq_is_made;
	bool veq_is_used;
	/** MDs on it. */
	uint32_t veq_mds_nr;
	/** Incoming messages that were put, and those that the process has taken as of
	 * the last look. */
	uint32_t veq_put_nr;
	uint32_t veq_taken_nr;
};

/* -- serve_table.c --------------------------------------------------------- */

/** @retval -ENOMEM */
int  m0_serve__table_init(struct m0_serve_table *table, uint32_t max,
			  uint32_t bytes);
void m0_serve__table_fini(struct m0_serve_table *table);

/** The object of a number that was checked; NULL: none of its chunk was ever used. */
void *m0_serve__at(const struct m0_serve_table *table, uint32_t nr);
/** As m0_serve__at(), and makes its chunk. NULL: no memory. */
void *m0_serve__make(struct m0_serve_table *table, uint32_t nr);
/** The process breaks the rules: ends the attachment. @return -EPROTO */
int m0_serve__broken(struct m0_serve *srv, const char *field, uint64_t value,
		     const char *words);

static inline struct m0_serve_me *m0_serve__me(const struct m0_serve *srv,
					       uint32_t               nr)
{
	return m0_serve__at(&srv->srv_mes, nr);
}
static inline struct m0_serve_md *m0_serve__md(const struct m0_serve *srv,
					       uint32_t               nr)
{
	return m0_serve__at(&srv->srv_mds, nr);
}
static inline struct m0_serve_eq *m0_serve__eq(const struct m0_serve *srv,
					       uint32_t               nr)
{
	return m0_serve__at(&srv->srv_eqs, nr);
}

/* -- serve_do.c ------------------------------------------------------------ */

/** Carries out srv_req, whose events are reserved. @return 0, or -EPROTO */
int m0_serve__do(struct m0_serve *srv);
/** Unlinks everything. MDs end by their last events. */
void m0_serve__unlink_all(struct m0_serve *srv);
/** Cancels probes. @return true if this is to be done once more, in the next step. */
bool m0_serve__probes_cancel(struct m0_serve *srv);

/* -- serve_md.c ------------------------------------------------------------ */

/**
 * Fills the attributes of the MD of srv_req.
 * @retval -EFAULT  a segment is not of a region. @retval -ENOENT its queue is not there
 * @retval -ENOMEM
 */
int m0_serve__md_fill(struct m0_serve *srv, struct m0_serve_md *md,
		      struct m0_lnet_md_attr *attr);
/** The MD has begun. */
void m0_serve__md_live(struct m0_serve *srv, struct m0_serve_md *md,
		       struct m0_lnet_handle handle);
/** Gives up what m0_serve__md_fill() took. */
void m0_serve__md_clear(struct m0_serve *srv, struct m0_serve_md *md);

/* -- serve_eq.c ------------------------------------------------------------ */

/** An event queue begins, or ends. @return 0 or a negative errno */
int m0_serve__eq_add(struct m0_serve *srv, uint32_t nr,
		     const struct m0_shared_eq_add *add);
int m0_serve__eq_del(struct m0_serve *srv, uint32_t nr);
/** Reports the incoming messages that the process has taken to the node.
 * @retval -EPROTO */
int m0_serve__eqs_taken(struct m0_serve *srv);

/* -- serve_report.c -------------------------------------------------------- */

/** Puts a report for which an entry is reserved. */
void m0_serve__report(struct m0_serve *srv, const struct m0_shared_report *rep);
void m0_serve__me_gone(struct m0_serve *srv, uint32_t nr,
		       struct m0_serve_me *me);
/** The end of an MD that the node has not taken. */
void m0_serve__md_refuse(struct m0_serve *srv, const struct m0_serve_md *md,
			 int status);
/** The operation has no more events. */
void m0_serve__op_done(struct m0_serve *srv, struct m0_serve_op *op,
		       bool with_report);
/** The callback of all queues. */
void m0_serve__event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev);
/** eq_told of all queues. */
void m0_serve__batch_end(struct m0_lnet_eq *eq);

/* -- serve_tm.c ------------------------------------------------------------ */

/**
 * May the process use the portal?
 * @param what  the operation, for the log.
 * @return 0, or -EACCES, which is counted.
 */
int m0_serve__portal_may(struct m0_serve *srv, const char *what,
			 uint32_t portal);
/**
 * May the process have this ME? If so the ME counts in the table of its portal.
 * @retval -EACCES      the policy has not the portal or the number; or the ME may match
 *                      numbers that the process has not claimed.
 * @retval -EADDRINUSE  another process has the number.
 */
int m0_serve__me_hold(struct m0_serve *srv, struct m0_serve_me *me,
		      const struct m0_lnet_me_attr *attr);
/** The ME has ended. */
void m0_serve__me_unhold(struct m0_serve *srv, struct m0_serve_me *me);
/** May the process let messages of the portal wait, or drop those that do? */
bool m0_serve__lazy_may(struct m0_serve *srv, uint32_t portal);
/** @param wanted  a number, or M0_SHARED_TMID_ANY. @param ret  the number. */
int m0_serve__tm_claim(struct m0_serve *srv, uint32_t portal, uint32_t wanted,
		       uint64_t *ret);
int m0_serve__tm_release(struct m0_serve *srv, uint32_t portal, uint32_t nr);
/** QUEUE_NAME. An ME for which it is not accepted is not found by TM_FIND. */
void m0_serve__queue_name(struct m0_serve *srv, struct m0_serve_me *me,
			  uint64_t name);
/** @retval -ENOENT  none takes messages itself. @retval -EACCES */
int m0_serve__tm_find(struct m0_serve *srv, uint32_t portal, uint32_t nr,
		      uint64_t *ret);
/** Does the process take messages with these match bits itself? */
bool m0_serve__tm_is_named(const struct m0_serve *srv, uint32_t portal,
			   uint64_t bits);
/** Releases all numbers of the process. */
void m0_serve__tms_end(struct m0_serve *srv);

/* -- serve_copy.c ---------------------------------------------------------- */

/** In the first run: others may copy from the process, and it from them. */
void m0_serve__copies_begin(struct m0_serve *srv);
/** A region was added, or one that was at this address was unmapped. */
void m0_serve__copy_region_add(struct m0_serve *srv, uint32_t nr);
void m0_serve__copy_region_del(struct m0_serve *srv, const void *addr);
/** Counts the bytes of an event that came from this node. */
void m0_serve__near_count(struct m0_serve *srv, const struct m0_lnet_event *ev);
/** COPY_DONE. @return 0, or -EPROTO */
int m0_serve__copy_done(struct m0_serve *srv);
/** The process copies no more: the daemon does what it was asked for. */
void m0_serve__copies_cut(struct m0_serve *srv);
/** Its regions are to be unmapped. */
void m0_serve__copies_end(struct m0_serve *srv);

#endif /* M0_SRC_SERVE_SERVE_INTERNAL_H */
