/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages by which a process attaches to a node, and hands memory over. docs/ring.md,
 * section 11, is the specification.
 *
 * Both sides are of one host, so all numbers have its byte order. Bytes of a message that
 * no field uses are 0, and are checked.
 */
#ifndef M0_SRC_RING_ATTACH_MSG_H
#define M0_SRC_RING_ATTACH_MSG_H

#include "ring/shared.h"

enum {
	/** "m0at" on a host with the lowest byte first. */
	M0_ATTACH_MAGIC = 0x7461306d,
	/** Raised whenever a size, a field or its meaning changes; the head and struct
	 * m0_attach_word stay as they are in all versions. */
	M0_ATTACH_VERSION = 2,
	M0_ATTACH_WHY_BYTES = 232,
	/** Longest message. */
	M0_ATTACH_BYTES_MAX = 256,
	/** Most processes that a device tells about. */
	M0_ATTACH_PROCS_MAX = 4096
};

/** Calls of ioctl() of a device. */
enum m0_attach_device {
	/** Rings the server's bell. */
	M0_ATTACH_DEVICE_RING = 0x6d01,
	/** The device is not readable until the server rings again. */
	M0_ATTACH_DEVICE_CALM = 0x6d02,
	/** Tells which processes are attached: the argument is a struct m0_attach_procs. */
	M0_ATTACH_DEVICE_PROCS = 0x6d03
};

/** A process that is attached to a device: a part of what struct m0_lnet_attached
 * has. */
struct m0_attach_proc {
	uint32_t aep_pid;
	uint32_t aep_uid;
	uint32_t aep_gid;
	uint32_t aep_is_ending;
	/** Time since it attached. */
	uint64_t aep_age_ns;
	uint64_t aep_bytes;
	uint64_t aep_denied_nr;
	uint32_t aep_mds_nr;
	uint32_t aep_regions_nr;
	uint32_t aep_ops_nr;
	uint32_t aep_events_nr;
};

/** Bytes that the device does not use are 0. */
struct m0_attach_procs {
	/** Address of memory for aes_max processes, at most M0_ATTACH_PROCS_MAX. */
	uint64_t aes_to;
	uint32_t aes_max;
	/** Written by the device, as all that follows: processes that it has told about. */
	uint32_t aes_nr;
	/** Since the node was opened: processes that attached, and that were refused. */
	uint64_t aes_attached_nr;
	uint64_t aes_refused_nr;
	/** Bytes of memory of all that have the node. */
	uint64_t aes_bytes;
};

enum m0_attach_type {
	/** Client: the first message. */
	M0_ATTACH_HELLO = 1,
	/** Server: the area, its own bell and the client's bell, in this order. */
	M0_ATTACH_WELCOME,
	/** Server, in place of WELCOME; it hangs up. */
	M0_ATTACH_REFUSE,
	/** Client: the memory of a region that it will add. */
	M0_ATTACH_REGION,
	/** Server: answers REGION. */
	M0_ATTACH_REGION_DONE,
	/** Server: the attachment has ended; it hangs up. */
	M0_ATTACH_ENDED
};

struct m0_attach_head {
	uint32_t ahd_magic;
	uint16_t ahd_version;
	uint16_t ahd_type;
	uint32_t ahd_bytes;
	uint32_t ahd_reserved;
};

struct m0_attach_hello {
	struct m0_attach_head ahl_head;
	/** Sizes that the client wants; 0: as the server has them. */
	struct m0_shared_cfg ahl_cfg;
	uint8_t              ahl_reserved[64];
};

struct m0_attach_welcome {
	struct m0_attach_head awl_head;
	/** Sizes that it gets. */
	struct m0_shared_cfg awl_cfg;
	uint64_t             awl_area_bytes;
	/** Most bytes of its regions. */
	uint64_t awl_bytes_max;
	/** enum m0_shared_right: most that its control requests may need. */
	uint32_t awl_right;
	/** The client's number as the server sees it; 0: it sees none. */
	uint32_t awl_pid;
	uint8_t  awl_reserved[40];
};

struct m0_attach_region {
	struct m0_attach_head aer_head;
	/** From 1. */
	uint32_t aer_nr;
	uint32_t aer_reserved;
	uint64_t aer_bytes;
	/** Its address in the client. Socket: 0 if other processes do not copy from it,
	 * nor this one to it. */
	uint64_t aer_home;
	/** Socket: a cookie of the client, and its address there. Device: 0. */
	uint64_t aer_cookie_at;
	uint64_t aer_cookie[2];
};

/** REFUSE, REGION_DONE, ENDED. */
struct m0_attach_word {
	struct m0_attach_head awd_head;
	/** 0 or a negative errno. */
	int32_t awd_rc;
	/** REGION_DONE: the region. */
	uint32_t awd_nr;
	/** For people; ends with a 0. */
	char awd_why[M0_ATTACH_WHY_BYTES];
};

M0_BASSERT(sizeof(struct m0_attach_head) == 16);
M0_BASSERT(sizeof(struct m0_attach_hello) == 128);
M0_BASSERT(sizeof(struct m0_attach_welcome) == 128);
M0_BASSERT(sizeof(struct m0_attach_region) == 64);
M0_BASSERT(sizeof(struct m0_attach_proc) == 56);
M0_BASSERT(sizeof(struct m0_attach_procs) == 40);
M0_BASSERT(sizeof(struct m0_attach_word) == M0_ATTACH_BYTES_MAX);

/** Any message. */
union m0_attach_msg {
	struct m0_attach_head    amg_head;
	struct m0_attach_hello   amg_hello;
	struct m0_attach_welcome amg_welcome;
	struct m0_attach_region  amg_region;
	struct m0_attach_word    amg_word;
};

/** Fills in the head of a message of `bytes`, which are 0 otherwise. */
void m0_attach__head(struct m0_attach_head *head, enum m0_attach_type type,
		     size_t bytes);
/** Fills in REFUSE, REGION_DONE or ENDED. */
void m0_attach__word(struct m0_attach_word *word, enum m0_attach_type type,
		     int rc, uint32_t nr, const char *why);
/**
 * Checks the form of a message of `bytes`: head, length, reserved bytes.
 * @return 0, or a negative errno with a reason.
 */
int m0_attach__msg_check(const union m0_attach_msg *msg, size_t bytes,
			 char why[M0_ATTACH_WHY_BYTES]);
/** Prints a reason. @return rc */
int m0_attach__why(char why[M0_ATTACH_WHY_BYTES], int rc, const char *fmt, ...)
	M0_PRINTF(3, 4);

#endif /* M0_SRC_RING_ATTACH_MSG_H */
