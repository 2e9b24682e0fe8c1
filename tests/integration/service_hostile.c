/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A client of an object service that checks nothing before it asks, as those of
 * the command do: names that are none, blocks that are nowhere, memory that it
 * offers no more.
 *
 *	PROGRAM NET PORT EP [WHAT]
 *
 * Without WHAT: the service was started with --object-max=64M. `full': it has a
 * small store. `crowd': with --uploads-max=8. `list': a list, in steps. `cancelled': EP is of sunrpc. `begin
 * NAME', `end NAME': an upload, and that it will not be. `get NAME', `put NAME':
 * the client asks for many blocks of an object, or offers them, and stops itself
 * before they are moved; `some NAME': when it has got half of them. Ends with 0 if each question had the answer that is its
 * own; else says which had not.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../tools/object/obj_client.h"

static struct obj_client client;
static unsigned          failures;

enum {
	/** Bytes of an upload: a whole block, and a short one. */
	TAIL = 100,
	SIZE = OBJ_BLOCK + TAIL
};

static void is(const char *what, int rc, int want)
{
	if (rc == want)
		return;
	fprintf(stderr, "%s: %d (%s), not %d\n", what, rc, obj_errtext(rc),
		want);
	++failures;
}

static int ask(enum obj_op op, const struct obj_req *req)
{
	struct m0_rpc_item *item;
	struct obj_rep      rep;
	int                 rc = obj_call(&client, op, req, &rep, &item);

	if (item != NULL)
		m0_rpc_item_put(item);
	return rc;
}

static void asks(const char *what, enum obj_op op, struct obj_req req, int want)
{
	char text[100];

	snprintf(text, sizeof text, "%s: %s", obj_op_name(op), what);
	is(text, ask(op, &req), want);
}

/* ----------------------------------------------------------------- names -- */

static struct obj_req named(const char *name, size_t nr)
{
	struct obj_req req = { .orq_name = name,
			       .orq_name_nr = (uint32_t)nr,
			       .orq_count = SIZE };

	return req;
}

static void names(void)
{
	static const enum obj_op ops[] = { OBJ_BEGIN, OBJ_COMMIT, OBJ_REMOVE,
					   OBJ_STAT };
	static const struct {
		const char *n_text;
		size_t      n_nr;
		int         n_rc;
	} bad[] = {
		{ "", 0, -EINVAL },
		{ "a\0b", 3, -EINVAL },
		{ "\0", 1, -EINVAL },
		{ "a\nb", 3, -EINVAL },
		{ "\xc2\x9b", 2, -EINVAL },
		{ "..", 2, -EINVAL },
		{ "../x", 4, -EINVAL },
		{ "a/../../x", 9, -EINVAL },
		{ "/etc/passwd", 11, -EINVAL },
		{ "a//b", 4, -EINVAL },
		{ "a/.", 3, -EINVAL },
		{ "\xff", 1, -EILSEQ },
		{ "\xc0\xae\xc0\xae/x", 6, -EILSEQ },
		{ "\xed\xa0\x80", 3, -EILSEQ },
		{ "cut \xe2\x82", 6, -EILSEQ },
	};
	static char    long_name[OBJ_NAME_MAX];
	struct obj_req put;
	size_t         i;
	size_t         j;

	for (i = 0; i < ARRAY_SIZE(bad); ++i) {
		put = named(bad[i].n_text, bad[i].n_nr);
		for (j = 0; j < ARRAY_SIZE(ops); ++j)
			asks(bad[i].n_text, ops[j], put, bad[i].n_rc);
		put.orq_count = 0;
		asks(bad[i].n_text, OBJ_PUT, put, bad[i].n_rc);
	}
	memset(long_name, 'x', sizeof long_name);
	asks("a part of 256", OBJ_STAT, named(long_name, 256), -ENAMETOOLONG);
	asks("a part of 1023", OBJ_LIST, named(long_name, sizeof long_name),
	     -ENAMETOOLONG);
	asks("of 'a\\0b'", OBJ_LIST, named("a\0b", 3), -EINVAL);
	asks("of '..'", OBJ_LIST, named("..", 2), -EINVAL);
	asks("no such", OBJ_STAT, named("nobody", 6), -ENOENT);
	asks("no such", OBJ_REMOVE, named("nobody", 6), -ENOENT);
}

/* ------------------------------------------------------------------ data -- */

static void sizes(void)
{
	static const char data[4];
	struct obj_req    req = named("x", 1);

	req.orq_data = data;
	req.orq_data_nr = sizeof data;
	req.orq_count = sizeof data;
	asks("wrong sum", OBJ_PUT, req, -EBADMSG);
	hash_bytes(data, sizeof data, req.orq_sum);
	req.orq_count = 3;
	asks("wrong length", OBJ_PUT, req, -EPROTO);
	req.orq_data_nr = 0;
	req.orq_count = 0;
	asks("of nothing", OBJ_BEGIN, req, -EPROTO);
	req.orq_count = (64 << 20) + 1;
	asks("too large", OBJ_BEGIN, req, -EFBIG);
	req.orq_count = UINT64_MAX;
	asks("far too large", OBJ_BEGIN, req, -EFBIG);
}

static struct obj_req upload_of(const char *name)
{
	struct obj_req req = named(name, strlen(name));

	hash_bytes(name, strlen(name), req.orq_id);
	return req;
}

/* The short block, within the request. */
static struct obj_req tail_of(const struct obj_req *upload)
{
	static const char data[TAIL];
	struct obj_req    req = *upload;

	req.orq_name_nr = 0;
	req.orq_offset = OBJ_BLOCK;
	req.orq_data_nr = TAIL;
	req.orq_count = TAIL;
	req.orq_data = data;
	hash_bytes(data, TAIL, req.orq_sum);
	return req;
}

static void blocks(void)
{
	struct obj_req upload = upload_of("blocks");
	struct obj_req tail = tail_of(&upload);
	struct obj_req bad = tail;

	asks("before it has begun", OBJ_WRITE, tail, -ENOENT);
	asks("before it has begun", OBJ_COMMIT, upload, -ENOENT);
	asks("begin", OBJ_BEGIN, upload, 0);
	bad.orq_offset = OBJ_BLOCK + 1;
	asks("within a block", OBJ_WRITE, bad, -EINVAL);
	bad.orq_offset = 2 * OBJ_BLOCK;
	asks("beyond the end", OBJ_WRITE, bad, -EINVAL);
	bad.orq_offset = UINT64_MAX - OBJ_BLOCK + 1;
	asks("far beyond", OBJ_WRITE, bad, -EINVAL);
	bad.orq_offset = 0;
	asks("a short block", OBJ_WRITE, bad, -EINVAL);
	bad = tail;
	bad.orq_count = TAIL + 1;
	asks("more than there are", OBJ_WRITE, bad, -EINVAL);
	bad = tail;
	bad.orq_sum[0] ^= 1;
	asks("wrong sum", OBJ_WRITE, bad, -EBADMSG);
	asks("nothing there", OBJ_COMMIT, upload, -ENODATA);
	asks("good", OBJ_WRITE, tail, 0);
	asks("a block missing", OBJ_COMMIT, upload, -ENODATA);
	asks("again", OBJ_BEGIN, upload, 0);
	asks("abort", OBJ_ABORT, upload, 0);
	asks("abort twice", OBJ_ABORT, upload, -ENOENT);
	asks("after its end", OBJ_WRITE, tail, -ENOENT);
}

static void files(void)
{
	struct obj_req req = { .orq_count = 1 };

	memset(req.orq_id, 0xab, sizeof req.orq_id);
	asks("no such file", OBJ_READ, req, -ESTALE);
	asks("no such file", OBJ_SUMS, req, -ESTALE);
	req.orq_count = 0;
	asks("nothing", OBJ_READ, req, -EINVAL);
	asks("nothing", OBJ_SUMS, req, -EINVAL);
	req.orq_count = UINT64_MAX;
	asks("too much", OBJ_READ, req, -EINVAL);
	asks("too much", OBJ_SUMS, req, -EINVAL);
	req.orq_count = 1;
	req.orq_offset = UINT64_MAX;
	asks("too far", OBJ_READ, req, -EINVAL);
	asks("too far", OBJ_SUMS, req, -EINVAL);
}

/* ---------------------------------------------------------------- memory -- */

/* Posts a request to fetch `nr` bytes from memory that is offered no more. */
static struct m0_rpc_raw *withdrawn_post(struct obj_req req)
{
	struct m0_net_buffer nb;
	struct m0_rpc_bulk   rb;
	struct m0_rpc_raw   *raw;
	uint8_t             *body;
	int                  rc;

	M0_SET0(&nb);
	m0_rpc_bulk_init(&rb);
	rc = tool_buffer_init(&nb, &client.oc_dom, OBJ_BLOCK)
		     ?: m0_rpc_bulk_buf_add(&rb, 0, req.orq_count,
					    &client.oc_dom, &nb, NULL);
	M0_ASSERT(rc == 0);
	m0_rpc_bulk_qtype(&rb, M0_NET_QT_PASSIVE_BULK_SEND);
	rc = m0_rpc_bulk_store(&rb, &client.oc_conn, &req.orq_desc);
	M0_ASSERT(rc == 0);
	m0_rpc_bulk_store_del(&rb);
	(void)m0_rpc_bulk_wait(&rb);
	m0_rpc_bulk_fini(&rb);
	tool_buffer_fini(&nb);
	req.orq_data_nr = 0;
	raw = obj_raw_new(OBJ_WRITE, obj_req_size(&req), &body);
	M0_ASSERT(raw != NULL);
	(void)obj_req_encode(&req, body);
	m0_net_desc_free(&req.orq_desc.bdd_desc);
	raw->rr_item.ri_session = &client.oc_session;
	rc = m0_rpc_post(&raw->rr_item);
	M0_ASSERT(rc == 0);
	return raw;
}

/* Asks for something until another request has been answered: how? */
static int answer_of(struct m0_rpc_raw *raw, enum obj_op op,
		     const struct obj_req *req)
{
	struct obj_rep rep;
	int            rc;

	do {
		(void)ask(op, req);
		rc = m0_rpc_item_wait_for_reply(&raw->rr_item,
						m0_time_from_now(0, 50000000));
	} while (rc == -ETIMEDOUT);
	rc = rc ?: obj_reply_of(&raw->rr_item, &rep);
	m0_rpc_item_put(&raw->rr_item);
	return rc;
}

/* A server that fetches in vain stops when the block is no longer wanted. */
static void memory(void)
{
	struct obj_req     upload = upload_of("memory");
	struct obj_req     tail = tail_of(&upload);
	struct m0_rpc_raw *raw;

	asks("begin", OBJ_BEGIN, upload, 0);
	raw = withdrawn_post(tail);
	is("a block that came otherwise", answer_of(raw, OBJ_WRITE, &tail), 0);
	tail.orq_offset = 0;
	tail.orq_count = OBJ_BLOCK;
	raw = withdrawn_post(tail);
	is("a block that is not wanted", answer_of(raw, OBJ_ABORT, &upload),
	   -ENOENT);
}

static void wrong(void)
{
	names();
	sizes();
	blocks();
	files();
	memory();
}

/* ------------------------------------------------------------ a full store -- */

static int small_put(unsigned nr, uint32_t bytes)
{
	static const char data[OBJ_INLINE_MAX];
	char              name[16];
	struct obj_req    req;

	snprintf(name, sizeof name, "small%u", nr);
	req = named(name, strlen(name));
	req.orq_data = data;
	req.orq_data_nr = bytes;
	req.orq_count = bytes;
	hash_bytes(data, bytes, req.orq_sum);
	return ask(OBJ_PUT, &req);
}

/* An upload of a short block. */
static struct obj_req upload_whole(const char *name)
{
	static const char data[TAIL];
	struct obj_req    upload = upload_of(name);
	struct obj_req    block;

	upload.orq_count = TAIL;
	asks(name, OBJ_BEGIN, upload, 0);
	block = tail_of(&upload);
	block.orq_offset = 0;
	asks(name, OBJ_WRITE, block, 0);
	hash_bytes(data, TAIL, upload.orq_sum);
	return upload;
}

/* Until neither much nor a little is taken, whatever the store tries. */
static unsigned store_fill(void)
{
	static const uint32_t bytes[] = { OBJ_INLINE_MAX, 2000, 0 };
	unsigned              nr = 0;
	unsigned              refused;
	unsigned              i;

	for (i = 0; i < ARRAY_SIZE(bytes); ++i)
		for (refused = 0; refused < 20 && nr < 100000;)
			if (small_put(nr, bytes[i]) == 0)
				++nr, refused = 0;
			else
				++refused;
	return nr;
}

/* A refused request changes nothing, and a removed object leaves nothing. */
static void full(void)
{
	struct obj_req object = upload_whole("object");
	struct obj_req upload = upload_whole("upload");
	struct obj_req given_up = upload_whole("given up");
	char           name[16];
	unsigned       nr;

	asks("large", OBJ_COMMIT, object, 0);
	nr = store_fill();
	asks("full", OBJ_COMMIT, upload, -ENOSPC);
	asks("still full", OBJ_COMMIT, upload, -ENOSPC);
	asks("full", OBJ_BEGIN, upload_of("another"), -ENOSPC);
	asks("full", OBJ_ABORT, given_up, 0);
	asks("full", OBJ_REMOVE, named("object", 6), 0);
	while (nr-- > 0) {
		snprintf(name, sizeof name, "small%u", nr);
		asks(name, OBJ_REMOVE, named(name, strlen(name)), 0);
	}
	asks("room", OBJ_COMMIT, upload, 0);
	asks("room", OBJ_STAT, named("upload", 6), 0);
}

/* ------------------------------------------------------------ cancelled -- */

enum {
	/** Offset of the status in a reply of sunrpc: behind the head of a
	 * record and six words. */
	STATUS_AT = 4 + 6 * 4,
	REPLY = 1
};

/* From the start. */
static bool     lies;
static unsigned lies_nr;

static uint32_t word_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

/* In place of the C library's: says of what is not there that it was
 * cancelled. */
__attribute__((visibility("default"))) ssize_t sendmsg(int                  fd,
						       const struct msghdr *msg,
						       int flags)
{
	size_t   i;
	uint8_t *at;

	for (i = 0; lies && i < msg->msg_iovlen; ++i) {
		at = msg->msg_iov[i].iov_base;
		if (msg->msg_iov[i].iov_len >= STATUS_AT + 4 &&
		    word_at(at + 8) == REPLY &&
		    word_at(at + STATUS_AT) == ENOENT) {
			at[STATUS_AT + 3] = ECANCELED;
			__atomic_fetch_add(&lies_nr, 1, __ATOMIC_RELAXED);
		}
	}
	return syscall(SYS_sendmsg, fd, msg, flags);
}

/* Over sunrpc the client says how a fetch ended; not that it was cancelled, and
 * whatever it says makes no other. */
static void cancelled(void)
{
	struct obj_req     upload = upload_of("cancelled");
	struct obj_req     block = tail_of(&upload);
	struct m0_rpc_raw *raw;
	struct obj_rep     rep;
	int                rc;

	asks("begin", OBJ_BEGIN, upload, 0);
	raw = withdrawn_post(block);
	rc = m0_rpc_item_wait_for_reply(&raw->rr_item, M0_TIME_NEVER)
		     ?: obj_reply_of(&raw->rr_item, &rep);
	is("a fetch that the client cancels", rc, -EPROTO);
	is("fetches of it", (int)__atomic_load_n(&lies_nr, __ATOMIC_RELAXED),
	   1);
	m0_rpc_item_put(&raw->rr_item);
	asks("end", OBJ_ABORT, upload, 0);
}

/* -------------------------------------------------------------- in steps -- */

/* Says what it has come to, and goes on when it is told to. */
static void step(const char *word)
{
	puts(word);
	(void)fflush(stdout);
	(void)getchar();
}

/* Leaves an upload behind. */
static void begin(const char *name)
{
	struct obj_req upload = upload_of(name);

	asks(name, OBJ_BEGIN, upload, 0);
	asks(name, OBJ_WRITE, tail_of(&upload), 0);
}

/* More uploads than the service takes, which are eight. */
static void crowd(void)
{
	char     name[16];
	unsigned i;

	for (i = 0; i <= 8; ++i) {
		snprintf(name, sizeof name, "crowd%u", i);
		asks(name, OBJ_BEGIN, upload_of(name), i < 8 ? 0 : -EBUSY);
	}
	asks("one that is there", OBJ_BEGIN, upload_of("crowd0"), 0);
	asks("one ends", OBJ_ABORT, upload_of("crowd0"), 0);
	asks("its place", OBJ_BEGIN, upload_of("crowd8"), 0);
	asks("one more", OBJ_BEGIN, upload_of("crowd0"), -EBUSY);
}

static void list(void)
{
	const struct obj_req all = { .orq_name_nr = 0 };

	step("ready");
	asks("all", OBJ_LIST, all, 0);
	step("answered");
}

/* ---------------------------------------------------------------- stalls -- */

enum {
	STALL_NR = 64
};

#define HOUR_NS (3600 * M0_TIME_ONE_SECOND)

static unsigned stall_sent_nr;
static unsigned stall_moved_nr;
static unsigned stall_moved_min;

/* Stops the process when all requests have left, and some blocks were moved. */
static void stall_look(void)
{
	if (__atomic_load_n(&stall_sent_nr, __ATOMIC_SEQ_CST) == STALL_NR &&
	    __atomic_load_n(&stall_moved_nr, __ATOMIC_SEQ_CST) >=
		    stall_moved_min)
		(void)kill(getpid(), SIGSTOP);
}

static void stall_moved(struct m0_rpc_bulk *rb)
{
	(void)rb;
	__atomic_fetch_add(&stall_moved_nr, 1, __ATOMIC_SEQ_CST);
	stall_look();
}

static void stall_sent(struct m0_rpc_item *item)
{
	(void)item;
	__atomic_fetch_add(&stall_sent_nr, 1, __ATOMIC_SEQ_CST);
	stall_look();
}

/* Offers memory for one block; all of them the same. */
static int stall_offer(struct obj_req *req, enum m0_net_queue_type q,
		       const struct m0_net_buffer *memory)
{
	struct m0_net_buffer *nb;
	struct m0_rpc_bulk   *rb;

	M0_ALLOC_PTR(nb);
	M0_ALLOC_PTR(rb);
	M0_ASSERT(nb != NULL && rb != NULL);
	nb->nb_buffer = memory->nb_buffer;
	m0_rpc_bulk_init(rb);
	rb->rb_timeout_ns = HOUR_NS;
	rb->rb_done = &stall_moved;
	req->orq_count = OBJ_BLOCK;
	return m0_rpc_bulk_buf_add(rb, 0, OBJ_BLOCK, &client.oc_dom, nb, NULL)
		       ?: (m0_rpc_bulk_qtype(rb, q), 0)
		       ?: m0_rpc_bulk_store(rb, &client.oc_conn,
					    &req->orq_desc);
}

static const struct m0_rpc_item_ops stall_ops = { .rio_sent = &stall_sent };

static int stall_post(enum obj_op op, const struct obj_req *req)
{
	uint8_t           *body;
	struct m0_rpc_raw *raw = obj_raw_new(op, obj_req_size(req), &body);

	M0_ASSERT(raw != NULL);
	(void)obj_req_encode(req, body);
	raw->rr_item.ri_session = &client.oc_session;
	raw->rr_item.ri_ops = &stall_ops;
	raw->rr_item.ri_nr_sent_max = 1;
	raw->rr_item.ri_expires = m0_time_add(m0_time_now(), HOUR_NS);
	raw->rr_item.ri_resend_interval = HOUR_NS;
	return m0_rpc_post(&raw->rr_item);
}

/* Asks for a block of an object, or offers one of an upload, many times; and
 * stops before they have moved. */
static void stall(enum obj_op op, const char *name)
{
	static struct obj_req reqs[STALL_NR];
	static const uint8_t  zeros[OBJ_BLOCK];
	struct m0_net_buffer  memory;
	struct m0_rpc_item   *item;
	struct obj_rep        rep;
	struct obj_req        first = upload_of(name);
	bool                  gets = op == OBJ_READ;
	unsigned              i;
	int                   rc;

	M0_SET0(&memory);
	is("memory", tool_buffer_init(&memory, &client.oc_dom, OBJ_BLOCK), 0);
	is(name,
	   obj_call(&client, gets ? OBJ_STAT : OBJ_BEGIN, &first, &rep, &item),
	   0);
	for (i = 0; i < STALL_NR && failures == 0; ++i) {
		memcpy(reqs[i].orq_id, gets ? rep.orp_id : first.orq_id,
		       OBJ_ID_BYTES);
		hash_bytes(zeros, OBJ_BLOCK, reqs[i].orq_sum);
		rc = stall_offer(&reqs[i],
				 gets ? M0_NET_QT_PASSIVE_BULK_RECV
				      : M0_NET_QT_PASSIVE_BULK_SEND,
				 &memory);
		is("offer", rc, 0);
	}
	for (i = 0; i < STALL_NR && failures == 0; ++i)
		is("post", stall_post(op, &reqs[i]), 0);
	if (failures == 0)
		(void)pause();
}

int main(int argc, char **argv)
{
	static struct obj_args args;
	struct obj_target      target;
	struct tool_fail       fail = { .tf_exit = TOOL_OK };
	char                   text[300];

	if (argc < 4 || argc > 5)
		return TOOL_USAGE;
	lies = argc == 5 && strcmp(argv[4], "cancelled") == 0;
	obj_args_init(&args, argv[0], &fail);
	(void)m0_lnet_cfg_networks(&args.oa_opts.nop_cfg, argv[1], NULL);
	args.oa_opts.nop_cfg.lc_port = (uint16_t)atoi(argv[2]);
	args.oa_opts.nop_cfg.lc_src_port_min = 0;
	args.oa_opts.nop_cfg.lc_src_port_max = 0;
	snprintf(text, sizeof text, "%s:", argv[3]);
	if (obj_target_parse(&target, text, &fail) == 0 &&
	    obj_client_open(&client, &args, &target, &fail) == 0) {
		if (argc == 4)
			wrong();
		else if (strcmp(argv[4], "full") == 0)
			full();
		else if (lies)
			cancelled();
		else if (strncmp(argv[4], "begin ", 6) == 0)
			begin(argv[4] + 6);
		else if (strncmp(argv[4], "end ", 4) == 0)
			asks("end", OBJ_ABORT, upload_of(argv[4] + 4), 0);
		else if (strcmp(argv[4], "crowd") == 0)
			crowd();
		else if (strcmp(argv[4], "list") == 0)
			list();
		else if (strncmp(argv[4], "get ", 4) == 0)
			stall(OBJ_READ, argv[4] + 4);
		else if (strncmp(argv[4], "put ", 4) == 0)
			stall(OBJ_WRITE, argv[4] + 4);
		else if (strncmp(argv[4], "some ", 5) == 0) {
			stall_moved_min = STALL_NR / 2;
			stall(OBJ_READ, argv[4] + 5);
		}
	}
	obj_client_close(&client);
	return failures > 0 ? TOOL_FAILED : tool_fail_print(&fail, argv[0]);
}
