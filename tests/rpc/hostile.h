/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Peers that lie. A *foe* is a bare transfer machine that speaks packets byte
 * by byte; it sends to an RPC machine that serves a good client at the same
 * time, or it is the server that a good client asks. What comes back to it is
 * kept, and a hook may answer at once.
 *
 * A case begins with foe_world(): machine `s`, which serves; machine `m` with
 * the good client `good`; and a foe. good_check() says that the good one is
 * served as if nothing had happened.
 */
#ifndef M0_TESTS_RPC_HOSTILE_H
#define M0_TESTS_RPC_HOSTILE_H

#include "os/os.h"
#include "rpc/core/rpc_wire.h"
#include "rt.h"

enum {
	FOE_PACKET_MAX = 16384,
	FOE_CAME_MAX = 1024,
	FOE_SENDS = 16,
	FOE_RECVS = 8
};

/** Types of the foe's requests. */
enum foe_op {
	/** Answered with its body; counted. */
	FOE_ECHO = 200,
	/** Kept until foe_release(). */
	FOE_HOLD,
	/** Its body is a descriptor, which the handler loads from. */
	FOE_BULK,
	/** One-way, of a pool of one thread; counted. */
	FOE_POOL,
	FOE_NOBODY,
};

/** Packet that arrived at the hostile peer. */
struct foe_item {
	struct m0_rpc_wire_packet fit_packet;
	struct m0_rpc_wire_item   fit_item;
	uint8_t                   fit_body[128];
};

struct foe_send {
	struct m0_net_buffer fsd_nb;
	int                  fsd_busy;
};

struct foe {
	struct cf_tm     *foe_tm;
	struct m0_uint128 foe_uuid;
	uint64_t          foe_incarnation;
	uint64_t          foe_epoch;
	uint64_t          foe_session;
	char              foe_to[CF_ADDR_MAX];
	struct foe_item   foe_came[FOE_CAME_MAX];
	int               foe_came_nr;
	int               foe_refusals;
	uint64_t          foe_pong;
	uint64_t          foe_ping;
	/** Called for each item; on the foe's machine. */
	void (*foe_hook)(struct foe *f, const struct foe_item *it,
			 struct m0_net_end_point *from);
	/** Called when something has left, or has not; there too. Atomic. */
	void (*foe_sent)(struct foe *f);
	struct foe_send      foe_send[FOE_SENDS];
	struct m0_net_buffer foe_recv[FOE_RECVS];
	uint8_t     foe_mem[FOE_SENDS + FOE_RECVS][FOE_PACKET_MAX + 4096];
	void       *foe_base[FOE_SENDS + FOE_RECVS];
	m0_bcount_t foe_count[FOE_SENDS + FOE_RECVS];
};

/** A packet that is being written. */
struct pkt {
	struct m0_rpc_wire_packet pk_head;
	uint32_t                  pk_nr;
	_Alignas(8) uint8_t pk_bytes[FOE_PACKET_MAX + 64];
};

extern struct rt_machine *s;
extern struct rt_machine *m;
extern struct rt_client  *good;
extern struct foe        *foe;

/** Handlers of FOE_ECHO, FOE_HOLD and FOE_POOL. */
extern int foe_executed;
extern int foe_held_nr;

void foe_begin(void);
void foe_end(void);
#define FOE_CASE(name)               \
	static void name##_do(void); \
	static void name(void)       \
	{                            \
		rt_begin();          \
		foe_begin();         \
		name##_do();         \
		foe_end();           \
	}                            \
	static void name##_do(void)

/** cfg of s; NULL: rt_cfg(). */
void        foe_world(const struct m0_rpc_cfg *cfg);
struct foe *foe_up(unsigned dom, const char *to);
void        good_check(void);
/** Answers what FOE_HOLD keeps. */
void foe_release(void);

void pk_begin(struct pkt *p, const struct foe *f);
/** Puts an item; its body is `nr` bytes of `body` or, if that is NULL, of 7. */
void pk_item(struct pkt *p, const struct m0_rpc_wire_item *item,
	     const void *body, uint32_t nr);
/** The header, and the sum. */
void pk_seal(struct pkt *p);
/** The sum again, of what stands there. */
void pk_sum(struct pkt *p);
/** Sends bytes as they are; waits until there is a buffer. */
void foe_say(struct foe *f, const void *bytes, m0_bcount_t nr);
/** Send from the hook, to the peer of the packet; drop it if there is none. */
void foe_answer(struct foe *f, struct m0_net_end_point *to, const void *bytes,
		m0_bcount_t nr);
void foe_say_pk(struct foe *f, const struct pkt *p);
/** One item in a packet of its own. */
void foe_say_item(struct foe *f, const struct m0_rpc_wire_item *item,
		  const void *body, uint32_t nr);
/** Waits until the machine has seen all that was sent before. */
void foe_ping(struct foe *f);
/** Establishes itself, and its session `id`, as a good one does. */
void foe_join(struct foe *f, uint64_t id, uint32_t streams, uint32_t window);
/** The last that came with this opcode; NULL. */
const struct foe_item *foe_last(const struct foe *f, uint32_t op);
/** Require an answer with this status; forget all that arrived. */
void foe_told(struct foe *f, uint32_t op, int32_t status, const char *why);
void foe_forget(struct foe *f);
/** A request header of the foe's session. */
struct m0_rpc_wire_item foe_request(const struct foe *f, uint32_t op,
				    uint32_t stream, uint64_t xid);
int64_t                 foe_heap(void);
/** cond or this long. */
bool foe_wait_ms(bool (*cond)(void *arg), void *arg, unsigned ms);

extern const struct cf_case hostile_packets[];
extern const struct cf_case hostile_client[];
extern const struct cf_case hostile_server[];
extern const struct cf_case hostile_stop[];
extern const struct cf_case hostile_fuzz[];

#endif /* M0_TESTS_RPC_HOSTILE_H */
