/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Blocks of 1 MiB into and out of a running object service, 8 in flight, beside
 * a bare loop between two processes over loopback: socket -> pwrite and
 * pread -> socket, on files beside the service's. In turns, pass by pass.
 *
 *   objbench [-c A,B] [-n PASSES] DIR EP [OPTION of `colibri put'...]
 */
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/bench.h"
#include "../../tools/object/obj_lane.h"

enum {
	/** Blocks of a pass, and of the memory of its data. */
	BLOCKS = 64,
	FLIGHT = 8,
	PASSES_MAX = 99
};

/** Cases in the order of a pass. */
enum {
	RAW_FRESH,
	RAW_OVER_FIRST,
	RAW_OVER,
	RAW_READ,
	OUR_FRESH,
	OUR_READ_FRESH,
	OUR_OVER_FIRST,
	OUR_OVER,
	OUR_READ_OVER,
	KINDS
};

static const char *const kind_names[KINDS] = {
	"raw.write.fresh",  "raw.write.over.first", "raw.write.over",
	"raw.read",         "write.fresh",          "read.fresh",
	"write.over.first", "write.over",           "read.over",
};

static double spent_s[KINDS][PASSES_MAX];

/* ------------------------------------------------------------------ raw -- */

static int      raw_sock;
static pid_t    raw_pid;
static uint8_t *raw_mem;

static uint8_t *raw_at(int i)
{
	return raw_mem + (size_t)(i % FLIGHT) * OBJ_BLOCK;
}

static void all_of(ssize_t (*io)(int fd, void *at, size_t nr), uint8_t *at,
		   size_t nr)
{
	ssize_t part;

	for (; nr > 0; at += part, nr -= (size_t)part) {
		part = io(raw_sock, at, nr);
		if (part <= 0)
			bench_die("a bare socket was closed");
	}
}

static ssize_t sock_in(int fd, void *at, size_t nr)
{
	return recv(fd, at, nr, 0);
}

static ssize_t sock_out(int fd, void *at, size_t nr)
{
	return send(fd, at, nr, MSG_NOSIGNAL);
}

static void raw_take(int fd)
{
	int i;

	for (i = 0; i < BLOCKS; ++i) {
		all_of(&sock_in, raw_at(i), OBJ_BLOCK);
		if (fd >= 0 && pwrite(fd, raw_at(i), OBJ_BLOCK,
				      (off_t)i * OBJ_BLOCK) != OBJ_BLOCK)
			bench_die("pwrite: %m");
	}
}

static void raw_give(int fd)
{
	int i;

	for (i = 0; i < BLOCKS; ++i) {
		if (fd >= 0 && pread(fd, raw_at(i), OBJ_BLOCK,
				     (off_t)i * OBJ_BLOCK) != OBJ_BLOCK)
			bench_die("pread: %m");
		all_of(&sock_out, raw_at(i), OBJ_BLOCK);
	}
}

/* The other process: does as it is told, and says when it has. */
static void raw_serve(const char *path)
{
	uint8_t word;
	int     fd = -1;

	while (recv(raw_sock, &word, 1, 0) == 1) {
		if (word == RAW_FRESH) {
			(void)close(fd);
			(void)unlink(path);
			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			if (fd < 0)
				bench_die("%s: %m", path);
		}
		all_of(&sock_out, &word, 1);
		if (word == RAW_READ) {
			raw_give(fd);
		} else {
			raw_take(fd);
			all_of(&sock_out, &word, 1);
		}
	}
	_exit(0);
}

static void raw_start(const char *path)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t          nr = sizeof at;
	int                door = socket(AF_INET, SOCK_STREAM, 0);

	raw_mem = aligned_alloc(4096, (size_t)FLIGHT * OBJ_BLOCK);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	if (raw_mem == NULL || door < 0 ||
	    bind(door, (void *)&at, sizeof at) != 0 || listen(door, 1) != 0 ||
	    getsockname(door, (void *)&at, &nr) != 0)
		bench_die("a bare socket: %m");
	raw_pid = fork();
	if (raw_pid < 0)
		bench_die("fork: %m");
	memset(raw_mem, raw_pid == 0, (size_t)FLIGHT * OBJ_BLOCK);
	if (raw_pid == 0) {
		raw_sock = accept(door, NULL, NULL);
		raw_serve(path);
	}
	raw_sock = socket(AF_INET, SOCK_STREAM, 0);
	if (raw_sock < 0 || connect(raw_sock, (void *)&at, sizeof at) != 0)
		bench_die("a bare socket: %m");
	(void)close(door);
}

static void raw_stop(const char *path)
{
	(void)close(raw_sock);
	(void)waitpid(raw_pid, NULL, 0);
	(void)unlink(path);
}

static double raw_pass(int kind)
{
	uint8_t word = (uint8_t)kind;
	double  start;

	all_of(&sock_out, &word, 1);
	all_of(&sock_in, &word, 1);
	start = bench_now_s();
	if (kind == RAW_READ) {
		raw_take(-1);
	} else {
		raw_give(-1);
		all_of(&sock_in, &word, 1);
	}
	return bench_now_s() - start;
}

/* ----------------------------------------------------------------- ours -- */

static struct obj_client client;
static struct obj_lanes  lanes;
static uint8_t           upload_id[OBJ_ID_BYTES];
static uint8_t           sums[BLOCKS * HASH_BYTES];
static const char        name[] = "bench";

static void lane_end(const struct obj_lane *lane)
{
	if (lane->ol_rc != 0)
		bench_die("%s: %s", obj_op_name(lane->ol_op),
			  obj_errtext(lane->ol_rc));
}

/* One request about the object as a whole. */
static struct obj_lane *ask(enum obj_op op)
{
	struct obj_lane *lane = obj_lane_get(&lanes, false);

	lane->ol_op = op;
	memcpy(lane->ol_req.orq_id, upload_id, OBJ_ID_BYTES);
	lane->ol_req.orq_name = name;
	lane->ol_req.orq_name_nr = sizeof name - 1;
	lane->ol_req.orq_count = (uint64_t)BLOCKS * OBJ_BLOCK;
	lane->ol_req.orq_flags = op == OBJ_BEGIN ? OBJ_FORCE : 0;
	lane->ol_req.orq_mode = 0600;
	obj_sum_of(sums, BLOCKS, lane->ol_req.orq_sum);
	obj_lane_post(lane);
	if (obj_lanes_wait(&lanes, M0_TIME_NEVER) == NULL)
		bench_die("interrupted");
	lane_end(lane);
	return lane;
}

static void write_fill(struct obj_lane *lane, int i)
{
	hash_bytes(obj_lane_bytes(lane), OBJ_BLOCK, lane->ol_req.orq_sum);
	memcpy(sums + i * HASH_BYTES, lane->ol_req.orq_sum, HASH_BYTES);
	memcpy(lane->ol_req.orq_id, upload_id, OBJ_ID_BYTES);
}

static void read_check(const struct obj_lane *lane)
{
	uint8_t sum[HASH_BYTES];

	hash_bytes(obj_lane_bytes(lane), OBJ_BLOCK, sum);
	if (memcmp(sum, lane->ol_rep.orp_sum, HASH_BYTES) != 0)
		bench_die("a block came damaged");
}

static double our_pass(enum obj_op op, const uint8_t id[OBJ_ID_BYTES])
{
	double           start = bench_now_s();
	struct obj_lane *lane;
	int              sent = 0;
	int              ended = 0;

	while (ended < BLOCKS) {
		while (sent < BLOCKS &&
		       (lane = obj_lane_get(&lanes, true)) != NULL) {
			lane->ol_op = op;
			lane->ol_gets = op == OBJ_READ;
			lane->ol_req.orq_offset = (uint64_t)sent * OBJ_BLOCK;
			lane->ol_req.orq_count = OBJ_BLOCK;
			memcpy(lane->ol_req.orq_id, id, OBJ_ID_BYTES);
			if (op == OBJ_WRITE)
				write_fill(lane, sent);
			obj_lane_post(lane);
			++sent;
		}
		lane = obj_lanes_wait(&lanes, M0_TIME_NEVER);
		if (lane == NULL)
			bench_die("interrupted");
		lane_end(lane);
		if (op == OBJ_READ)
			read_check(lane);
		obj_lane_put(lane);
		++ended;
	}
	return bench_now_s() - start;
}

/* An object of its own, whose blocks are written, maybe twice over, and read. */
static void our_object(int pass, bool over)
{
	struct obj_lane *lane;
	uint8_t          file[OBJ_ID_BYTES];
	int              kind;

	++upload_id[0];
	upload_id[1] = over;
	obj_lane_put(ask(OBJ_BEGIN));
	spent_s[OUR_FRESH][pass] = our_pass(OBJ_WRITE, upload_id);
	for (kind = OUR_OVER_FIRST; over && kind <= OUR_OVER; ++kind)
		spent_s[kind][pass] = our_pass(OBJ_WRITE, upload_id);
	obj_lane_put(ask(OBJ_COMMIT));
	lane = ask(OBJ_STAT);
	memcpy(file, lane->ol_rep.orp_id, OBJ_ID_BYTES);
	obj_lane_put(lane);
	spent_s[over ? OUR_READ_OVER : OUR_READ_FRESH][pass] =
		our_pass(OBJ_READ, file);
	obj_lane_put(ask(OBJ_REMOVE));
	/* The service gives its file back 200 ms later, beside other work. */
	(void)usleep(300000);
}

/* ----------------------------------------------------------------- main -- */

static int by_size(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static void pass_run(int pass)
{
	int kind;

	for (kind = RAW_FRESH; kind <= RAW_READ; ++kind)
		spent_s[kind][pass] = raw_pass(kind);
	our_object(pass, false);
	our_object(pass, true);
}

static void passes_run(int nr)
{
	int kind;
	int i;

	/* Once without a clock: everything is touched for the first time. */
	pass_run(0);
	for (i = 0; i < nr; ++i)
		pass_run(i);
	for (kind = 0; kind < KINDS; ++kind) {
		qsort(spent_s[kind], (size_t)nr, sizeof spent_s[kind][0],
		      &by_size);
		bench_line(kind_names[kind],
			   spent_s[kind][nr / 2] / BLOCKS * 1e9, "ns");
	}
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &obj_args_argp, 0, NULL, 0 },
		{ 0 },
	};
	static const struct argp argp = { .children = children };
	static struct obj_args   args;
	static struct obj_target target;
	struct tool_fail         fail = { .tf_exit = TOOL_OK };
	char                     path[PATH_MAX];
	int                      at;

	at = bench_options(argc, argv, "DIR EP [OPTION...]");
	if (argc - at < 2)
		bench_die("objbench [-n PASSES] DIR EP [OPTION...]");
	snprintf(path, sizeof path, "%s/raw", argv[at]);
	raw_start(path);
	obj_args_init(&args, "objbench", &fail);
	if (argp_parse(&argp, argc - at - 1, argv + at + 1, 0, NULL, &args) !=
		    0 ||
	    fail.tf_exit != TOOL_OK ||
	    obj_target_parse(&target, argv[at + 1], &fail) != 0 ||
	    obj_client_open(&client, &args, &target, &fail) != 0 ||
	    obj_lanes_init(&lanes, &client) != 0)
		bench_die("%s", fail.tf_text);
	passes_run(bench_opt.o_slice_nr < PASSES_MAX ? bench_opt.o_slice_nr
						     : PASSES_MAX);
	obj_lanes_fini(&lanes);
	obj_client_close(&client);
	raw_stop(path);
	return 0;
}
