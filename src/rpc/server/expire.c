/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Records of clients that have departed without a terminate are deleted by age, and by
 * need when the store is full, if the store outlives the machine.
 *
 * The record of a client says when it was known to live. A *sweep* goes through
 * all of them, some in each transaction: it renews those of clients that live, and
 * deletes those of others that are older than rc_client_keep_ns. If the store has
 * refused something for lack of room, it also deletes answers that were
 * acknowledged, and what is left of clients that this machine does not know and
 * that are older than rc_client_idle_ns. It deletes none before it has been up for
 * rc_client_idle_ns: so long they have to come back.
 *
 * A job reads. The machine decides, because it has the list of live clients. A second
 * job deletes, unless the record has changed meanwhile.
 */
#include "rpc/rpc_internal.h"
#include "rpc/core/record.h"

enum {
	/** Records of a transaction, and keys that it deletes: what it changes
	 * must fit into what a full store keeps for deleting. */
	RECORDS_NR = 8,
	KEYS_NR = 16,
	/** Sweeps in the time that a record is kept. */
	SWEEPS_NR = 8
};

/** Between sweeps, whatever is kept for how long. */
#define PAUSE_MIN_NS (10 * M0_TIME_ONE_MSEC)
#define PAUSE_MAX_NS (3600 * M0_TIME_ONE_SECOND)
/** Between sweeps by need. */
#define NEED_PAUSE_NS (100 * M0_TIME_ONE_MSEC)

enum fate {
	FATE_STAYS,
	FATE_RENEWED,
	FATE_TRIMMED,
	FATE_DELETED
};

struct m0_rpc__sweep {
	struct m0_rpc_store_job swp_store;
	struct m0_rpc__call     swp_call;
	struct m0_rpc__pause    swp_pause;
	struct m0_rpc__machine *swp_machine;
	int32_t                 swp_rc;
	/** A job is with the store. */
	bool swp_runs;
	/** This job deletes and renews; the others read. */
	bool swp_acts;
	/** Something was refused: since the sweep began; before it did. */
	bool      swp_needs_more;
	bool      swp_needs;
	m0_time_t swp_began;
	/** The last sweep did; 0: none has. */
	m0_time_t swp_ended;
	uint64_t  swp_wall_ns;
	/** The last one that was read. */
	struct m0_uint128           swp_at;
	uint32_t                    swp_nr;
	struct m0_rpc_record_client swp_client[RECORDS_NR];
	enum fate                   swp_fate[RECORDS_NR];
};

/* -------------------------------------------------- in transactions -- */

static int read_run(struct m0_rpc__sweep *w, struct m0_rpc_tx *tx)
{
	struct m0_rpc_record_client rec;
	struct m0_uint128           at = w->swp_at;
	int                         rc = 0;

	w->swp_nr = 0;
	while (w->swp_nr < RECORDS_NR) {
		rc = m0_rpc_record_client_next(tx, at, &rec);
		if (rc != 0)
			break;
		at = rec.rrc_uuid;
		w->swp_client[w->swp_nr++] = rec;
	}
	return rc == -ENOENT ? 0 : rc;
}

/* @retval -EAGAIN  there is more of this one. */
static int act_one(struct m0_rpc__sweep *w, struct m0_rpc_tx *tx, uint32_t i,
		   uint32_t *keys)
{
	struct m0_rpc_record_client *rec = &w->swp_client[i];
	struct m0_rpc_record_client  now;
	uint32_t                     nr = 0;
	int rc = m0_rpc_record_client_get(tx, rec->rrc_uuid, &now);

	M0_PRE(i < w->swp_nr);
	if (rc == -ENOENT)
		return 0;
	if (rc != 0 || now.rrc_incarnation != rec->rrc_incarnation)
		return rc;
	switch (w->swp_fate[i]) {
	case FATE_RENEWED:
		now.rrc_lived_ns = w->swp_wall_ns;
		return m0_rpc_record_client_put(tx, &now);
	case FATE_TRIMMED:
		rc = m0_rpc_record_client_trim(tx, rec->rrc_uuid, *keys, &nr);
		*keys -= nr;
		return rc;
	case FATE_DELETED:
		/* The client has come back meanwhile. */
		if (now.rrc_lived_ns != rec->rrc_lived_ns)
			return 0;
		rc = m0_rpc_record_client_del_some(tx, rec->rrc_uuid, *keys);
		*keys -= (uint32_t)min64u(*keys, KEYS_NR / RECORDS_NR);
		return rc;
	default:
		return 0;
	}
}

/* Note what is done, so that the next job goes on from there. */
static int act_run(struct m0_rpc__sweep *w, struct m0_rpc_tx *tx)
{
	uint32_t keys = KEYS_NR;
	uint32_t i;
	int      rc;

	M0_PRE(w->swp_nr <= RECORDS_NR);
	for (i = 0; i < w->swp_nr && keys > 0; ++i) {
		rc = act_one(w, tx, i, &keys);
		if (rc == -EAGAIN)
			return 0;
		if (rc != 0)
			return rc;
		w->swp_fate[i] = FATE_STAYS;
	}
	return 0;
}

static int sweep_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct m0_rpc__sweep *w =
		container_of(job, struct m0_rpc__sweep, swp_store);

	return w->swp_acts ? act_run(w, tx) : read_run(w, tx);
}

/* ----------------------------------------------------- on the machine -- */

static void sweep_next(struct m0_rpc__sweep *w);

static m0_time_t pause_ns(const struct m0_rpc__machine *m)
{
	return min64u(PAUSE_MAX_NS,
		      max64u(PAUSE_MIN_NS,
			     m->rml_cfg.rc_client_keep_ns / SWEEPS_NR));
}

static void pause_arm(struct m0_rpc__sweep *w, m0_time_t ns)
{
	struct m0_rpc__machine *m = w->swp_machine;

	m0_timerq_arm(&m->rml_timers.rtm_pauses, &w->swp_pause.rpa_timer,
		      m0_time_add(m->rml_now, ns));
}

static bool may_run(const struct m0_rpc__machine *m)
{
	return m->rml_phase == M0_RPC__RUNS;
}

static void sweep_done(struct m0_rpc__machine *m, struct m0_rpc__call *call);

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct m0_rpc__sweep *w =
		container_of(job, struct m0_rpc__sweep, swp_store);
	int pushed;

	w->swp_rc = rc;
	w->swp_call.rcl_run = sweep_done;
	pushed = m0_rpc__call_push(w->swp_machine, &w->swp_call);
	M0_ASSERT_INFO(pushed == 0, "stop waits for a sweep's job");
}

static void sweep_give(struct m0_rpc__sweep *w, bool acts)
{
	struct m0_rpc__machine *m = w->swp_machine;

	M0_PRE(!w->swp_runs);
	w->swp_acts = acts;
	w->swp_runs = true;
	++m->rml_server.rsv_executing_nr;
	w->swp_store.sj_run = sweep_run;
	w->swp_store.sj_done = job_done;
	m0_rpc__store_exec(m, &w->swp_store);
}

static uint64_t age_ns(const struct m0_rpc__sweep        *w,
		       const struct m0_rpc_record_client *rec)
{
	/* Clocks of the wall may be set back. */
	return w->swp_wall_ns > rec->rrc_lived_ns
		       ? w->swp_wall_ns - rec->rrc_lived_ns
		       : 0;
}

/* Clients of the machine before this one need time to come back. */
static bool is_up_for(const struct m0_rpc__machine *m,
		      const struct m0_rpc__sweep *w, m0_time_t ns)
{
	return m->rml_now > m0_time_add(w->swp_began, ns);
}

static enum fate fate_of(const struct m0_rpc__sweep        *w,
			 const struct m0_rpc_record_client *rec)
{
	const struct m0_rpc__machine *m = w->swp_machine;
	const struct m0_rpc_cfg      *cfg = &m->rml_cfg;
	uint64_t                      age = age_ns(w, rec);

	if (m0_rpc__client_lives(m, &rec->rrc_uuid)) {
		if (age > cfg->rc_client_keep_ns / (SWEEPS_NR / 2))
			return FATE_RENEWED;
		return w->swp_needs ? FATE_TRIMMED : FATE_STAYS;
	}
	/* Not known, by an older library: its time begins now. */
	if (rec->rrc_lived_ns == 0)
		return FATE_RENEWED;
	if (is_up_for(m, w,
		      min64u(cfg->rc_client_idle_ns, cfg->rc_client_keep_ns)) &&
	    (age > cfg->rc_client_keep_ns ||
	     (w->swp_needs && age > cfg->rc_client_idle_ns)))
		return FATE_DELETED;
	return w->swp_needs ? FATE_TRIMMED : FATE_STAYS;
}

static bool has_acts(const struct m0_rpc__sweep *w)
{
	uint32_t i;

	for (i = 0; i < w->swp_nr; ++i)
		if (w->swp_fate[i] != FATE_STAYS)
			return true;
	return false;
}

static void sweep_end(struct m0_rpc__sweep *w)
{
	struct m0_rpc__machine *m = w->swp_machine;

	M0_PRE(!w->swp_runs);
	/* One that was needed before the machine was up for long enough is
	 * needed again then. */
	if (w->swp_needs && !is_up_for(m, w, m->rml_cfg.rc_client_idle_ns))
		w->swp_needs_more = true;
	w->swp_needs = w->swp_needs_more;
	w->swp_needs_more = false;
	w->swp_ended = m->rml_now;
	pause_arm(w, w->swp_needs ? max64u(NEED_PAUSE_NS,
					   m->rml_cfg.rc_client_idle_ns / 8)
				  : pause_ns(m));
}

static void sweep_done(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__sweep *w =
		container_of(call, struct m0_rpc__sweep, swp_call);
	uint32_t i;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(w->swp_runs);
	w->swp_runs = false;
	--m->rml_server.rsv_executing_nr;
	w->swp_needs_more = w->swp_needs_more || w->swp_rc == -ENOSPC;
	if (w->swp_rc != 0 || !may_run(m)) {
		sweep_end(w);
		return;
	}
	if (!w->swp_acts) {
		for (i = 0; i < w->swp_nr; ++i)
			w->swp_fate[i] = fate_of(w, &w->swp_client[i]);
	}
	sweep_next(w);
}

static void sweep_next(struct m0_rpc__sweep *w)
{
	bool was_read = !w->swp_acts;

	if (has_acts(w)) {
		sweep_give(w, true);
	} else if (was_read && w->swp_nr < RECORDS_NR) {
		sweep_end(w);
	} else {
		w->swp_at = w->swp_client[w->swp_nr - 1].rrc_uuid;
		sweep_give(w, false);
	}
}

static void sweep_begin(struct m0_rpc__pause *pause)
{
	struct m0_rpc__sweep *w =
		container_of(pause, struct m0_rpc__sweep, swp_pause);

	if (w->swp_runs || !may_run(w->swp_machine))
		return;
	w->swp_wall_ns = m0_os_wall_ns();
	w->swp_at = M0_UINT128(0, 0);
	w->swp_nr = 0;
	sweep_give(w, false);
}

void m0_rpc__sweep_need(struct m0_rpc__machine *m)
{
	struct m0_rpc__sweep *w = m->rml_server.rsv_sweep;
	m0_time_t             at;

	M0_PRE(m0_rpc__is_here(m));
	if (w == NULL || !may_run(m))
		return;
	if (w->swp_runs) {
		w->swp_needs_more = true;
		return;
	}
	/* At once, but not again and again. */
	at = max64u(m->rml_now + M0_TIME_ONE_MSEC,
		    w->swp_ended == 0
			    ? 0
			    : m0_time_add(w->swp_ended, NEED_PAUSE_NS));
	w->swp_needs = true;
	if (m0_timer_deadline(&w->swp_pause.rpa_timer) > at)
		pause_arm(w, at - m->rml_now);
}

int m0_rpc__sweep_init(struct m0_rpc__machine *m)
{
	struct m0_rpc__sweep *w;

	M0_PRE(m->rml_server.rsv_sweep == NULL);
	if (m->rml_jobs.rjb_store_is_own)
		return 0;
	M0_ALLOC_PTR(w);
	if (w == NULL)
		return -ENOMEM;
	w->swp_machine = m;
	w->swp_began = m->rml_now;
	m0_rpc__pause_init(&w->swp_pause, sweep_begin);
	m->rml_server.rsv_sweep = w;
	pause_arm(w, pause_ns(m));
	return 0;
}

void m0_rpc__sweep_fini(struct m0_rpc__machine *m)
{
	struct m0_rpc__sweep *w = m->rml_server.rsv_sweep;

	if (w == NULL)
		return;
	M0_PRE(!w->swp_runs);
	m0_timerq_cancel(&m->rml_timers.rtm_pauses, &w->swp_pause.rpa_timer);
	m0_timer_fini(&w->swp_pause.rpa_timer);
	m0_free(w);
	m->rml_server.rsv_sweep = NULL;
}
