/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Services and their clients in ten calls, on the RPC layer. A service is a
 * table of operations; a client calls them. Arguments and results have up to 1
 * GiB each, and large ones move as bulk, without a copy in the network layer.
 *
 *  - An *update* changes the service's store. It is executed exactly once,
 *    whatever the network does; in a durable store also if the service dies in
 *    the middle of it. The library sends it again until its time-out, and moves
 *    its data anew if that was cut.
 *  - A *query* reads a snapshot of the store, beside updates and other queries.
 *    The service executes a query at least once. A result may have any size up to
 *    the limit, and needs one round trip.
 *
 * examples/kv_server.c and examples/kv_client.c are a store of values with a
 * durable service; docs/easy.md explains them.
 *
 * Places. One text says where a service or a client is:
 *
 *     lnet:NETWORKS[/PORT][:ADDRESS]   tcp(eth0), also with several networks, as in m0/lnet_cfg.h
 *     lnet[/PORT][:ADDRESS]            networks of $M0_LNET, or tcp on the first device
 *     mem:ADDRESS                      within this process, for tests: mem:127.0.0.1:7000
 *
 * ADDRESS is, for a client, that of the service, which it must have: a NID, or
 * NID:12345:PORTAL:NUMBER, for example lnet:tcp(eth0):10.0.0.1@tcp. For a
 * service it is 12345:PORTAL:NUMBER, by default 12345:40:1.
 *
 * Several addresses. A service with several networks is at each of its NIDs, up
 * to 8, with a NUMBER that is higher by 1 at each. A client names its addresses
 * with commas between, in that order: lnet:tcp(eth0),o2ib(ib0):10.0.0.1@tcp,10.1.0.1@o2ib
 * (the second NID stands for 10.1.0.1@o2ib:12345:40:2). It begins with the first
 * that answers, uses all, and goes on over the others when one dies.
 *
 * PORT is the TCP port
 * of all nodes of the network, by default $M0_LNET_PORT or 988. The other variables
 * of m0/xlnet.h apply, too, but for $M0_LNET_ACCEPT the default is "all". Services and
 * clients of one process with equal networks and port share a node.
 *
 * Threads. Any thread may make the calls. Handlers of updates run one at a time
 * on the store's thread, or the service's, and must not wait for the network;
 * those of queries run on threads of their own and may block.
 */
#ifndef M0_EASY_H
#define M0_EASY_H

#include "m0/rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Most bytes of erq_args. */
	M0_EASY_ARGS_MAX = 4096,
	/** Most bytes of data, either way. */
	M0_EASY_DATA_MAX = 1 << 30,
	/** Most operations of a service. */
	M0_EASY_OPS_MAX = 1024,
	/** Bytes for the reason why m0_easy_open() failed. */
	M0_EASY_WHY_BYTES = 768
};

/** A service or a client. */
struct m0_easy;
struct m0_easy__call;

enum m0_easy_kind {
	M0_EASY_QUERY,
	M0_EASY_UPDATE
};

/** A request as its handler sees it. Valid until the handler returns. */
struct m0_easy_request {
	uint32_t erq_opcode;
	/** Small arguments, for example a key; up to M0_EASY_ARGS_MAX. */
	struct m0_rpc_slice erq_args;
	struct m0_rpc_slice erq_data;
	/**
	 * For m0_rpc_tx_get(), m0_rpc_tx_next() and, in updates,
	 * m0_rpc_tx_put() and m0_rpc_tx_del(). Keys begin with another byte
	 * than 0.
	 */
	struct m0_rpc_tx *erq_tx;
	/** The client that asks: the same for all its requests. */
	struct m0_uint128 erq_client;
};

/** The answer of a handler; empty at first. */
struct m0_easy_reply {
	/**
	 * The result. Of an update: up to about 120 KiB, copied when the
	 * handler returns. Of a query: any memory up to M0_EASY_DATA_MAX,
	 * unchanged until ep_free; a value that m0_rpc_tx_get() has returned
	 * needs no copy and no ep_free.
	 */
	struct m0_rpc_slice ep_data;
	/** Optional: called once when ep_data is not needed any more. */
	void (*ep_free)(const void *data);
};

struct m0_easy_op {
	/** Any number, unique in the table. */
	uint32_t          eo_opcode;
	enum m0_easy_kind eo_kind;
	const char       *eo_name;
	/**
	 * Executes a request. Returns 0, or an error from -4095 to -1, which
	 * the client gets; an update that returns an error has changed nothing.
	 * The client calls again after -ENOBUFS. The handler must check all of
	 * the request: a peer wrote it.
	 */
	int (*eo_handler)(void *ctx, const struct m0_easy_request *request,
			  struct m0_easy_reply *reply);
};

/** Configuration; every field may be 0. */
struct m0_easy_cfg {
	/** The table of a service, which must stay; NULL: a client. */
	const struct m0_easy_op *en_ops;
	uint32_t                 en_ops_nr;
	/** First argument of its handlers. */
	void *en_ctx;
	/** Directory of its durable store (m0/rpc_store_lmdb.h), made if it is
	 * missing. NULL: its store is in memory and lost at the end. */
	const char *en_dir;
	/** Largest size of that store. 0: 64 GiB; in memory 4 GiB. */
	m0_bcount_t en_store_bytes_max;
	/** Instead of en_dir, a store of the caller, which must stay. */
	struct m0_rpc_store *en_store;
	/**
	 * Bytes that requests and results may take in the memory of the service
	 * at once. 0: 4 GiB. Clients beyond that wait.
	 */
	m0_bcount_t en_memory_max;
	/** A client: default of ec_timeout_ns, and how long m0_easy_open()
	 * waits for the service. 0: 60 s. */
	m0_time_t en_timeout_ns;
};

/** A call of a client. What is not set must be 0. */
struct m0_easy_call {
	uint32_t          ec_opcode;
	enum m0_easy_kind ec_kind;
	/** As erq_args and erq_data; unchanged until the call has ended. The data
	 * of a query, with its arguments, has at most about 120 KiB. */
	struct m0_rpc_slice ec_args;
	struct m0_rpc_slice ec_data;
	/**
	 * Memory for the result, and its size. NULL: the library allocates it,
	 * and the caller frees it by m0_free().
	 */
	void       *ec_out;
	m0_bcount_t ec_out_max;
	/** From the begin to the end at the latest. 0: en_timeout_ns. */
	m0_time_t ec_timeout_ns;
	/**
	 * How the caller learns of the end: this callback, which may begin the
	 * call again or free it; or, with ec_queued, m0_easy_next(); or, with
	 * neither, m0_easy_wait(), which it must call.
	 */
	void (*ec_done)(struct m0_easy_call *call);
	bool  ec_queued;
	void *ec_private;

	/* Set when the call has ended. */

	/**
	 * 0; the handler's error; -ETIMEDOUT: an update may have been executed,
	 * or be executed yet; -ECANCELED likewise; -EMSGSIZE: ec_out_max is too
	 * small, or something above its limit; -ENOSYS: no such operation;
	 * -EPROTO: it is of the other kind; -ESTALE: the service died and its
	 * store was in memory.
	 */
	int32_t ec_rc;
	/** Bytes of the result; after -EMSGSIZE those that it has. */
	m0_bcount_t ec_out_nr;

	/** For the library. */
	struct m0_easy__call *ec_lib;
};

/**
 * Opens a service, or with a `cfg` without operations a client, which waits
 * until it is connected: until the service is there and accepts it. Later it
 * connects again by itself, whatever became of its service; calls wait
 * meanwhile, up to their time-outs. Blocks; not from a callback.
 * @param place  see above; NULL: "lnet".
 * @param cfg    NULL: all 0.
 * @param why    buffer of M0_EASY_WHY_BYTES, or NULL: receives what was wrong.
 * @retval -EINVAL  `place` or `cfg`.
 * @retval -ETIMEDOUT, -ECONNREFUSED, ...  the service does not answer.
 * @retval <0  of the node, the store or the RPC machine; nothing is left open.
 */
M0_EXTERN int m0_easy_open(struct m0_easy **ret, const char *place,
			   const struct m0_easy_cfg *cfg, char *why);
/**
 * Closes it. Calls that are outstanding end with -ECANCELED first; calls to be
 * waited for must have been waited for. A client waits at most 2 s for its
 * service, a service at most 10 s for handlers of updates and for transfers,
 * and for handlers of queries. Blocks; not from a callback.
 */
M0_EXTERN void m0_easy_close(struct m0_easy *easy);
/** Its own address, or addresses with commas between, as a client's place may name
 * them after "lnet:NETWORKS:". */
M0_EXTERN const char *m0_easy_addr(const struct m0_easy *easy);
/** Its RPC machine: counters, latencies, links. */
M0_EXTERN struct m0_rpc_machine *m0_easy_machine(struct m0_easy *easy);

/**
 * Calls an operation and waits for the end. Blocks; not from a callback.
 * @return ec_rc.
 */
M0_EXTERN int m0_easy_call(struct m0_easy *client, struct m0_easy_call *call);
/**
 * Begins a call. Updates that are outstanding together are executed in any
 * order.
 * @retval 0  it will end, at the latest soon after its time-out.
 * @retval -EMSGSIZE, -ENOMEM, -ESHUTDOWN  it was not begun.
 */
M0_EXTERN int m0_easy_begin(struct m0_easy *client, struct m0_easy_call *call);
/**
 * Waits for a call that has neither ec_done nor ec_queued.
 * @retval -ETIMEDOUT  it has not ended by `deadline`, and goes on; or ec_rc.
 */
M0_EXTERN int m0_easy_wait(struct m0_easy_call *call, m0_time_t deadline);
/**
 * Has the call end soon, with -ECANCELED if it has not ended by itself; no-op
 * if it has ended. The call must not have been freed.
 */
M0_EXTERN void m0_easy_cancel(struct m0_easy      *client,
			      struct m0_easy_call *call);
/** A descriptor that is readable while a queued call has ended. @retval <0 */
M0_EXTERN int m0_easy_fd(struct m0_easy *client);
/** The next queued call that has ended; NULL: none. */
M0_EXTERN struct m0_easy_call *m0_easy_next(struct m0_easy *client);

#ifdef __cplusplus
}
#endif
#endif /* M0_EASY_H */
