/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Both roles of `colibri copy` as if in two processes, with messages that are
 * lost or come twice on their way.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../tools/copy/copy_role.h"

enum {
	BLOCK = 4096,
	BLOCKS_NR = 11,
	SIZE = (BLOCKS_NR - 1) * BLOCK + 17,
	INFLIGHT = 4,
	SMALL_BLOCK = 256,
	WINDOW = 64,
	TYPES_NR = COPY_BYE + 1,
	ALL = 1 << 30,
	TICK_MSEC = 20,
	AGES_NR = 3,
	CONV = 7
};

/** Long, so that a busy machine is not taken for a silent peer. */
#define TIMEOUT_NS (8 * M0_TIME_ONE_SECOND)
/** Part of COPY_IDLE_NS by which age() makes a peer look silent. */
#define AGE_NS (6 * M0_TIME_ONE_SECOND)
/** How long anything may take. */
#define PATIENCE_NS (60 * M0_TIME_ONE_SECOND)

/* Faults of messages on arrival. */
struct trouble {
	/* By type, the first so many are lost; of the others, so many of 100. */
	unsigned tr_lose[TYPES_NR];
	unsigned tr_percent;
	/* Each message arrives twice; with each the first block arrives
	 * again. */
	bool tr_twice;
	bool tr_replay;
	/* Blocks are small, and many. */
	bool     tr_small;
	uint64_t tr_seed;
};

/* A source, a sender, a door that leads to a receiver, a destination. */
struct world {
	char                 w_dir[32];
	char                 w_src_path[64];
	char                 w_dst_path[64];
	uint8_t              w_content[SIZE];
	struct src_file      w_src;
	struct dst_file      w_dst;
	struct copy_plan     w_plan;
	struct copy_target   w_target;
	struct copy_sender   w_sender;
	struct copy_receiver w_receiver;
	struct tool_port     w_door;
	/* Where the door leads to, and what else came to it. Its lock's. */
	const char              *w_leads;
	unsigned                 w_nr[TYPES_NR];
	unsigned                 w_busy_nr;
	struct m0_net_end_point *w_from;
	int                      w_done_fd;
	struct m0_mutex          w_lock;
	struct trouble           w_trouble;
	uint8_t                  w_first[TOOL_PORT_MSG_MAX];
	size_t                   w_first_nr;
};

typedef bool (*take_f)(struct tool_port *, struct m0_net_end_point *, void *,
		       size_t);

static struct world w;
static take_f       sender_take;
static take_f       receiver_take;

/* ---------------------------------------------------------- on the way -- */

static bool is_lost(const uint8_t *bytes)
{
	struct trouble *trouble = &w.w_trouble;
	bool            lost;

	m0_mutex_lock(&w.w_lock);
	lost = trouble->tr_lose[bytes[5]] > 0;
	if (lost)
		--trouble->tr_lose[bytes[5]];
	else
		lost = m0_rnd(100, &trouble->tr_seed) < trouble->tr_percent;
	m0_mutex_unlock(&w.w_lock);
	return lost;
}

/* Keeps it, if this is it. @return  its length; 0: there was none yet. */
static size_t first_block(uint8_t ret[TOOL_PORT_MSG_MAX], const uint8_t *bytes,
			  size_t nr)
{
	size_t first_nr;

	m0_mutex_lock(&w.w_lock);
	if (w.w_first_nr == 0 && bytes[5] == COPY_BLOCK) {
		memcpy(w.w_first, bytes, nr);
		w.w_first_nr = nr;
	}
	first_nr = w.w_first_nr;
	memcpy(ret, w.w_first, first_nr);
	m0_mutex_unlock(&w.w_lock);
	return first_nr;
}

static bool take(take_f real, struct tool_port *port,
		 struct m0_net_end_point *from, void *bytes, size_t nr)
{
	uint8_t again[TOOL_PORT_MSG_MAX];
	size_t  first_nr;

	if (is_lost(bytes))
		return false;
	if (w.w_trouble.tr_twice) {
		memcpy(again, bytes, nr);
		(void)real(port, from, again, nr);
	}
	first_nr = first_block(again, bytes, nr);
	if (w.w_trouble.tr_replay && first_nr > 0 &&
	    port == &w.w_receiver.cr_port)
		(void)real(port, from, again, first_nr);
	return real(port, from, bytes, nr);
}

static bool to_sender(struct tool_port *port, struct m0_net_end_point *from,
		      void *bytes, size_t nr)
{
	return take(sender_take, port, from, bytes, nr);
}

static bool to_receiver(struct tool_port *port, struct m0_net_end_point *from,
			void *bytes, size_t nr)
{
	return take(receiver_take, port, from, bytes, nr);
}

/* Lets everybody in, and notes what else is said to it. */
static bool to_door(struct tool_port *port, struct m0_net_end_point *from,
		    void *bytes, size_t nr)
{
	struct copy_msg msg;
	struct copy_msg reply = {
		.cm_type = COPY_OPEN_REPLY,
		.cm_block = (uint32_t)w.w_plan.cpl_block,
		.cm_inflight = w.w_plan.cpl_inflight,
		.cm_text = w.w_leads,
		.cm_text_nr = (uint32_t)strlen(w.w_leads),
	};

	if (is_lost(bytes) || copy_msg_decode(&msg, bytes, nr) != 0)
		return false;
	if (msg.cm_type == COPY_OPEN)
		copy_reply(port, from, &reply);
	m0_mutex_lock(&port->tpo_lock);
	++w.w_nr[msg.cm_type];
	w.w_busy_nr += msg.cm_type == COPY_ALIVE && msg.cm_flags != 0;
	if (w.w_from == NULL) {
		(void)m0_net_end_point_get(from);
		w.w_from = from;
	}
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
	return true;
}

/* ---------------------------------------------------------- the world -- */

static void files_make(void)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	uint64_t         seed = 1;
	size_t           i;
	int              fd;

	strcpy(w.w_dir, "/tmp/colibri-unit-XXXXXX");
	assert_non_null(mkdtemp(w.w_dir));
	sprintf(w.w_src_path, "%s/src", w.w_dir);
	sprintf(w.w_dst_path, "%s/dst", w.w_dir);
	for (i = 0; i < SIZE; ++i)
		w.w_content[i] = (uint8_t)m0_rnd64(&seed);
	fd = open(w.w_src_path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, w.w_content, SIZE), SIZE);
	close(fd);
	assert_int_equal(src_file_open(&w.w_src, w.w_src_path, &fail), 0);
	assert_int_equal(dst_file_open(&w.w_dst, w.w_dst_path, &w.w_src, &fail),
			 0);
}

static void ports_make(void)
{
	struct copy_plan *plan = &w.w_plan;
	struct tool_port *door = &w.w_door;
	struct tool_fail  fail = { .tf_exit = TOOL_OK };

	plan->cpl_xprt = tool_xprt_find("mem", &fail);
	plan->cpl_block = w.w_trouble.tr_small ? SMALL_BLOCK : BLOCK;
	plan->cpl_inflight = w.w_trouble.tr_small ? WINDOW : INFLIGHT;
	plan->cpl_verify = true;
	plan->cpl_size = SIZE;
	plan->cpl_conv = CONV;
	plan->cpl_timeout_ns = TIMEOUT_NS;
	door->tpo_take = to_door;
	door->tpo_conv = CONV;
	door->tpo_timeout_ns = TIMEOUT_NS;
	door->tpo_is_door = true;
	assert_int_equal(copy_open(door, "door", plan->cpl_xprt, NULL, 64, -1),
			 0);
	assert_int_equal(copy_receiver_open(&w.w_receiver, plan, &w.w_dst, NULL,
					    w.w_done_fd),
			 0);
	assert_int_equal(
		copy_sender_open(&w.w_sender, plan, &w.w_src, w.w_done_fd), 0);
	strcpy(w.w_target.cta_addr, tool_node_addr(&door->tpo_node));
	w.w_target.cta_base = "src";
	w.w_leads = tool_node_addr(&w.w_receiver.cr_port.tpo_node);
	/* Nobody knows of them yet. */
	sender_take = w.w_sender.cs_port.tpo_take;
	receiver_take = w.w_receiver.cr_port.tpo_take;
	w.w_sender.cs_port.tpo_take = to_sender;
	w.w_receiver.cr_port.tpo_take = to_receiver;
}

static void world_make(const struct trouble *trouble)
{
	M0_SET0(&w);
	w.w_trouble = *trouble;
	m0_mutex_init(&w.w_lock);
	w.w_done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w.w_done_fd >= 0);
	files_make();
	ports_make();
}

static void world_end(void)
{
	copy_sender_stop(&w.w_sender);
	copy_receiver_stop(&w.w_receiver);
	tool_port_stop(&w.w_door);
	if (w.w_from != NULL)
		(void)m0_net_end_point_put(w.w_from);
	copy_sender_close(&w.w_sender);
	copy_receiver_close(&w.w_receiver);
	tool_port_close(&w.w_door);
	dst_file_close(&w.w_dst);
	src_file_close(&w.w_src);
	m0_mutex_fini(&w.w_lock);
	close(w.w_done_fd);
	(void)unlink(w.w_src_path);
	(void)unlink(w.w_dst_path);
	/* Fails if something else was left. */
	assert_int_equal(rmdir(w.w_dir), 0);
}

static bool is_done(struct tool_port *port)
{
	bool done;

	m0_mutex_lock(&port->tpo_lock);
	done = port->tpo_done;
	m0_mutex_unlock(&port->tpo_lock);
	return done;
}

/* One round of the loop of main(). */
static void tick(void)
{
	struct pollfd fd = { .fd = w.w_done_fd, .events = POLLIN };
	eventfd_t     value;

	if (poll(&fd, 1, TICK_MSEC) > 0)
		(void)eventfd_read(w.w_done_fd, &value);
	copy_sender_tick(&w.w_sender);
	copy_receiver_tick(&w.w_receiver);
}

/* Tells the sender that the door is there. */
static void door_tick(bool busy)
{
	struct m0_net_end_point *to;

	m0_mutex_lock(&w.w_door.tpo_lock);
	to = w.w_from;
	m0_mutex_unlock(&w.w_door.tpo_lock);
	if (to != NULL)
		(void)copy_alive(&w.w_door, to, busy);
}

/* How many came to the door; ALIVE: only busy ones, or only others. */
static unsigned came(enum copy_msg_type type, bool busy)
{
	unsigned nr;

	m0_mutex_lock(&w.w_door.tpo_lock);
	nr = busy ? w.w_busy_nr : w.w_nr[type];
	if (!busy && type == COPY_ALIVE)
		nr -= w.w_busy_nr;
	m0_mutex_unlock(&w.w_door.tpo_lock);
	return nr;
}

static void copy_move(void)
{
	m0_time_t limit = m0_time_now() + PATIENCE_NS;

	assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	assert_int_equal(copy_sender_call(&w.w_sender, &w.w_target), 0);
	while (!is_done(&w.w_sender.cs_port) ||
	       !is_done(&w.w_receiver.cr_port)) {
		assert_true(m0_time_now() < limit);
		tick();
	}
}

/* Each block was pulled once, and the new file is the old one. */
static void copy_check(void)
{
	uint8_t              got[SIZE + 1];
	struct m0_net_qstats stats;
	struct tool_port    *port = &w.w_receiver.cr_port;
	int                  fd = open(w.w_dst_path, O_RDONLY);

	assert_string_equal(w.w_sender.cs_port.tpo_fail.tf_text, "");
	assert_string_equal(port->tpo_fail.tf_text, "");
	assert_true(w.w_sender.cs_committed);
	assert_true(w.w_receiver.cr_committed);
	assert_int_equal(w.w_sender.cs_bytes, SIZE);
	assert_int_equal(w.w_receiver.cr_offset, SIZE);
	assert_int_equal(m0_net_tm_stats_get(&port->tpo_node.tn_tm,
					     M0_NET_QT_ACTIVE_BULK_RECV, &stats,
					     false),
			 0);
	assert_int_equal(stats.nqs_num_adds, BLOCKS_NR);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof got), SIZE);
	assert_memory_equal(got, w.w_content, SIZE);
	close(fd);
}

static void trouble_is_survived(const struct trouble *trouble)
{
	world_make(trouble);
	copy_move();
	copy_check();
	world_end();
}

/* ---------------------------------------------------------- the cases -- */

/* The first messages of a type are lost: they are said again. */
static void message_lost_is_said_again(void **state)
{
	int type;

	(void)state;
	for (type = COPY_BLOCK; type < TYPES_NR; ++type) {
		struct trouble trouble = { .tr_seed = 1 };

		trouble.tr_lose[type] = 2;
		trouble_is_survived(&trouble);
	}
}

/* The first window of blocks, or of replies, is lost as a whole. */
static void window_lost_is_offered_again(void **state)
{
	struct trouble blocks = { .tr_lose = { [COPY_BLOCK] = INFLIGHT } };
	struct trouble replies = { .tr_lose = {
					   [COPY_BLOCK_REPLY] = INFLIGHT } };

	(void)state;
	trouble_is_survived(&blocks);
	trouble_is_survived(&replies);
}

/* One message of six is lost, whichever it is. */
static void messages_lost_at_random_are_said_again(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 2; ++seed) {
		struct trouble trouble = { .tr_percent = 16, .tr_seed = seed };

		trouble_is_survived(&trouble);
	}
}

/* A message that arrives twice, or long after its answer, takes effect once. */
static void message_that_comes_again_is_known(void **state)
{
	struct trouble twice = { .tr_twice = true };
	struct trouble replay = { .tr_twice = true, .tr_replay = true };

	(void)state;
	trouble_is_survived(&twice);
	trouble_is_survived(&replay);
}

static bool receiver_has_heard(void)
{
	struct tool_port *port = &w.w_receiver.cr_port;
	bool              heard;

	m0_mutex_lock(&port->tpo_lock);
	heard = w.w_receiver.cr_from != NULL;
	m0_mutex_unlock(&port->tpo_lock);
	return heard;
}

/* A receiver that fails says why until it is heard. */
static void failure_lost_is_said_again(void **state)
{
	struct trouble trouble = { .tr_lose = { [COPY_END_REPLY] = 2 } };

	(void)state;
	world_make(&trouble);
	copy_receiver_cancel(&w.w_receiver);
	/* The receiver knows no peer to notify until one has called. */
	assert_int_equal(copy_sender_call(&w.w_sender, &w.w_target), 0);
	while (!receiver_has_heard())
		tick();
	assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	while (!is_done(&w.w_sender.cs_port))
		tick();
	assert_string_equal(w.w_sender.cs_port.tpo_fail.tf_text,
			    "the receiver gave up: called off");
	world_end();
}

/* Both sides are heard of, and nothing else comes through: that has an end. */
static void peer_that_does_nothing_is_given_up(void **state)
{
	struct trouble trouble = { .tr_lose = { [COPY_BLOCK] = ALL } };

	(void)state;
	world_make(&trouble);
	assert_int_equal(w.w_sender.cs_port.tpo_idle_ns, COPY_IDLE_NS);
	assert_int_equal(w.w_receiver.cr_port.tpo_idle_ns, COPY_IDLE_NS);
	w.w_sender.cs_port.tpo_idle_ns = M0_TIME_ONE_SECOND;
	w.w_receiver.cr_port.tpo_idle_ns = M0_TIME_ONE_SECOND;
	copy_move();
	assert_int_equal(w.w_sender.cs_port.tpo_rc, -ETIME);
	assert_int_equal(w.w_receiver.cr_port.tpo_rc, -ETIME);
	assert_non_null(strstr(w.w_sender.cs_port.tpo_fail.tf_text,
			       "has done nothing for 1 s"));
	assert_int_equal(access(w.w_dst_path, F_OK), -1);
	world_end();
}

/* Is what the other side did last as long ago as age() makes it? */
static bool is_aged(struct tool_port *port)
{
	m0_time_t moved;

	m0_mutex_lock(&port->tpo_lock);
	moved = port->tpo_moved;
	m0_mutex_unlock(&port->tpo_lock);
	return m0_time_now() >= m0_time_add(moved, AGE_NS);
}

/* As if more than half of its patience had gone by since the other side did
 * something, at once: twice is too long, and what is left is long for any machine. */
static void age(struct tool_port *port)
{
	m0_mutex_lock(&port->tpo_lock);
	assert_int_equal(port->tpo_idle_ns, COPY_IDLE_NS);
	port->tpo_moved = m0_time_sub(port->tpo_moved, AGE_NS);
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
}

/* From now on, its patience is short. */
static void hurry(struct tool_port *port)
{
	m0_mutex_lock(&port->tpo_lock);
	port->tpo_idle_ns = M0_TIME_ONE_SECOND;
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
}

/* The receiver is the door itself, which only ever answers OPEN. */
static void door_call(const struct trouble *trouble)
{
	world_make(trouble);
	w.w_leads = w.w_target.cta_addr;
	assert_int_equal(copy_sender_call(&w.w_sender, &w.w_target), 0);
}

static void door_wait(bool busy)
{
	tick();
	door_tick(busy);
	assert_int_equal(tool_port_rc(&w.w_sender.cs_port), 0);
}

/* One that says that it is at work is waited for as long as it says so. */
static void peer_at_work_is_not_given_up(void **state)
{
	struct trouble    trouble = { .tr_seed = 1 };
	struct tool_port *port = &w.w_sender.cs_port;
	int               i;

	(void)state;
	door_call(&trouble);
	for (i = 0; i < AGES_NR; ++i) {
		age(port);
		while (is_aged(port))
			door_wait(true);
	}
	/* Each block is offered again and again meanwhile. */
	while (came(COPY_BLOCK, false) <= 2 * INFLIGHT)
		door_wait(true);
	assert_int_equal(came(COPY_ALIVE, true), 0);
	hurry(port);
	while (!is_done(port)) {
		tick();
		door_tick(false);
	}
	assert_int_equal(port->tpo_rc, -ETIME);
	world_end();
}

/* Repeated offers leave space for the blocks, however many wait. */
static void large_window_is_offered_again_in_parts(void **state)
{
	struct trouble trouble = { .tr_small = true };
	unsigned       alive;
	unsigned       again;

	(void)state;
	door_call(&trouble);
	while (came(COPY_BLOCK, false) <= WINDOW + WINDOW / 2)
		door_wait(true);
	again = came(COPY_BLOCK, false) - WINDOW;
	/* Some are said with each of these, which are as many whatever the
	 * window. Asked later: not fewer. */
	alive = came(COPY_ALIVE, false) + came(COPY_ALIVE, true);
	assert_true(again <= alive * (WINDOW / 4));
	while (!is_done(&w.w_sender.cs_port)) {
		tool_port_fail_lock(&w.w_sender.cs_port, -EINTR, "enough");
		tick();
	}
	world_end();
}

/* ----------------------------------------------------------- slow pull -- */

static struct m0_net_buffer_event            slow_event;
static const struct m0_net_buffer_callbacks *slow_real;

/* Keeps the end of a pull to itself. */
static void slow_pulled(const struct m0_net_buffer_event *ev)
{
	m0_mutex_lock(&w.w_lock);
	slow_event = *ev;
	m0_mutex_unlock(&w.w_lock);
}

static const struct m0_net_buffer_callbacks slow_callbacks = {
	.nbc_cb = { [M0_NET_QT_ACTIVE_BULK_RECV] = slow_pulled }
};

/* Buffer of the first slot, which begins with it. */
static struct m0_net_buffer *slow_buffer(void)
{
	return (struct m0_net_buffer *)w.w_receiver.cr_slots;
}

static void slow_end(void)
{
	struct m0_net_buffer_event ev;

	m0_mutex_lock(&w.w_lock);
	ev = slow_event;
	m0_mutex_unlock(&w.w_lock);
	assert_ptr_equal(ev.nbe_buffer, slow_buffer());
	slow_buffer()->nb_callbacks = slow_real;
	slow_real->nbc_cb[M0_NET_QT_ACTIVE_BULK_RECV](&ev);
}

static bool slow_is_kept(void)
{
	bool kept;

	m0_mutex_lock(&w.w_lock);
	kept = slow_event.nbe_buffer != NULL;
	m0_mutex_unlock(&w.w_lock);
	return kept;
}

static void slow_wait(void)
{
	tick();
	assert_int_equal(tool_port_rc(&w.w_sender.cs_port), 0);
	assert_int_equal(tool_port_rc(&w.w_receiver.cr_port), 0);
}

/* A block that is long on its way is no reason to give up, for either side. */
static void block_on_its_way_is_waited_for(void **state)
{
	struct trouble trouble = { .tr_seed = 1 };
	m0_time_t      start;
	int            i;

	(void)state;
	world_make(&trouble);
	M0_SET0(&slow_event);
	slow_real = slow_buffer()->nb_callbacks;
	slow_buffer()->nb_callbacks = &slow_callbacks;
	assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	assert_int_equal(copy_sender_call(&w.w_sender, &w.w_target), 0);
	while (!slow_is_kept())
		slow_wait();
	/* The other blocks of the window come and are said to have. */
	start = m0_time_now();
	while (m0_time_now() < start + M0_TIME_ONE_SECOND)
		slow_wait();
	for (i = 0; i < AGES_NR; ++i) {
		age(&w.w_sender.cs_port);
		age(&w.w_receiver.cr_port);
		while (is_aged(&w.w_sender.cs_port) ||
		       is_aged(&w.w_receiver.cr_port))
			slow_wait();
	}
	slow_end();
	while (!is_done(&w.w_sender.cs_port) || !is_done(&w.w_receiver.cr_port))
		tick();
	copy_check();
	world_end();
}

/* A role tells whether it works on the file or waits. */
static void role_tells_whether_it_is_at_work(void **state)
{
	struct trouble           trouble = { .tr_seed = 1 };
	struct copy_msg          hello = { .cm_type = COPY_ALIVE };
	struct tool_port        *door = &w.w_door;
	struct m0_net_end_point *to;

	(void)state;
	world_make(&trouble);
	assert_int_equal(m0_net_end_point_create(&to, &door->tpo_node.tn_tm,
						 w.w_leads),
			 0);
	assert_int_equal(copy_send(door, to, &hello), 0);
	/* As long as its thread does anything but wait, the receiver is busy. */
	while (came(COPY_ALIVE, true) == 0)
		tick();
	assert_int_equal(came(COPY_ALIVE, false), 0);
	assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	while (came(COPY_ALIVE, false) == 0)
		tick();
	copy_receiver_cancel(&w.w_receiver);
	(void)m0_net_end_point_put(to);
	world_end();
}

/* ---------------------------------------------------------------- lies -- */

/* Says one thing to the receiver, who has written so much and may have been told
 * the end, and waits until that has an opinion. */
static int lie_tell_after(struct copy_msg *msg, uint64_t written, bool ended)
{
	struct trouble           trouble = { .tr_seed = 1 };
	const struct copy_msg    bye = { .cm_type = COPY_BYE };
	struct tool_port        *door = &w.w_door;
	struct m0_net_end_point *to;
	uint8_t                  desc[8] = { 1 };
	int                      rc;

	world_make(&trouble);
	if (msg->cm_type == COPY_BLOCK)
		msg->cm_desc = (struct m0_net_buf_desc){ .nbd_len = sizeof desc,
							 .nbd_data = desc };
	assert_int_equal(m0_net_end_point_create(&to, &door->tpo_node.tn_tm,
						 w.w_leads),
			 0);
	w.w_receiver.cr_offset = written;
	w.w_receiver.cr_ended = ended;
	if (!ended)
		assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	assert_int_equal(copy_send(door, to, msg), 0);
	while (!is_done(&w.w_receiver.cr_port) &&
	       tool_port_rc(&w.w_receiver.cr_port) == 0)
		tick();
	rc = tool_port_rc(&w.w_receiver.cr_port);
	if (ended)
		assert_int_equal(copy_receiver_run(&w.w_receiver), 0);
	assert_int_equal(access(w.w_dst_path, F_OK), -1);
	(void)copy_send(door, to, &bye);
	(void)m0_net_end_point_put(to);
	world_end();
	return rc;
}

static int lie_tell(struct copy_msg *msg)
{
	return lie_tell_after(msg, 0, false);
}

/* Blocks larger than was agreed, or of what was not announced; of what was written
 * in part; behind the end. */
static void block_out_of_bounds_is_refused(void **state)
{
	struct copy_msg large = { .cm_type = COPY_BLOCK,
				  .cm_length = BLOCK + 1 };
	struct copy_msg beyond = { .cm_type = COPY_BLOCK,
				   .cm_offset = SIZE - 1,
				   .cm_length = 2 };
	struct copy_msg late = { .cm_type = COPY_BLOCK, .cm_length = 2 };

	(void)state;
	assert_int_equal(lie_tell(&large), -EPROTO);
	assert_int_equal(lie_tell(&beyond), -EPROTO);
	assert_int_equal(lie_tell_after(&late, 1, false), -EPROTO);
	assert_int_equal(lie_tell_after(&late, 0, true), -EPROTO);
}

/* One that counts other bytes than came is not believed, whatever its sum. */
static void end_that_miscounts_is_refused(void **state)
{
	struct copy_msg end = { .cm_type = COPY_END, .cm_length = 5 };

	(void)state;
	hash_bytes("", 0, end.cm_sum);
	assert_int_equal(lie_tell(&end), -EPROTO);
}

/* The receiver's text reaches the sender's terminal without control
 * characters. */
static void text_of_the_receiver_is_harmless(void **state)
{
	struct trouble        trouble = { .tr_seed = 1 };
	const char           *text = "no\x1b[2Jroom";
	const struct copy_msg reply = { .cm_type = COPY_END_REPLY,
					.cm_status = -ENOSPC,
					.cm_text = text,
					.cm_text_nr = (uint32_t)strlen(text) };

	(void)state;
	door_call(&trouble);
	while (came(COPY_BLOCK, false) == 0)
		door_wait(false);
	assert_int_equal(copy_send(&w.w_door, w.w_from, &reply), 0);
	while (!is_done(&w.w_sender.cs_port))
		tick();
	assert_string_equal(w.w_sender.cs_port.tpo_fail.tf_text,
			    "the receiver gave up: no?[2Jroom");
	world_end();
}

static int library_init(void **state)
{
	(void)state;
	return m0_net_init();
}

static int library_fini(void **state)
{
	(void)state;
	(void)m0_net_fini();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_lost_is_said_again),
		cmocka_unit_test(window_lost_is_offered_again),
		cmocka_unit_test(messages_lost_at_random_are_said_again),
		cmocka_unit_test(message_that_comes_again_is_known),
		cmocka_unit_test(failure_lost_is_said_again),
		cmocka_unit_test(peer_that_does_nothing_is_given_up),
		cmocka_unit_test(peer_at_work_is_not_given_up),
		cmocka_unit_test(large_window_is_offered_again_in_parts),
		cmocka_unit_test(block_on_its_way_is_waited_for),
		cmocka_unit_test(role_tells_whether_it_is_at_work),
		cmocka_unit_test(block_out_of_bounds_is_refused),
		cmocka_unit_test(end_that_miscounts_is_refused),
		cmocka_unit_test(text_of_the_receiver_is_harmless),
	};

	return cmocka_run_group_tests(tests, library_init, library_fini);
}
