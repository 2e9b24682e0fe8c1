/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The node's side of the control socket, for a loop around poll(2). Whatever a
 * client does, it costs a slot for a bounded time and nothing else.
 */
#ifndef M0_TOOLS_CTL_SERVER_H
#define M0_TOOLS_CTL_SERVER_H

#include <poll.h>
#include <sys/stat.h>

#include "ctl.h"

struct ctl_server;

enum ctl_client_state {
	CTL_FREE,
	/** Its request is awaited. */
	CTL_READING,
	/** Its answer is being made; the client may be gone (fd -1). */
	CTL_WORKING,
	CTL_WRITING
};

struct ctl_client {
	struct ctl_server    *cc_server;
	enum ctl_client_state cc_state;
	int                   cc_fd;
	/** Whether it may change the node, or only read: by its credentials. */
	bool  cc_may_change;
	uid_t cc_uid;
	/** Deadline of reading and of writing. */
	m0_time_t cc_deadline;
	/** Bytes of the request, or of the answer that have been sent. */
	size_t cc_nr;
	char   cc_line[CTL_LINE_BYTES];
	/** A request whose body is on its way, its bytes, and how many of them are
	 * here. */
	struct ctl_request cc_req;
	char              *cc_body;
	size_t             cc_body_nr;
	char              *cc_answer;
	size_t             cc_answer_nr;
};

enum {
	CTL_CLIENTS_MAX = 64,
	/** Clients that may only read, at a time: they cannot lock others out. */
	CTL_READERS_MAX = CTL_CLIENTS_MAX - 16,
	/** And those of one user: it takes several users to lock others out. */
	CTL_READERS_OF_USER_MAX = CTL_READERS_MAX / 4,
	CTL_POLLFDS_MAX = CTL_CLIENTS_MAX + 1
};

struct ctl_server {
	int    csv_fd;
	mode_t csv_mode;
	/** Group of the socket; (gid_t)-1: that of the process. */
	gid_t csv_group;
	char  csv_path[CTL_PATH_BYTES];
	/** The socket at the path is this node's while it has these numbers. */
	dev_t csv_dev;
	ino_t csv_ino;
	/**
	 * Serves a request: ctl_answer() now or later, once.
	 */
	void (*csv_serve)(struct ctl_server *server, struct ctl_client *client,
			  const struct ctl_request *req);
	struct ctl_client csv_clients[CTL_CLIENTS_MAX];
};

/**
 * Is the path free, or a dead node's? To be asked before a node is opened: the
 * message is better than that of a port that is taken.
 */
int ctl_server_probe(const char *path, struct tool_fail *fail);
/**
 * Listens, in place of a dead node if there is one.
 * @param group  group of the socket; (gid_t)-1: that of the process.
 */
int ctl_server_open(struct ctl_server *server, const char *path, mode_t mode,
		    gid_t group, struct tool_fail *fail);
/** Takes no more clients, and removes the socket. */
void ctl_server_close(struct ctl_server *server);
/** Hangs up on all clients. Pre: closed; nobody will answer any more. */
void ctl_server_fini(struct ctl_server *server);

/** Fills in what is to be polled. @return how many. */
unsigned ctl_server_poll(struct ctl_server *server,
			 struct pollfd      fds[CTL_POLLFDS_MAX]);
/** When something is to be done even if nothing happens; M0_TIME_NEVER. */
m0_time_t ctl_server_deadline(const struct ctl_server *server);
/** Does what is due. */
void ctl_server_step(struct ctl_server *server, m0_time_t now);
/** Is an answer being made, or on its way? */
bool ctl_server_is_busy(const struct ctl_server *server);

/**
 * Answers.
 * @param out, err  what is for standard output and error; taken over and freed;
 *                  NULL: no memory was left for it.
 */
void ctl_answer(struct ctl_client *client, int code, char *out, size_t out_nr,
		char *err, size_t err_nr);

/** The connection is the caller's from here on, and the client is answered. Pre: its
 * request is being served. */
void ctl_client_leave(struct ctl_client *client);

#endif /* M0_TOOLS_CTL_SERVER_H */
