/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * libfabric's provider shm: requests and answers by send and receive of reliable datagram end
 * points with manual progress. Both sides send by fi_inject(), which needs no completion.
 */
#include <string.h>

#include "fi.h"
#include "req.h"

enum {
	BATCH = 16,
	/** Looks of a server before it returns. */
	LOOKS = 16
};

static struct fi_info    *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep     *ep;
static struct fid_av     *av;
static struct fid_cq     *cq;
static fi_addr_t          peer = FI_ADDR_UNSPEC;
static int                other_side;
static unsigned           flight_nr;
static struct fi_context2 contexts[REQ_FLIGHT_MAX];
static uint64_t           bodies[REQ_FLIGHT_MAX][REQ_BYTES / sizeof(uint64_t)];

static void fi_ck(long rc, const char *what)
{
	if (rc < 0)
		bench_die("shm: %s: %s", what, fi_strerror((int)-rc));
}

static void info_get(void)
{
	struct fi_info *want = fi_allocinfo();

	want->caps = FI_MSG;
	want->mode = FI_CONTEXT | FI_CONTEXT2;
	want->ep_attr->type = FI_EP_RDM;
	want->domain_attr->threading = FI_THREAD_DOMAIN;
	want->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	want->fabric_attr->prov_name = strdup("shm");
	fi_ck(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, want, &info),
	      "fi_getinfo");
}

static void recv_post(unsigned slot)
{
	fi_ck(fi_recv(ep, bodies[slot], REQ_BYTES, NULL, FI_ADDR_UNSPEC,
		      &contexts[slot]),
	      "fi_recv");
}

static void ep_open(int side, unsigned flight)
{
	size_t            len = REQ_CARD_BYTES;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG,
				      .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	info_get();
	fi_ck(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	fi_ck(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	fi_ck(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	fi_ck(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	fi_ck(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	fi_ck(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	fi_ck(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	fi_ck(fi_enable(ep), "fi_enable");
	fi_ck(fi_getname(&ep->fid, req_cards[side], &len), "fi_getname");
	other_side = 1 - side;
	flight_nr = flight;
	for (unsigned i = 0; i < flight; i++)
		recv_post(i);
}

static void peer_reach(void)
{
	if (peer == FI_ADDR_UNSPEC &&
	    fi_av_insert(av, req_cards[other_side], 1, &peer, 0, NULL) != 1)
		bench_die("shm: fi_av_insert");
}

/* Messages that have come, by slot. */
static unsigned look(unsigned slots[BATCH])
{
	struct fi_cq_msg_entry done[BATCH];
	struct fi_cq_err_entry bad = { 0 };
	ssize_t                nr = fi_cq_read(cq, done, BATCH);

	if (nr == -FI_EAVAIL) {
		fi_cq_readerr(cq, &bad, 0);
		fi_ck(-bad.err, "completion");
	}
	for (ssize_t i = 0; i < nr; i++) {
		if (done[i].len != REQ_BYTES)
			bench_die("shm: %zu bytes", done[i].len);
		slots[i] = (unsigned)((struct fi_context2 *)done[i].op_context -
				      contexts);
	}
	return nr > 0 ? (unsigned)nr : 0;
}

static void msg_send(const void *bytes)
{
	ssize_t rc;

	/* Messages that come meanwhile stay in the queue, which has room for all of them. */
	do {
		rc = fi_inject(ep, bytes, REQ_BYTES, peer);
		if (rc == -FI_EAGAIN)
			(void)fi_cq_read(cq, NULL, 0);
	} while (rc == -FI_EAGAIN);
	fi_ck(rc, "fi_inject");
}

void req_server_open(const char *where, unsigned flight)
{
	(void)where;
	ep_open(1, flight);
}

void req_server_turn(void)
{
	unsigned slots[BATCH];

	for (unsigned i = 0; i < LOOKS; i++) {
		unsigned nr = look(slots);

		if (nr > 0)
			peer_reach();
		for (unsigned j = 0; j < nr; j++) {
			msg_send(bodies[slots[j]]);
			recv_post(slots[j]);
		}
	}
}

/* The end of the process ends the library, too; its file in /dev/shm has to go. */
static void end(void)
{
	fi_ck(fi_close(&ep->fid), "fi_close");
}

void req_server_close(void)
{
	end();
}

void req_open(const char *where, unsigned flight)
{
	(void)where;
	ep_open(0, flight);
	peer_reach();
}

static void ask(uint64_t word)
{
	uint64_t body[REQ_BYTES / sizeof(uint64_t)] = { word };

	msg_send(body);
}

uint64_t req_run(uint64_t nr)
{
	uint64_t asked = 0;
	uint64_t done = 0;
	uint64_t sum = 0;

	nr = nr < flight_nr ? flight_nr : nr;
	while (asked < flight_nr)
		ask(++asked);
	while (done < nr) {
		unsigned slots[BATCH];
		unsigned got = look(slots);

		for (unsigned i = 0; i < got; i++) {
			sum += bodies[slots[i]][0];
			recv_post(slots[i]);
			done++;
			if (asked < nr)
				ask(++asked);
		}
	}
	if (sum != nr * (nr + 1) / 2)
		bench_die("shm: other answers");
	return nr;
}

void req_close(void)
{
	end();
}
