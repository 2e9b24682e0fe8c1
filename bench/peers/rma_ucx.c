/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UCX: put and get of UCP, over the transports of UCX_TLS. */
#include <stdlib.h>
#include <string.h>

#include "rma.h"
#include "ucx.h"

static const char   *transports;
static ucp_context_h context;
static ucp_worker_h  worker;
static ucp_ep_h      ep;
static ucp_mem_h     memory;
static ucp_rkey_h    rkey;
static char         *mine;
static uint64_t      his_base;

static void ck(ucs_status_t status, const char *what)
{
	if (status != UCS_OK)
		bench_die("ucx: %s: %s", what, ucs_status_string(status));
}

void rma_init(const char *variant)
{
	transports = variant;
}

static void worker_open(char *mem, size_t bytes)
{
	const ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES,
				      .features = UCP_FEATURE_RMA };
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE
	};
	const ucp_mem_map_params_t map = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
			      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = mem,
		.length = bytes
	};
	ucp_config_t *config;

	ck(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
	ck(ucp_config_modify(config, "TLS", transports), "TLS");
	ck(ucp_config_modify(config, "NET_DEVICES", "lo"), "NET_DEVICES");
	ck(ucp_init(&params, config, &context), "ucp_init");
	ucp_config_release(config);
	ck(ucp_worker_create(context, &worker_params, &worker),
	   "ucp_worker_create");
	ck(ucp_mem_map(context, &map, &memory), "ucp_mem_map");
	mine = mem;
}

void rma_offer(char *mem, size_t bytes, struct rma_card *card)
{
	ucp_address_t *name;
	void          *key;

	worker_open(mem, bytes);
	ck(ucp_worker_get_address(worker, &name, &card->rc_name_len),
	   "ucp_worker_get_address");
	ck(ucp_rkey_pack(context, memory, &key, &card->rc_key_len),
	   "ucp_rkey_pack");
	if (card->rc_name_len > RMA_NAME_MAX || card->rc_key_len > RMA_KEY_MAX)
		bench_die("ucx: name or key is too long");
	memcpy(card->rc_name, name, card->rc_name_len);
	memcpy(card->rc_key, key, card->rc_key_len);
	card->rc_base = (uintptr_t)mem;
	ucp_rkey_buffer_release(key);
	ucp_worker_release_address(worker, name);
}

void rma_reach(char *mem, size_t bytes, const struct rma_card *card)
{
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
		.address = (const ucp_address_t *)card->rc_name
	};

	worker_open(mem, bytes);
	ck(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
	ck(ucp_ep_rkey_unpack(ep, card->rc_key, &rkey), "ucp_ep_rkey_unpack");
	his_base = card->rc_base;
}

static void flushed(void *request, ucs_status_t status, void *user)
{
	ck(status, "flush");
	if (request != NULL)
		ucp_request_free(request);
	rma_over((unsigned)(uintptr_t)user);
}

/** A put ends here when the memory may be used again; this waits for more. */
static void flush(unsigned slot)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
				UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = &flushed,
		.user_data = (void *)(uintptr_t)slot
	};
	ucs_status_ptr_t rc = ucp_ep_flush_nbx(ep, &param);

	if (rc == NULL)
		rma_over(slot);
	else if (UCS_PTR_IS_ERR(rc))
		ck(UCS_PTR_STATUS(rc), "flush");
}

static void moved(void *request, ucs_status_t status, void *user)
{
	ck(status, "transfer");
	if (request != NULL)
		ucp_request_free(request);
	rma_over((unsigned)(uintptr_t)user);
}

bool rma_begin(unsigned slot, bool is_put, size_t offset, size_t bytes,
	       bool delivered)
{
	/* A put that must be delivered ends with the flush instead. */
	bool                      flushes = is_put && delivered;
	const ucp_request_param_t param = {
		.op_attr_mask = flushes ? 0
					: UCP_OP_ATTR_FIELD_CALLBACK |
						  UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = &moved,
		.user_data = (void *)(uintptr_t)slot
	};
	ucs_status_ptr_t rc;

	rc = is_put ? ucp_put_nbx(ep, mine + offset, bytes, his_base + offset,
				  rkey, &param)
		    : ucp_get_nbx(ep, mine + offset, bytes, his_base + offset,
				  rkey, &param);
	if (UCS_PTR_IS_ERR(rc))
		ck(UCS_PTR_STATUS(rc), "transfer");
	if (flushes) {
		if (rc != NULL)
			ucp_request_free(rc);
		flush(slot);
	} else if (rc == NULL) {
		rma_over(slot);
	}
	return true;
}

void rma_poll(void)
{
	ucp_worker_progress(worker);
}
