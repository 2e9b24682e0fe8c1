/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rate of 1 MiB transfers, by LNet's selftest at the peer. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "doctor.h"
#include "selftest/selftest.h"

enum {
	BULK_BYTES = 1 << 20,
	/** Transfers at a time. */
	DEPTH = 4,
	SESSION_MS = 1000,
	CALL_MS = 2000
};

#define RATE_TIME (M0_TIME_ONE_SECOND / 2)

struct doctor_rate {
	struct m0_st     *dra_st;
	struct m0_st_sid  dra_sid;
	struct m0_st_call dra_calls[DEPTH];
	uint8_t          *dra_bytes;
	uint64_t          dra_done_bytes;
};

static void call_make(const struct doctor *doctor, struct doctor_rate *rate,
		      struct m0_st_call *call, uint32_t type)
{
	M0_SET0(call);
	call->scl_dest.lp_nid = doctor->dtr_nid;
	call->scl_dest.lp_pid = M0_LNET_PID_LUSTRE;
	call->scl_request.smg_type = type;
	call->scl_request.smg_feats = M0_ST_FEAT_LEN;
	call->scl_request.smg_sid = rate->dra_sid;
}

/* @return 0, or an error of the call or of the peer. */
static int session(struct doctor *doctor, struct doctor_rate *rate,
		   uint32_t type)
{
	struct m0_st_call *call = &rate->dra_calls[0];

	call_make(doctor, rate, call, type);
	snprintf(call->scl_request.smg_name, sizeof call->scl_request.smg_name,
		 "doctor");
	m0_st_calls(rate->dra_st, call, 1, doctor_left_ms(doctor, SESSION_MS));
	return call->scl_rc != 0 ? call->scl_rc
				 : -(int)call->scl_reply.smg_status;
}

/* Writes to the peer for a while. @return 0, or an error. */
static int writes(struct doctor *doctor, struct doctor_rate *rate)
{
	m0_time_t until = m0_time_add(m0_time_now(), RATE_TIME);
	int       rc = 0;
	size_t    i;

	while (rc == 0 && m0_time_now() < until) {
		for (i = 0; i < DEPTH; ++i) {
			struct m0_st_call *call = &rate->dra_calls[i];

			call_make(doctor, rate, call, M0_ST_BRW);
			call->scl_request.smg_rw = M0_ST_WRITE;
			call->scl_request.smg_bytes = BULK_BYTES;
			call->scl_request.smg_check = M0_ST_CHECK_NONE;
			call->scl_bulk = rate->dra_bytes;
			call->scl_bulk_bytes = BULK_BYTES;
		}
		m0_st_calls(rate->dra_st, rate->dra_calls, DEPTH,
			    doctor_left_ms(doctor, CALL_MS));
		for (i = 0; i < DEPTH && rc == 0; ++i) {
			const struct m0_st_call *call = &rate->dra_calls[i];

			rc = call->scl_rc != 0
				     ? call->scl_rc
				     : -(int)call->scl_reply.smg_status;
			rate->dra_done_bytes += rc == 0 ? BULK_BYTES : 0;
		}
	}
	return rc;
}

static void rate_run(struct doctor *doctor, struct doctor_rate *rate)
{
	int       rc = session(doctor, rate, M0_ST_MKSN);
	m0_time_t began;

	if (rc == -EBUSY) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_SKIPPED,
			    "the peer has a test session of somebody else");
		doctor_remedy(doctor, DOCTOR_RATE,
			      "to measure, try again when that has ended");
		return;
	}
	if (rc != 0) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_SKIPPED,
			    "the peer is no test node: %s", tool_errtext(rc));
		doctor_remedy(doctor, DOCTOR_RATE,
			      "to measure, start it with `colibri node "
			      "--selftest', or load lnet_selftest");
		return;
	}
	began = m0_time_now();
	rc = writes(doctor, rate);
	if (rc != 0) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_FAIL,
			    "a transfer of 1 MiB failed: %s", tool_errtext(rc));
		doctor_remedy(doctor, DOCTOR_RATE,
			      "small messages pass and large ones do not: look "
			      "at the MTU of all switches of the path");
	} else {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_OK,
			    "%.0f MB/s, 1 MiB writes, %d at a time",
			    (double)rate->dra_done_bytes * 1e3 /
				    (double)(m0_time_now() - began),
			    DEPTH);
	}
	(void)session(doctor, rate, M0_ST_RMSN);
}

static int rate_open(struct doctor *doctor, struct doctor_rate *rate)
{
	struct m0_lnet_process_id self;
	struct m0_st_cfg          cfg;

	/* The first NID of a node of its own is the loopback. */
	if (m0_lnet_get_id(doctor->dtr_lnet, 1, &self) != 0 &&
	    m0_lnet_get_id(doctor->dtr_lnet, 0, &self) != 0)
		return -EADDRNOTAVAIL;
	rate->dra_sid.sid_nid4 = m0_lnet_nid_hash(&self.lp_nid);
	rate->dra_sid.sid_stamp = m0_time_now() / M0_TIME_ONE_MSEC;
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = doctor->dtr_lnet;
	return m0_st_open(&rate->dra_st, &cfg);
}

void doctor_rate_check(struct doctor *doctor)
{
	struct doctor_rate *rate;
	int                 rc;

	if (doctor->dtr_is_table) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_SKIPPED,
			    "measured for one NID only");
		return;
	}
	if (doctor->dtr_by_ctl || doctor->dtr_attaches) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_SKIPPED,
			    "only a node of this process measures it");
		doctor_remedy(
			doctor, DOCTOR_RATE,
			"give --net 'tcp(ADDRESS)' with another address of "
			"this host, or use `colibri lst'");
		return;
	}
	rate = calloc(1, sizeof *rate);
	if (rate != NULL)
		rate->dra_bytes = calloc(1, BULK_BYTES);
	rc = rate == NULL || rate->dra_bytes == NULL ? -ENOMEM
						     : rate_open(doctor, rate);
	if (rc != 0) {
		doctor_note(doctor, DOCTOR_RATE, DOCTOR_SKIPPED,
			    "the selftest cannot be used here: %s",
			    tool_errtext(rc));
	} else {
		rate_run(doctor, rate);
		m0_st_close(rate->dra_st);
	}
	if (rate != NULL)
		free(rate->dra_bytes);
	free(rate);
}
