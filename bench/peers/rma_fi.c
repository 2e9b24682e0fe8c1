/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* libfabric: reliable datagram end points of one provider, manual progress. */
#include <stdlib.h>
#include <string.h>

#include "fi.h"
#include "rma.h"

enum {
	SLOTS_MAX = 64,
	KEY = 77,
	BATCH = 16
};

static const char        *provider;
static struct fi_info    *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep     *ep;
static struct fid_av     *av;
static struct fid_cq     *cq;
static struct fid_mr     *mr;
static fi_addr_t          peer;
static char              *mine;
static uint64_t           his_base;
static uint64_t           his_key;
static struct fi_context2 contexts[SLOTS_MAX];

static void ck(long rc, const char *what)
{
	if (rc < 0)
		bench_die("%s: %s: %s", provider, what, fi_strerror((int)-rc));
}

void rma_init(const char *variant)
{
	provider = variant;
}

static void info_get(void)
{
	struct fi_info *want = fi_allocinfo();
	bool            near = strcmp(provider, "shm") == 0;

	want->caps = FI_MSG | FI_RMA;
	want->mode = FI_CONTEXT | FI_CONTEXT2;
	want->ep_attr->type = FI_EP_RDM;
	want->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				     FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	want->domain_attr->threading = FI_THREAD_DOMAIN;
	want->fabric_attr->prov_name = strdup(provider);
	/* shm gives each process a name of its own by itself. */
	ck(fi_getinfo(FI_VERSION(1, 15), near ? NULL : "127.0.0.1", NULL,
		      near ? 0 : FI_SOURCE, want, &info),
	   "fi_getinfo");
}

static void ep_open(char *mem, size_t bytes)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG,
				      .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	info_get();
	ck(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	ck(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	ck(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	ck(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	ck(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	ck(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	ck(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	ck(fi_enable(ep), "fi_enable");
	ck(fi_mr_reg(domain, mem, bytes,
		     FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
			     FI_REMOTE_WRITE,
		     0, KEY, 0, &mr, NULL),
	   "fi_mr_reg");
	mine = mem;
}

void rma_offer(char *mem, size_t bytes, struct rma_card *card)
{
	uint64_t key;

	ep_open(mem, bytes);
	card->rc_name_len = sizeof(card->rc_name);
	ck(fi_getname(&ep->fid, card->rc_name, &card->rc_name_len),
	   "fi_getname");
	card->rc_base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
				? (uintptr_t)mem
				: 0;
	key = fi_mr_key(mr);
	card->rc_key_len = sizeof(key);
	memcpy(card->rc_key, &key, sizeof(key));
}

void rma_reach(char *mem, size_t bytes, const struct rma_card *card)
{
	ep_open(mem, bytes);
	if (fi_av_insert(av, card->rc_name, 1, &peer, 0, NULL) != 1)
		bench_die("%s: fi_av_insert", provider);
	his_base = card->rc_base;
	memcpy(&his_key, card->rc_key, sizeof(his_key));
}

bool rma_begin(unsigned slot, bool is_put, size_t offset, size_t bytes,
	       bool delivered)
{
	void             *desc = fi_mr_desc(mr);
	struct iovec      iov = { mine + offset, bytes };
	struct fi_rma_iov his = { .addr = his_base + offset,
				  .len = bytes,
				  .key = his_key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .addr = peer,
				  .rma_iov = &his,
				  .rma_iov_count = 1,
				  .context = &contexts[slot] };
	uint64_t          flags = FI_COMPLETION;
	ssize_t           rc;

	if (is_put && delivered)
		flags |= FI_DELIVERY_COMPLETE;
	rc = is_put ? fi_writemsg(ep, &msg, flags)
		    : fi_readmsg(ep, &msg, flags);
	if (rc == -FI_EAGAIN)
		return false;
	ck(rc, "transfer");
	return true;
}

void rma_poll(void)
{
	struct fi_cq_msg_entry done[BATCH];
	struct fi_cq_err_entry bad = { 0 };
	ssize_t                nr = fi_cq_read(cq, done, BATCH);

	if (nr == -FI_EAVAIL) {
		fi_cq_readerr(cq, &bad, 0);
		ck(-bad.err, "completion");
	}
	for (ssize_t i = 0; i < nr; i++)
		rma_over((unsigned)((struct fi_context2 *)done[i].op_context -
				    contexts));
}
