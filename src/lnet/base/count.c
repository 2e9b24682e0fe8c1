/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Counters of messages and failures. */
#include "lnet/lnet_internal.h"

void m0_lnet__failure_count(struct m0_lnet_failures *lf,
			    enum m0_lnd_health       health)
{
	/* In the order of the enumeration, without M0_LND_OK. */
	uint64_t *const counts[] = {
		[M0_LND_LOCAL_INTERRUPT] = &lf->lf_local_interrupt,
		[M0_LND_LOCAL_DROPPED] = &lf->lf_local_dropped,
		[M0_LND_LOCAL_ABORTED] = &lf->lf_local_aborted,
		[M0_LND_LOCAL_NO_ROUTE] = &lf->lf_local_no_route,
		[M0_LND_LOCAL_ERROR] = &lf->lf_local_error,
		[M0_LND_LOCAL_TIMEOUT] = &lf->lf_local_timeout,
		[M0_LND_REMOTE_ERROR] = &lf->lf_remote_error,
		[M0_LND_REMOTE_DROPPED] = &lf->lf_remote_dropped,
		[M0_LND_REMOTE_TIMEOUT] = &lf->lf_remote_timeout,
		[M0_LND_NETWORK_TIMEOUT] = &lf->lf_network_timeout,
	};

	if (health != M0_LND_OK && health < ARRAY_SIZE(counts))
		++*counts[health];
}

const char *m0_lnet__type_name(uint32_t type)
{
	static const char *const names[] = {
		[M0_LNET_ACK] = "ACK",
		[M0_LNET_PUT] = "PUT",
		[M0_LNET_GET] = "GET",
		[M0_LNET_REPLY] = "REPLY",
	};

	M0_PRE_EX(type < ARRAY_SIZE(names));
	return names[type];
}

void m0_lnet__traffic_count(struct m0_lnet_msg_counts *counts, uint32_t type)
{
	switch (type) {
	case M0_LNET_ACK:
		++counts->lmc_ack;
		break;
	case M0_LNET_PUT:
		++counts->lmc_put;
		break;
	case M0_LNET_GET:
		++counts->lmc_get;
		break;
	default:
		++counts->lmc_reply;
		break;
	}
}

void m0_lnet__latency_count(struct m0_lnet_latency *latency, m0_time_t ns)
{
	/* The duration is at most 1 << bits. */
	unsigned bits = ns <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(ns - 1);
	unsigned i = bits <= M0_LNET_LATENCY_SHIFT
			     ? 0
			     : (bits - M0_LNET_LATENCY_SHIFT + 1) / 2;

	++latency->lly_nr[min_check(i, (unsigned)M0_LNET_LATENCY_BOUNDS_NR)];
	latency->lly_sum_ns += ns;
}
