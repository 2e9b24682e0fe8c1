/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * UCX: active messages of 64 B between two processes, both of which poll. Prints lines
 * `name value unit`, as netbench does: `m0` of netbench is beside `am`.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ucx.h"
#include "../net/net_world.h"

static const char usage[] =
	"ucxam [-t SLICE_S] [-n SLICES] [-c CPU,CPU] TRANSPORTS ping|rate\n"
	"  64 B one way; 64 B with 64 queued";

enum {
	NAME_MAX_BYTES = 1024,
	MSG_BYTES = 64,
	DEPTH = 64,
	/** Most that are sent and not received, as netbench has. */
	AHEAD = 256,
	AM = 1
};

/** Memory of both sides. */
struct card {
	char cd_name[2][NAME_MAX_BYTES];
	_Alignas(128) _Atomic uint64_t cd_got;
};

static const char       *transports;
static bool              is_ping;
static struct world_play play;
static struct card      *card;
static ucp_context_h     context;
static ucp_worker_h      worker;
static ucp_ep_h          ep;
static int               my_side;
static char              msg[MSG_BYTES];
static uint64_t          sum;
static uint64_t          left;
static uint64_t          queued;

static void ck(ucs_status_t status, const char *what)
{
	if (status != UCS_OK)
		bench_die("ucx: %s: %s", what, ucs_status_string(status));
}

static void sent(void *request, ucs_status_t status, void *user)
{
	(void)user;
	ck(status, "send");
	queued--;
	ucp_request_free(request);
}

static void am_send(uint64_t word)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK,
		.cb.send = &sent,
	};
	ucs_status_ptr_t rc;

	memcpy(msg, &word, sizeof(word));
	queued++;
	rc = ucp_am_send_nbx(ep, AM, NULL, 0, msg, sizeof(msg), &param);
	if (rc == NULL)
		queued--;
	else if (UCS_PTR_IS_ERR(rc))
		ck(UCS_PTR_STATUS(rc), "send");
}

static ucs_status_t received(void *arg, const void *header, size_t header_bytes,
			     void *data, size_t bytes,
			     const ucp_am_recv_param_t *param)
{
	uint64_t word;

	(void)arg;
	(void)header;
	(void)header_bytes;
	if (bytes != MSG_BYTES ||
	    (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
		bench_die("ucx: %zu bytes", bytes);
	memcpy(&word, data, sizeof(word));
	sum += word;
	if (!is_ping)
		atomic_store_explicit(
			&card->cd_got,
			atomic_load_explicit(&card->cd_got,
					     memory_order_relaxed) +
				1,
			memory_order_release);
	else if (my_side == 1)
		am_send(word);
	else if (word != left)
		bench_die("another message came back");
	else if (--left > 0)
		am_send(left);
	return UCS_OK;
}

static void prepare(void *arg)
{
	(void)arg;
	card = world_shared(sizeof(*card));
}

static void worker_open(void)
{
	const ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES,
				      .features = UCP_FEATURE_AM };
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE
	};
	const ucp_am_handler_param_t handler = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
			      UCP_AM_HANDLER_PARAM_FIELD_CB,
		.id = AM,
		.cb = &received,
	};
	ucp_config_t *config;

	ck(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
	ck(ucp_config_modify(config, "TLS", transports), "TLS");
	ck(ucp_init(&params, config, &context), "ucp_init");
	ucp_config_release(config);
	ck(ucp_worker_create(context, &worker_params, &worker),
	   "ucp_worker_create");
	ck(ucp_worker_set_am_recv_handler(worker, &handler), "handler");
}

static void ep_open(void)
{
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
		.address = (const ucp_address_t *)card->cd_name[1 - my_side]
	};

	ck(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
}

/** Side 1 is first; it connects when it serves. */
static void side_open(void *arg, int side)
{
	ucp_address_t *name;
	size_t         len;

	(void)arg;
	my_side = side;
	worker_open();
	ck(ucp_worker_get_address(worker, &name, &len),
	   "ucp_worker_get_address");
	if (len > NAME_MAX_BYTES)
		bench_die("ucx: the name is too long");
	memcpy(card->cd_name[side], name, len);
	ucp_worker_release_address(worker, name);
	if (side == 0)
		ep_open();
}

/* The end of the process ends the library, too. */
static void side_close(void *arg, int side)
{
	(void)arg;
	(void)side;
}

static void serve(void *arg)
{
	(void)arg;
	if (ep == NULL)
		ep_open();
	(void)ucp_worker_progress(worker);
}

static uint64_t run_ping(void *arg, uint64_t nr)
{
	(void)arg;
	left = (nr + 1) / 2;
	nr = left * 2;
	am_send(left);
	while (left > 0)
		(void)ucp_worker_progress(worker);
	return nr;
}

static uint64_t run_rate(void *arg, uint64_t nr)
{
	uint64_t begun = 0;

	(void)arg;
	nr = (nr + DEPTH - 1) / DEPTH * DEPTH;
	atomic_store(&card->cd_got, 0);
	while (queued > 0 ||
	       atomic_load_explicit(&card->cd_got, memory_order_acquire) < nr) {
		uint64_t got = atomic_load_explicit(&card->cd_got,
						    memory_order_acquire);

		while (begun < nr && queued < DEPTH && begun < got + AHEAD)
			am_send(++begun);
		(void)ucp_worker_progress(worker);
	}
	return nr;
}

static void enter(void *arg)
{
	world_enter(arg);
}

static void leave(void *arg)
{
	world_leave(arg);
}

int main(int argc, char **argv)
{
	int               i = bench_options(argc, argv, usage);
	struct bench_case c = { .c_name = "am",
				.c_arg = &play,
				.c_enter = &enter,
				.c_leave = &leave };

	if (argc != i + 2 || (strcmp(argv[i + 1], "ping") != 0 &&
			      strcmp(argv[i + 1], "rate") != 0))
		bench_die("%s", usage);
	transports = argv[i];
	is_ping = argv[i + 1][0] == 'p';
	c.c_run = is_ping ? &run_ping : &run_rate;
	c.c_rate = !is_ping;
	play = (struct world_play){ .wp_prepare = &prepare,
				    .wp_open = &side_open,
				    .wp_close = &side_close,
				    .wp_serve = &serve };
	world_start(WORLD_FORK, &play, 1);
	bench_turns(&c, 1);
	world_stop();
	return 0;
}
