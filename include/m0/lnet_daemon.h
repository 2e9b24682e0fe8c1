/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A daemon shares its node with other processes of the host: each opens it by
 * m0_lnet_open() with lc_attach, and uses all of m0/lnet.h on the NIDs of the daemon.
 * `colibri node --attach` is such a daemon.
 */
#ifndef M0_LNET_DAEMON_H
#define M0_LNET_DAEMON_H

#include "m0/lnet.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Users and groups that may be named, and rules. */
	M0_LNET_DAEMON_IDS_MAX = 16,
	M0_LNET_DAEMON_RULES_MAX = 16,
	/** Ranges of portals, and of numbers, of a rule. */
	M0_LNET_DAEMON_RANGES_MAX = 8
};

/** Numbers from the first to the last. */
struct m0_lnet_daemon_range {
	uint32_t ldg_first;
	uint32_t ldg_last;
};

/** Processes that a rule is about. */
enum m0_lnet_daemon_who {
	M0_LNET_DAEMON_ANYBODY,
	/** Processes of the user ldr_id. */
	M0_LNET_DAEMON_USER,
	/** Members of the group ldr_id. */
	M0_LNET_DAEMON_GROUP
};

/** Rights of the processes of a user, the members of a group, or all. */
struct m0_lnet_daemon_rule {
	enum m0_lnet_daemon_who ldr_who;
	uint32_t                ldr_id;
	/** Portals on which they may have MEs and transfer machines, and to which they may
	 * send; 0 ranges: none. */
	struct m0_lnet_daemon_range ldr_portals[M0_LNET_DAEMON_RANGES_MAX];
	unsigned                    ldr_portals_nr;
	/** Numbers of transfer machines, 0 to 4095: their own machines', and the upper 12
	 * match bits of their MEs; 0 ranges: none. */
	unsigned                    ldr_tmids_nr;
	struct m0_lnet_daemon_range ldr_tmids[M0_LNET_DAEMON_RANGES_MAX];
	/** The daemon copies payloads to and from them, also if they have lc_same_host: no
	 * process learns where they have their memory, nor do they learn that of others. */
	bool ldr_no_copies;
};

/** Users that may attach, and limits of each process. */
struct m0_lnet_daemon_cfg {
	/** Users that may attach, and groups whose members may, by the credentials of
	 * the socket. */
	uint32_t ldc_uids[M0_LNET_DAEMON_IDS_MAX];
	uint32_t ldc_gids[M0_LNET_DAEMON_IDS_MAX];
	unsigned ldc_uids_nr;
	unsigned ldc_gids_nr;
	/** Mode of the socket, and its group; (uint32_t)-1: the daemon's. */
	uint32_t ldc_mode;
	uint32_t ldc_group;
	/** Most processes, and most of a user. */
	unsigned ldc_procs_max;
	unsigned ldc_procs_of_uid_max;
	/** Most bytes of memory of a process that the daemon maps. */
	uint64_t ldc_bytes_max;
	/** Most bytes of all processes together; UINT64_MAX: no bound but those above. */
	uint64_t ldc_bytes_total;
	/** Most MDs, and most operations, of a process. */
	unsigned ldc_mds_max;
	unsigned ldc_ops_max;
	/** A Unix socket of type SOCK_SEQPACKET that listens already, as a service manager
	 * passes it; -1: the daemon makes one. The daemon duplicates the descriptor, and
	 * leaves the file of the socket, its mode and its group alone. */
	int ldc_listen_fd;
	/** The first rule that is about a process applies to it. Without rules processes may
	 * use all portals and numbers; with rules, one that no rule is about may use none,
	 * and its operations fail with -EACCES. */
	unsigned                   ldc_rules_nr;
	struct m0_lnet_daemon_rule ldc_rules[M0_LNET_DAEMON_RULES_MAX];
};

/** A process that is attached. */
struct m0_lnet_attached {
	uint32_t lax_pid;
	uint32_t lax_uid;
	uint32_t lax_gid;
	/** The process is gone, or is being detached, and the daemon releases what it held. */
	bool lax_is_ending;
	/** m0_time_now() when it attached. */
	m0_time_t lax_since;
	/** MDs that have not ended; regions and their bytes. */
	uint32_t lax_mds_nr;
	uint32_t lax_regions_nr;
	uint64_t lax_bytes;
	/** Operations that were taken from it, and events that it was given; they wrap
	 * around. */
	uint32_t lax_ops_nr;
	uint32_t lax_events_nr;
	/** Operations that failed because of the policy, or because another process has the
	 * number of the transfer machine. */
	uint64_t lax_denied_nr;
	/** Payload that came to it from processes of this node, and from the node's own
	 * process: bytes that it has copied itself, and bytes that the daemon has copied. */
	uint64_t lax_copied_bytes;
	uint64_t lax_daemon_bytes;
	/** Copies that it was asked for and has not made, so that the daemon copied. */
	uint64_t lax_fell_back_nr;
	/** Bytes that it has copied to and from shadows of memory that the daemon could not
	 * map, as it says itself. */
	uint64_t lax_shadow_bytes;
	/** Messages that it has sent to, and taken from other processes of the daemon without
	 * it (lc_same_host), as the process says. */
	uint64_t lax_direct_sent_nr;
	uint64_t lax_direct_taken_nr;
};

enum {
	M0_LNET_DAEMON_DEVICE_PROCS_MAX = 4096
};

struct m0_lnet_daemon_info {
	/** Since the start: processes that attached, and that were refused. */
	uint64_t ldf_attached_nr;
	uint64_t ldf_refused_nr;
	/** Attached now; bytes of their memory that the daemon has mapped. */
	unsigned ldf_procs_nr;
	uint64_t ldf_bytes;
};

struct m0_lnet_daemon;

/** The user of this process and root may attach; mode 0600; 256 processes, 128 of a
 * user; 1 GiB, 4,096 MDs and operations each. */
M0_EXTERN void m0_lnet_daemon_cfg_default(struct m0_lnet_daemon_cfg *cfg);
/**
 * Listens at a path, in place of a socket that nobody listens at.
 * @param lnet  a node with a thread, or one of which a thread makes progress all the
 *              time, also while functions of the daemon run; it lives until
 *              m0_lnet_daemon_stop() has returned 0.
 * @param cfg   NULL: defaults.
 * @param path  NULL: `/run/colibri/attach.sock`. Not used with ldc_listen_fd.
 * @param why   as for m0_lnet_open.
 * @retval -EINVAL      a value of `cfg`.
 * @retval -EBADF, -ENOTSOCK, -EPROTOTYPE  ldc_listen_fd is no such socket.
 * @retval -EADDRINUSE  another daemon listens there.
 * @retval -EEXIST      something is there that is no socket.
 * @retval <0           others of the system.
 */
M0_EXTERN int m0_lnet_daemon_start(struct m0_lnet_daemon          **ret,
				   struct m0_lnet                  *lnet,
				   const struct m0_lnet_daemon_cfg *cfg,
				   const char *path, char *why);
/**
 * From now on refuses further processes, with -ESHUTDOWN. Those that are attached go on;
 * ldf_procs_nr says how many are left. Any thread.
 */
M0_EXTERN void m0_lnet_daemon_drain(struct m0_lnet_daemon *daemon);
/**
 * Accepts nobody any more, detaches all processes, removes the socket, and frees the
 * daemon once everything is released. Not from a callback.
 * @retval -ETIMEDOUT  not all has ended at the deadline; call it again.
 */
M0_EXTERN int m0_lnet_daemon_stop(struct m0_lnet_daemon *daemon,
				  m0_time_t              deadline);
/**
 * Waits until the daemon's thread has gone through its loop once more, which shows that it
 * is alive. Any thread but a callback's.
 * @retval -ETIMEDOUT
 */
M0_EXTERN int m0_lnet_daemon_check(struct m0_lnet_daemon *daemon,
				   m0_time_t              deadline);
/** Any thread. */
M0_EXTERN void m0_lnet_daemon_info_get(struct m0_lnet_daemon      *daemon,
				       struct m0_lnet_daemon_info *ret);
/**
 * Processes that are attached, in no order. Any thread.
 * @return how many were written, at most `max`
 */
M0_EXTERN unsigned m0_lnet_daemon_procs_get(struct m0_lnet_daemon   *daemon,
					    struct m0_lnet_attached *ret,
					    unsigned                 max);
/**
 * Processes that are attached to the node of the kernel module, by its device:
 * ldf_procs_nr of them are written.
 * @param path  of the device, `/dev/colibri`.
 * @param max   at most M0_LNET_DAEMON_DEVICE_PROCS_MAX.
 * @retval -ENOTTY  it is no such device, or that of another version.
 * @retval <0       others of the system.
 */
M0_EXTERN int m0_lnet_daemon_device_procs(const char                 *path,
					  struct m0_lnet_daemon_info *info,
					  struct m0_lnet_attached    *ret,
					  unsigned                    max);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_DAEMON_H */
