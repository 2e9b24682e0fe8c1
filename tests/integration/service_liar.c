/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An object service that lists what nobody asked for, and is never done:
 *
 *	PROGRAM EP
 *
 * of objects below `far/' it has `x'; below `again/' the same one after itself,
 * without end; below `ever/' always one more; of `never/' it never says; below
 * `held/' twenty, below `good/' two. It has `same' already. It has all blocks of
 * an upload, and something to do first when that is to be made an object: the
 * third time it does so if the name is `soon', else not at all. Removals of
 * `held/' it holds: of each it says that it was asked for, and a byte of its input
 * ends those that it holds. Over sunrpc; says that it is there, each time that it
 * has something to do, and that the list of an endless one was asked for, and
 * serves until its input ends.
 */
#include <stdio.h>
#include <unistd.h>

#include "../../tools/base/le.h"
#include "../../tools/object/obj_client.h"

enum {
	/** Bytes of an entry of a list before its name. */
	ENTRY_HEAD = 24,
	/** Times that `soon' is asked for. */
	SOON_NR = 3,
	/** Objects below `held/'. */
	LISTED_NR = 20,
	HELD_MAX = 256
};

static bool asks_for(const struct obj_req *req, const char *prefix)
{
	return req->orq_name_nr >= strlen(prefix) &&
	       memcmp(req->orq_name, prefix, strlen(prefix)) == 0;
}

static uint8_t *entry_put(uint8_t *at, const char *name)
{
	memset(at, 0, ENTRY_HEAD);
	le_put32(at + 20, (uint32_t)strlen(name));
	memcpy(at + ENTRY_HEAD, name, strlen(name));
	return at + ENTRY_HEAD + strlen(name);
}

static struct obj_req request_of(struct m0_rpc_item *item)
{
	const struct m0_rpc_raw *asked = m0_rpc_raw_of(item);
	struct obj_req           req;
	int rc = obj_req_decode(&req, asked->rr_data, asked->rr_nr);

	M0_ASSERT(rc == 0);
	return req;
}

static void answer(struct m0_rpc_item *item, const struct obj_rep *rep)
{
	struct m0_rpc_raw *raw;
	uint8_t           *body;

	raw = obj_raw_new(OBJ_REPLY, obj_rep_size(rep), &body);
	M0_ASSERT(raw != NULL);
	(void)obj_rep_encode(rep, body);
	m0_rpc_reply_post(item, &raw->rr_item);
}

/* One that is answered at the end. */
static struct m0_rpc_item *unanswered;

static void say(const char *word)
{
	puts(word);
	(void)fflush(stdout);
}

static void list(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	static unsigned ever_nr;
	struct obj_req  req = request_of(item);
	char            name[16];
	uint8_t         data[1000];
	uint8_t        *at = data;
	struct obj_rep  rep = { .orp_data = data };
	unsigned        i;

	(void)machine;
	if (asks_for(&req, "far/")) {
		at = entry_put(at, "x");
	} else if (asks_for(&req, "again/")) {
		at = entry_put(at, "again/x");
		rep.orp_flags = OBJ_MORE;
	} else if (asks_for(&req, "ever/")) {
		if (ever_nr++ == 0)
			say("asked");
		snprintf(name, sizeof name, "ever/%08u", ever_nr);
		at = entry_put(at, name);
		rep.orp_flags = OBJ_MORE;
	} else if (asks_for(&req, "never/")) {
		unanswered = item;
		say("asked");
		return;
	} else if (asks_for(&req, "held/")) {
		for (i = 0; i < LISTED_NR; ++i) {
			snprintf(name, sizeof name, "held/%02u", i);
			at = entry_put(at, name);
		}
	} else {
		at = entry_put(entry_put(at, "good/x"), "good/xx");
	}
	rep.orp_data_nr = (uint32_t)(at - data);
	answer(item, &rep);
}

static void begin(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req = request_of(item);

	(void)machine;
	answer(item, &(struct obj_rep){
			     .orp_flags = asks_for(&req, "same") ? OBJ_SAME : 0,
		     });
}

static void block(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	(void)machine;
	answer(item, &(struct obj_rep){ .orp_flags = OBJ_SAME });
}

static void commit(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	static int     soon_nr;
	struct obj_req req = request_of(item);

	(void)machine;
	if (asks_for(&req, "soon") && ++soon_nr == SOON_NR) {
		answer(item, &(struct obj_rep){ .orp_flags = 0 });
		return;
	}
	say("busy");
	m0_rpc_reply_rc(item, -EAGAIN);
}

static void other(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	(void)machine;
	m0_rpc_reply_rc(item, -EOPNOTSUPP);
}

static struct m0_rpc_item *held[HELD_MAX];
static unsigned            held_nr;
static struct m0_mutex     held_lock;

static void hold(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req = request_of(item);

	if (!asks_for(&req, "held/")) {
		other(machine, item);
		return;
	}
	m0_mutex_lock(&held_lock);
	M0_ASSERT(held_nr < HELD_MAX);
	held[held_nr++] = item;
	say("asked");
	m0_mutex_unlock(&held_lock);
}

static void held_end(void)
{
	struct m0_rpc_item *items[HELD_MAX];
	unsigned            nr;
	unsigned            i;

	m0_mutex_lock(&held_lock);
	nr = held_nr;
	memcpy(items, held, nr * sizeof *items);
	held_nr = 0;
	m0_mutex_unlock(&held_lock);
	for (i = 0; i < nr; ++i)
		m0_rpc_reply_rc(items[i], 0);
}

int main(int argc, char **argv)
{
	void (*deliver[OBJ_REQUEST_END - OBJ_OP_BASE])(struct m0_rpc_machine *,
						       struct m0_rpc_item *);
	struct tool_fail      fail = { .tf_exit = TOOL_OK };
	struct m0_rpc_machine machine;
	struct m0_net_domain  dom;
	struct m0_rpc_cfg     cfg;
	char                  byte;
	size_t                i;
	int                   rc;

	if (argc != 2)
		return TOOL_USAGE;
	M0_SET0(&dom);
	for (i = 0; i < ARRAY_SIZE(deliver); ++i)
		deliver[i] = &other;
	deliver[OBJ_LIST - OBJ_OP_BASE] = &list;
	deliver[OBJ_BEGIN - OBJ_OP_BASE] = &begin;
	deliver[OBJ_WRITE - OBJ_OP_BASE] = &block;
	deliver[OBJ_COMMIT - OBJ_OP_BASE] = &commit;
	deliver[OBJ_REMOVE - OBJ_OP_BASE] = &hold;
	m0_mutex_init(&held_lock);
	rc = m0_net_init() ?: obj_types_register(deliver);
	M0_ASSERT(rc == 0);
	rc = m0_net_domain_init(&dom,
				tool_xprt_find("sunrpc", &fail)->txp_xprt);
	M0_ASSERT(rc == 0);
	m0_rpc_cfg_init(&cfg);
	rc = m0_rpc_machine_init(&machine, &dom, &cfg, argv[1], NULL,
				 M0_BUFFER_ANY_COLOUR, 0, 0);
	M0_ASSERT(rc == 0);
	say("there");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		held_end();
	held_end();
	if (unanswered != NULL)
		m0_rpc_reply_rc(unanswered, -ECANCELED);
	m0_rpc_machine_stop(&machine, false);
	m0_rpc_machine_fini(&machine);
	m0_mutex_fini(&held_lock);
	m0_net_domain_fini(&dom);
	obj_types_deregister();
	(void)m0_net_fini();
	return TOOL_OK;
}
