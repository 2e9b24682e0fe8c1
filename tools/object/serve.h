/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri serve`: a directory as an object service.
 *
 * What exists under which name, its size and its sum, are in the store's
 * transactions (serve_meta.c); so is the data of small objects. Larger ones are
 * files below DIR/.colibri/data, named by random numbers that only the store
 * knows: a file is visible when the transaction that names it is committed, and
 * forgotten by the transaction that names another. What the store has forgotten
 * it lists as garbage, in the same transaction, until it is unlinked
 * (serve_gc.c): a crash at any point leaves nothing else behind.
 *
 * Threads. Handlers run on the machine's thread and do not block: they decode,
 * look up an upload, ask the store. Workers (serve_work.c) do what blocks on
 * files. Updates run on the store's thread.
 */
#ifndef M0_TOOLS_SERVE_H
#define M0_TOOLS_SERVE_H

#include "m0/rpc_bulk.h"

#include "../base/cmd.h"
#include "../node/lnet_opts.h"
#include "../net/node.h"
#include "obj_types.h"
#include "../net/place.h"

enum serve_sync {
	/** Nothing is waited for. */
	SERVE_SYNC_NONE,
	/** An object is on the disk when it is complete. */
	SERVE_SYNC_COMMIT,
	/** And every block of it when it is answered. */
	SERVE_SYNC_WRITE
};

/* ------------------------------------------------------- the directory -- */

/** DIR/.colibri and what is in it. */
struct serve_dir {
	/** Descriptors; -1: not open. */
	int sd_home_fd;
	int sd_data_fd;
	int sd_lock_fd;
	/** The machine has been started anew since the last service here. */
	bool    sd_rebooted;
	uint8_t sd_uuid[OBJ_ID_BYTES];
};

/**
 * Opens or makes it, for this process alone.
 * @param fresh  what data there is does not count: it is removed.
 * @return 0, or an exit code, with `fail` set.
 */
int  serve_dir_open(struct serve_dir *dir, const char *path, bool fresh,
		    struct tool_fail *fail);
void serve_dir_close(struct serve_dir *dir);
/** The files are of this start of the machine: what it broke has been seen to. */
int serve_dir_boot_note(struct serve_dir *dir);

/** Files of an id: data, and the sums of its blocks. */
struct serve_file {
	int sfi_data_fd;
	int sfi_sums_fd;
};

/** @param flags  as open(2); with O_CREAT the place is made, too. */
int  serve_file_open(struct serve_file *file, const struct serve_dir *dir,
		     const uint8_t *id, int flags);
void serve_file_close(struct serve_file *file);
/** Were there ever any? Their directories are made by uploads, and stay. */
bool serve_dir_has_files(const struct serve_dir *dir);
/** Waits until data, sums and their names are on the disk. */
int serve_file_sync(const struct serve_file *file, const struct serve_dir *dir,
		    const uint8_t *id);
/** Gone already is good. */
int serve_file_unlink(const struct serve_dir *dir, const uint8_t *id);
/** Syncs the removal of a file to disk, and of all whose ids begin with the same
 * byte. */
int serve_file_gone_sync(const struct serve_dir *dir, const uint8_t *id);
/** Nothing of it counts as written any more. */
int serve_file_forget(const struct serve_dir *dir, const uint8_t *id);
/** When it was written to; 0: never. */
uint64_t serve_file_mtime_ns(const struct serve_dir *dir, const uint8_t *id);

/* ------------------------------------------------------------- uploads -- */

struct server;
struct serve_client;

/** An upload of which a request has come since the start; under the server's lock. */
struct serve_upload {
	struct m0_list_link su_link;
	/** Id that the client gave the source, and that of its file. */
	uint8_t  su_source[OBJ_ID_BYTES];
	uint8_t  su_file[OBJ_ID_BYTES];
	uint64_t su_size;
	uint32_t su_users;
	/** When there was one. */
	m0_time_t su_used;
	/** Number of these that write to the file now. */
	uint32_t su_writers;
	/** Operations that wait for data from clients' memory. */
	struct m0_list su_fetches;
	/** Is being made an object: takes nothing more. */
	bool su_closed;
	/** And the store has been asked to make it one. */
	bool su_posted;
	/** In the table no more, but in sv_dropped: goes with the last user. */
	bool su_dropped;
};

enum {
	UPLOAD_BUCKETS = 256,
	/** In memory. */
	UPLOADS_MAX = 4096,
	/** Requests of a client that wait for a buffer; as many as a client
	 * of this command may have on their way. */
	SERVE_WAITING_MAX = 256
};

/** Stands for all blocks. */
#define SERVE_ALL_BLOCKS UINT64_MAX

/* ---------------------------------------------------------- operations -- */

/** A request that a handler does not answer itself. */
struct serve_op {
	struct server       *op_server;
	struct m0_rpc_item  *op_item;
	struct obj_req       op_req;
	struct serve_upload *op_upload;
	/** When the request came, if there are metrics. */
	m0_time_t op_came;
	/** When it was answered; 0: when the operation ends. */
	m0_time_t op_answered;
	/** One of the service's buffers, with the data. */
	struct m0_net_buffer *op_nb;
	/** The client that waits for it or has it. */
	struct serve_client *op_client;
	/** The client's transfers, by this; since when; whether the buffer
	 * was taken back. */
	struct m0_list_link op_moving;
	m0_time_t           op_began;
	bool                op_revoked;
	/** Read: it has ended. */
	bool                    op_left;
	struct m0_rpc_bulk      op_rb;
	struct obj_rep          op_rep;
	struct m0_rpc_store_job op_job;
	int32_t                 op_rc;
	/** In one of the server's lists. */
	struct m0_list_link op_link;
	/** Next function of the operation, with a buffer or on a worker. */
	void (*op_next)(struct serve_op *op);
	/** COMMIT: what the transaction is to write. */
	uint8_t op_sum[HASH_BYTES];
};

struct server {
	struct serve_dir sv_dir;
	enum serve_sync  sv_sync;
	/** &sv_kept; NULL: it is not open. */
	struct m0_rpc_store  *sv_store;
	struct m0_rpc_store   sv_kept;
	bool                  sv_is_volatile;
	struct m0_net_domain  sv_dom;
	struct m0_rpc_machine sv_machine;
	bool                  sv_machine_on;
	/** NULL: nobody asked for them. */
	struct serve_metrics *sv_metrics;
	uint64_t              sv_object_max;
	uint64_t              sv_keep_ns;
	/** Records of uploads in the store, at most. */
	uint64_t sv_uploads_max;

	/** Guards the fields below. */
	struct m0_mutex       sv_lock;
	struct m0_list        sv_uploads[UPLOAD_BUCKETS];
	uint32_t              sv_uploads_nr;
	struct m0_list        sv_dropped;
	struct m0_net_buffer *sv_bufs;
	uint32_t              sv_bufs_nr;
	/** The free ones. */
	struct m0_net_buffer **sv_free;
	uint32_t               sv_free_nr;
	/** Clients: by uuid; those that wait for buffers, in turn; those that
	 * use nothing, and their number; the number of the others. */
	struct m0_list sv_clients[UPLOAD_BUCKETS];
	struct m0_list sv_turns;
	struct m0_list sv_idle;
	uint32_t       sv_idle_nr;
	uint32_t       sv_active_nr;
	/** Buffers that stalled clients hold. */
	uint32_t         sv_stalled_held_nr;
	struct m0_cond   sv_look_cond;
	struct m0_thread sv_look_thread;
	bool             sv_look_on;
	/** From then on nothing waits or moves. */
	m0_time_t sv_close_at;
	bool      sv_closed;
	/** Longest transfer. */
	m0_time_t sv_timeout_ns;
	/** Operations that wait for a worker. */
	struct m0_list    sv_work;
	struct m0_cond    sv_work_cond;
	struct m0_thread *sv_threads;
	uint32_t          sv_threads_nr;
	bool              sv_stopping;
	/** Operations: each has an item of the machine's. */
	uint32_t       sv_ops_nr;
	struct m0_cond sv_ops_cond;
	/** There may be garbage. */
	struct m0_cond   sv_gc_cond;
	struct m0_thread sv_gc_thread;
	bool             sv_gc_due;
	bool             sv_crowded;
	bool             sv_gc_on;
};

/** The one of this process: handlers are called with a machine only. */
extern struct server *serve_server;

/* serve_share.c; the functions of buffers and moves with the lock, but for
 * serve_buffer() and serve_move_ns(). */
void serve_share_init(struct server *sv);
int  serve_share_start(struct server *sv, uint32_t bufs_nr);
/** After serve_work_stop(). */
void serve_share_stop(struct server *sv);
/** From `at` on, requests that wait are refused and transfers end. */
void serve_share_close(struct server *sv, m0_time_t at);
/** Refuses what waits for too long, revokes what others have a right to. */
void serve_share_look(struct server *sv, m0_time_t now);
/** Calls op_next with op_nb, now or later; or ends the operation. */
void serve_buffer(struct serve_op *op, void (*next)(struct serve_op *op));
/** Returns op_nb. */
void serve_buffer_put(struct serve_op *op);
/** How long the transfer of an operation may last; 0: it is of no use. */
m0_time_t serve_move_ns(const struct serve_op *op);
/** A transfer has begun. */
void serve_move_begin(struct serve_op *op);
/** The transfer has ended with `rc`. @return  the outcome of the operation. */
int serve_move_end(struct serve_op *op, int rc);

/* serve_drain.c */
/** Takes no more requests, and waits for those that are under way; probers are answered
 * meanwhile. */
void serve_drain(struct server *sv);

/* serve_work.c */
int serve_work_start(struct server *sv, uint32_t threads_nr);
/** Finishes the operations that wait, and ends the threads. */
void serve_work_stop(struct server *sv);
/** Calls op_next on a worker. */
void serve_work(struct serve_op *op, void (*next)(struct serve_op *op));
/** A new operation of a request, its body checked; NULL: it was answered. */
struct serve_op *serve_op_new(struct m0_rpc_item *item);
/** Answers with op_rep, or rc if that is not 0, and ends the operation. */
void serve_op_end(struct serve_op *op, int rc);
void serve_op_free(struct serve_op *op);
/** Waits until no operation is left: one that was answered may not have ended. Call it
 * after the machine was stopped, before it is finalised. */
void serve_ops_wait(struct server *sv);
/** Answers a request with a reply; inside an update, too. */
void serve_reply(struct m0_rpc_item *item, const struct obj_rep *rep);

/* serve_upload.c; with the lock but for the last three. One is added only inside
 * a transaction that has its record. */
struct serve_upload *serve_upload_find(struct server *sv,
				       const uint8_t *source);
/** @retval NULL  no memory, or too many. */
struct serve_upload *serve_upload_add(struct server *sv, const uint8_t *source,
				      const uint8_t *file, uint64_t size);
void serve_upload_drop(struct server *sv, struct serve_upload *upload);
void serve_upload_put(struct server *sv, struct serve_upload *upload);
/** Drops it if it is there and nobody has used it since `limit`.
 * @return is it not there, or no more? */
bool serve_upload_expire(struct server *sv, const uint8_t *source,
			 m0_time_t limit);
/** Does somebody write to a file whose upload was dropped? */
bool serve_upload_writes(struct server *sv, const uint8_t *file);
/**
 * Makes operations that fetch the block at `offset`, or any block, look again:
 * the block has arrived, or is not wanted, and no client may offer it any more.
 */
void serve_fetches_end(struct serve_upload *upload, uint64_t offset);
/** Calls `next` with op_upload of orq_id, in use; or ends the operation. */
void serve_upload_get(struct serve_op *op, void (*next)(struct serve_op *op));
/**
 * Settles an upload whose COMMIT was posted, without the lock: drops it if the
 * store has not made it an object, as happens when its client has left, so that
 * a later lookup finds the record; and ends the operation with -EAGAIN.
 */
void serve_upload_settle(struct serve_op *op);
void serve_uploads_free(struct server *sv);

/* serve_meta.c: handlers of updates. */
void serve_put(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_begin(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_abort(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_remove(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
/** The update of a COMMIT whose data was checked. Ends `op`. */
void serve_commit_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx);

/* serve_data.c */
void serve_write(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_read(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_sums(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_commit(struct m0_rpc_machine *machine, struct m0_rpc_item *item);

/* serve_ask.c */
void serve_stat(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_list(struct m0_rpc_machine *machine, struct m0_rpc_item *item);
void serve_info(struct m0_rpc_machine *machine, struct m0_rpc_item *item);

/* serve_keys.c: what the store has, by keys. */
enum serve_key {
	SERVE_KEY_UPLOAD = 'u',
	SERVE_KEY_GARBAGE = 'g',
	SERVE_KEY_INFO = 'i'
};
int serve_key_get(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr,
		  struct obj_rep *ret);
int serve_key_put(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr,
		  const struct obj_rep *rep);
int serve_key_del(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr);
/** Key of an id. */
size_t serve_id_key(uint8_t ret[OBJ_KEY_MAX], enum serve_key letter,
		    const uint8_t *id);
/**
 * Lists a file that is named no more. What a store that is full has for it is
 * what the transaction has deleted: that comes first, or it may be -ENOSPC.
 */
int serve_garbage_put(struct m0_rpc_tx *tx, const uint8_t *file);
int serve_garbage_del(struct m0_rpc_tx *tx, const uint8_t *file);
/** The object of a name. @retval -ENOENT */
int serve_object_get(struct m0_rpc_tx *tx, const char *name, size_t nr,
		     struct obj_rep *ret);
/** Is there an object in a file? Of a store that is not shared yet. */
bool serve_store_has_files(struct m0_rpc_store *store);
/** Adds to the counts of the store. A failure is ignored. */
void serve_count(struct m0_rpc_tx *tx, const struct obj_info *more,
		 const struct obj_info *less);
void serve_info_get(struct m0_rpc_tx *tx, struct obj_info *ret);

/* serve_gc.c */
/** After the store is there, before the machine: ends what a reboot broke. */
int  serve_gc_start(struct server *sv);
void serve_gc_stop(struct server *sv);
/** Uploads that nobody has worked at for sv_keep_ns become garbage. */
void serve_gc_expire(struct server *sv);
/** There is some, in a transaction that may not be committed yet. */
void serve_gc_due(struct server *sv);
/** There are as many uploads as there may be: those that nobody works at are not
 * kept as long as they would be. */
void serve_gc_crowded(struct server *sv);

#endif /* M0_TOOLS_SERVE_H */
