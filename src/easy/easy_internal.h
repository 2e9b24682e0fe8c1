/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Declarations of the room: easy.c opens and closes; easy_place.c finds domain
 * and address of a place; easy_wire.c has the bodies of requests and replies;
 * easy_serve.c executes, easy_call.c calls, and calls again.
 */
#ifndef M0_SRC_EASY_EASY_INTERNAL_H
#define M0_SRC_EASY_EASY_INTERNAL_H

#include "m0/easy.h"
#include "m0/rpc_bulk.h"

#include "os/os.h"

enum {
	/** Descriptors of the data of a request or a result. */
	EASY_DESCS_MAX = 128,
	/** Sessions have that many streams, over which updates are spread. */
	EASY_STREAMS_NR = 16,
	EASY_OP_UPDATE = 0x65617301,
	EASY_OP_QUERY,
	EASY_OP_RESULT
};

#define EASY_MAGIC        UINT64_C(0x33ea5e7ab1e5e4f1)
#define EASY_TIMEOUT_NS   (60 * M0_TIME_ONE_SECOND)
#define EASY_MEMORY_BYTES (UINT64_C(4) << 30)
#define EASY_STORE_BYTES  (UINT64_C(64) << 30)

/* -------------------------------------------------------- easy_wire.c -- */

/** Body of a request or a result. */
struct easy_body {
	/** Requests only. */
	uint32_t eb_opcode;
	/** By these the service ends what it offered to an earlier attempt at the
	 * same call, and knows copies of a request and late ones. */
	uint64_t            eb_call;
	uint64_t            eb_attempt;
	struct m0_rpc_slice eb_args;
	uint64_t            eb_data_nr;
	/** The data, if there are no descriptors. */
	struct m0_rpc_slice          eb_data;
	uint32_t                     eb_descs_nr;
	struct m0_net_buf_desc_data *eb_descs;
};

/** Bytes that m0_easy__body_put() writes. */
m0_bcount_t m0_easy__body_size(const struct easy_body *body);
void        m0_easy__body_put(void *bytes, const struct easy_body *body);
/**
 * Decodes what a peer wrote; the result points into it, but for the array of
 * descriptors, which is to be freed by m0_free().
 * @retval -EPROTO  it is no body, or its sizes do not fit together.
 * @retval -ENOMEM
 */
int m0_easy__body_get(struct easy_body *ret, const void *bytes, m0_bcount_t nr);
/** An array for `nr` descriptors. @retval -EMSGSIZE, -ENOMEM */
int m0_easy__descs_alloc(struct easy_body *body, uint32_t nr);
/** Frees the array, and the descriptors, which must be of
 * m0_rpc_bulk_store(). */
void m0_easy__descs_free(struct easy_body *body);

/* ------------------------------------------------------- easy_place.c -- */

struct easy_node;

struct easy_addrs {
	uint32_t ead_nr;
	char     ead_addr[M0_RPC_LINKS_MAX][M0_RPC_ADDR_MAX];
};

struct easy_place {
	const struct m0_net_xprt *epl_xprt;
	/** NULL: none is needed. */
	struct easy_node *epl_node;
	/** Where its RPC machine is to be; none: anywhere. */
	struct easy_addrs epl_own;
	/** Clients only: addresses of the service, and as they were given. */
	struct easy_addrs epl_service;
	char              epl_text[M0_RPC_LINKS_MAX * M0_RPC_ADDR_MAX];
};

/** @param why  of M0_EASY_WHY_BYTES. @retval <0  nothing is left open. */
int  m0_easy__place_open(struct easy_place *place, const char *text,
			 bool is_service, char *why);
void m0_easy__place_close(struct easy_place *place);

/* ------------------------------------------------------------- easy.c -- */

struct m0_easy {
	/** EASY_MAGIC: an RPC machine of another kind has no such structure. */
	uint64_t              eas_magic;
	struct m0_easy_cfg    eas_cfg;
	struct easy_place     eas_place;
	struct m0_net_domain  eas_dom;
	struct m0_rpc_machine eas_machine;
	/** m0_easy_addr(). */
	char eas_addrs[M0_RPC_LINKS_MAX * M0_RPC_ADDR_MAX];

	/* Service. */
	struct m0_rpc_store  eas_own_store;
	struct m0_rpc_store *eas_store;
	bool                 eas_is_lmdb;
	/** Atomic. */
	uint64_t eas_memory;

	/* Client. */
	struct m0_rpc_conn    eas_conn;
	struct m0_rpc_session eas_session;
	uint32_t              eas_turn;
	/** Calls that were begun. Atomic. */
	uint64_t eas_calls_nr;
	/** Calls again, and ends calls that nobody else ends. */
	struct m0_strand eas_strand;

	struct m0_mutex eas_lock;
	/** Raised when something of a list has ended. */
	struct m0_semaphore eas_idle;
	bool                eas_closing;
	/** Service: results that are offered. Client: calls, those of them that
	 * the strand is to look at, and queued ones that have ended. */
	struct m0_list  eas_offers;
	struct m0_list  eas_calls;
	struct m0_list  eas_waits;
	struct m0_list  eas_ended;
	bool            eas_has_fd;
	struct m0_os_fd eas_fd;
};

/** Largest body of an item. */
m0_bcount_t m0_easy__body_max(const struct m0_easy *easy);
/** Blocks until the list is empty; once eas_closing is set, what leaves it raises
 * eas_idle. */
void m0_easy__drain(struct m0_easy *easy, const struct m0_list *list);

extern struct m0_rpc_item_type m0_easy__update;
extern struct m0_rpc_item_type m0_easy__query;
extern struct m0_rpc_item_type m0_easy__result;

/* ------------------------------------------------------- easy_serve.c -- */

void m0_easy__update_deliver(struct m0_rpc_machine *machine,
			     struct m0_rpc_item    *item);
void m0_easy__query_deliver(struct m0_rpc_machine *machine,
			    struct m0_rpc_item    *item);
/** Withdraws what is offered, and waits until nothing is. */
void m0_easy__offers_end(struct m0_easy *easy);

/* -------------------------------------------------------- easy_call.c -- */

/** Step of eas_strand. */
m0_time_t m0_easy__again_step(struct m0_strand *strand, m0_time_t now);
/** Cancels all calls, and waits until they have ended. */
void m0_easy__calls_end(struct m0_easy *easy);

#endif /* M0_SRC_EASY_EASY_INTERNAL_H */
