/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** All recorded files, for tests that look at every message of each. */
#ifndef M0_TESTS_GOLDEN_GOLDEN_H
#define M0_TESTS_GOLDEN_GOLDEN_H

#include "golden/dialogue.h"

enum {
	GOLDEN_FILES_MAX = 32,
	GOLDEN_PING_NIS = 16
};

/** The columns of counts.txt, in their order. */
enum golden_count {
	GOLDEN_STREAMS,
	GOLDEN_REQUEST1,
	GOLDEN_REQUEST2,
	GOLDEN_HELLO1,
	GOLDEN_HELLO2,
	GOLDEN_HELLO3,
	GOLDEN_HELLO4,
	GOLDEN_NOOP,
	GOLDEN_KEEPALIVE,
	GOLDEN_ACK,
	GOLDEN_PUT,
	GOLDEN_GET,
	GOLDEN_REPLY,
	GOLDEN_PING,
	GOLDEN_ZCASK,
	GOLDEN_ZCACK,
	GOLDEN_CSUM,
	GOLDEN_PAYLOAD,
	GOLDEN_NR
};

/** A recorded file. */
struct golden_file {
	char             gf_name[64];
	struct pcap      gf_pcap;
	struct dialogue *gf_dialogues;
	/** Counts of lnetdump.py. */
	unsigned long gf_counts[GOLDEN_NR];
};

extern struct golden_file golden_files[GOLDEN_FILES_MAX];
extern size_t             golden_files_nr;

/**
 * Loads all files that counts.txt of directory `dir` has a row for.
 * @return NULL, or what is wrong.
 */
const char *golden_load(const char *dir);
void        golden_free(void);

/** Decodes the ping information of `msg`. */
int golden_ping(const struct dialogue_msg *msg, struct m0_lnet_ping_info *info,
		struct m0_lnet_ping_ni nis[GOLDEN_PING_NIS]);

/* clang-format off */
/** Each message of each file: file, dialogue, msg. */
#define golden_for_each_dialogue(file, dlg)                                 \
	for ((file) = golden_files;                                         \
	     (file) < golden_files + golden_files_nr; ++(file))             \
		for ((dlg) = (file)->gf_dialogues;                          \
		     (dlg) < (file)->gf_dialogues +                         \
			     (file)->gf_pcap.pc_streams_nr; ++(dlg))
#define golden_for_each_msg(file, dlg, msg)                                 \
	golden_for_each_dialogue(file, dlg)                                 \
		for ((msg) = (dlg)->dl_msgs;                                \
		     (msg) < (dlg)->dl_msgs + (dlg)->dl_msgs_nr; ++(msg))
/* clang-format on */

#endif /* M0_TESTS_GOLDEN_GOLDEN_H */
