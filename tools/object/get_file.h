/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** One object of `colibri get`, from its beginning to its end. */
#ifndef M0_TOOLS_GET_FILE_H
#define M0_TOOLS_GET_FILE_H

#include "put.h"

enum get_state {
	/** STAT, which brings the data of small ones. */
	GET_NEW,
	/** Sums of what is to be compared with a part that is there. */
	GET_SUMS,
	GET_BLOCKS,
	/** All blocks are there, or under way. */
	GET_DONE,
	GET_WAITS
};

struct get_file {
	struct obj_job *gf_job;
	char           *gf_name;
	/** Where it goes: below the directory, a relative path. */
	char          *gf_dst;
	int            gf_root_fd;
	int            gf_dir_fd;
	int            gf_fd;
	char           gf_tmp[64];
	enum get_state gf_state;
	struct obj_rep gf_object;
	uint8_t       *gf_sums;
	/** Blocks that are there: of a part of an earlier get. */
	uint8_t         *gf_have;
	uint64_t         gf_blocks_nr;
	uint64_t         gf_next;
	uint64_t         gf_pending;
	uint32_t         gf_restarts;
	bool             gf_again;
	bool             gf_resumes;
	int              gf_rc;
	struct get_file *gf_link;
};

/** Opens the destination of an object. @param root_fd  the directory; dst is below it.
 * @retval NULL  it failed; the failure was reported. */
struct get_file *get_file_new(struct obj_job *job, const char *name,
			      int root_fd, const char *dst);
void             get_file_free(struct get_file *file);
bool             get_file_step(struct get_file *file);
/** A lane of it has ended. @return  so has the file. */
bool get_file_ended(struct get_file *file, struct obj_lane *lane);

#endif /* M0_TOOLS_GET_FILE_H */
