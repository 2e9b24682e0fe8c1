/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The fixture of the RPC suite, on that of the conformance suite: its rows,
 * environments and checks. A case makes machines (rt_up), connects (rt_conn,
 * rt_session), posts (rt_ask) and waits (rt_wait). Machines are inline or not as
 * the run says; inline ones move whenever the case waits, so no blocking call of
 * the library is made while it needs the peer.
 *
 * After the case rt_end() takes everything down and checks that every item that
 * was accepted has ended once.
 */
#ifndef M0_TESTS_RPC_RT_H
#define M0_TESTS_RPC_RT_H

#include "m0/rpc.h"
#include "conformance/cf.h"

enum {
	RT_MACHINES = 48,
	RT_CLIENTS = 48,
	RT_ITEMS = 4096,
	RT_HELD = 4096,
	RT_LOG = 65536
};

/** Numbers from here on are undone by RT_APPEND, and answered with -EDOM. */
#define RT_UNDONE (UINT64_C(1) << 62)

enum rt_op {
	/** Answered with its own body. */
	RT_ECHO = 100,
	/** Kept by the server until rt_release(). */
	RT_HOLD,
	/** Answered with a status: the first word of the body. */
	RT_STATUS,
	RT_ONEWAY,
	RT_REPLY,
	/** Refuses to be decoded. */
	RT_BAD,
	/** Refuses to be encoded. */
	RT_NOENC,
	/** Request of a stream: its number is logged, in a transaction. */
	RT_APPEND,
	/** Never registered. */
	RT_UNKNOWN,
	RT_NR
};

struct rt_machine {
	struct m0_rpc_machine rtm_machine;
	unsigned              rtm_dom;
	char                  rtm_addr[CF_ADDR_MAX];
	bool                  rtm_up;
};

struct rt_client {
	struct m0_rpc_conn    rtc_conn;
	struct m0_rpc_session rtc_session;
	struct rt_machine    *rtc_machine;
	bool                  rtc_conn_up;
	bool                  rtc_session_up;
};

struct rt_item {
	struct m0_rpc_raw rti_raw;
	/** Calls of rio_sent and rio_replied since the post. */
	int  rti_sent;
	int  rti_ended;
	int  rti_error;
	bool rti_posted;
	/** In rio_replied; true: it was posted again. */
	bool (*rti_hook)(struct rt_item *item);
	struct rt_item *rti_next;
	uint64_t        rti_body[8];
};

struct rt {
	struct rt_machine rt_machines[RT_MACHINES];
	unsigned          rt_machines_nr;
	struct rt_client  rt_clients[RT_CLIENTS];
	unsigned          rt_clients_nr;
	struct rt_item   *rt_items;
	/** By RT_HOLD, until they are released; not any more at the end. */
	struct m0_mutex     rt_lock;
	struct m0_rpc_item *rt_held[RT_HELD];
	int                 rt_held_nr;
	bool                rt_ends;
	/** Numbers of the bodies that handlers have executed, in order. */
	uint64_t rt_log[RT_LOG];
	int      rt_log_nr;
	int      rt_oneways;
	/** Pool of echoes, unless NULL. */
	struct m0_rpc_group *rt_group;
};
extern struct rt rt;

extern struct m0_rpc_item_type rt_types[];

/** In the order of enum rt_op, from RT_ECHO on. */
struct m0_rpc_item_type *rt_type(enum rt_op op);

void rt_begin(void);
void rt_end(void);
/** The case between rt_begin() and rt_end(). */
#define RT_CASE(name)                \
	static void name##_do(void); \
	static void name(void)       \
	{                            \
		rt_begin();          \
		name##_do();         \
		rt_end();            \
	}                            \
	static void name##_do(void)

/** The configuration of the run; short times. */
void rt_cfg(struct m0_rpc_cfg *cfg);
/** A machine; cfg NULL: rt_cfg(). */
struct rt_machine *rt_up(unsigned dom, const struct m0_rpc_cfg *cfg);
/** At an address, again. */
struct rt_machine *rt_up_at(unsigned dom, const struct m0_rpc_cfg *cfg,
			    const char *addr);
void               rt_down(struct rt_machine *m);
/** Stopped and finalised, without its clients. */
struct rt_client *rt_conn_begin(struct rt_machine *from, const char *addr,
				uint64_t in_flight);
/** Ends in this state? */
int rt_conn_wait(struct rt_client *c);
int rt_session_begin(struct rt_client *c);
int rt_session_wait(struct rt_client *c);
/** All of it, and it must be well. */
struct rt_client *rt_client(struct rt_machine *from, struct rt_machine *to);
void              rt_client_end(struct rt_client *c);

/** An item, not posted: 64 bytes, `number` in the first word. */
struct rt_item *rt_item(struct rt_client *c, enum rt_op op, uint32_t stream,
			uint64_t number);
int             rt_post(struct rt_item *item);
/** Both; the post must be taken. */
struct rt_item *rt_ask(struct rt_client *c, enum rt_op op, uint32_t stream,
		       uint64_t number);
void            rt_item_wait(struct rt_item *item);
/** Waits, and it has ended so; 0: with a reply that has its number. */
void rt_ends(struct rt_item *item, int error, const char *why);
/** Answers what RT_HOLD has kept, the first `nr`. */
void rt_release(int nr);
void rt_held_wait(int nr, const char *what);
/** Nothing is held any more, also of requests of no stream that come again when
 * they were answered. Before a machine goes while the case goes on. */
void rt_hold_no_more(void);

bool rt_pump(void);
void rt_wait(bool (*cond)(void *arg), void *arg, const char *what);
void rt_wait_count(const int *counter, int want, const char *what);
void rt_run_ms(unsigned ms);
struct m0_rpc_stats rt_stats(struct rt_machine *m);

/**
 * All that goes to the third address of the case, or comes from there, is lost,
 * and nobody is told; or is not any more. At the end of the case it is not.
 * @return  false: the transport has no means of that.
 */
bool rt_way_cut(bool cut);
/** Connections are reset now and then, or packets lost, in rows that can do so. To
 * be begun before the first machine. */
void rt_resets(bool on);

extern const struct cf_case rpc_suite_item[];
extern const struct cf_case rpc_suite_stream[];
extern const struct cf_case rpc_suite_conn[];
extern const struct cf_case rpc_suite_stop[];
extern const struct cf_case rpc_suite_frm[];
extern const struct cf_case rpc_suite_bulk[];
extern const struct cf_case rpc_suite_link[];
extern const struct cf_case rpc_suite_ways[];
extern const struct cf_case rpc_suite_pack[];
extern const struct cf_case rpc_suite_stuck[];
extern const struct cf_case rpc_suite_told[];

#endif /* M0_TESTS_RPC_RT_H */
