/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** One file of `colibri put`, from its beginning to its end. */
#ifndef M0_TOOLS_PUT_FILE_H
#define M0_TOOLS_PUT_FILE_H

#include <sys/stat.h>

#include "put.h"
#include "put_walk.h"

enum put_state {
	/** To be announced to the service: by PUT if it is small, else by BEGIN. */
	PUT_NEW,
	/** Blocks are to be written. */
	PUT_BLOCKS,
	/** All are: COMMIT. */
	PUT_DONE,
	/** An answer is waited for. */
	PUT_WAITS
};

struct put_file {
	struct obj_job *pf_job;
	char           *pf_path;
	char           *pf_name;
	int             pf_fd;
	struct stat     pf_stat;
	uint64_t        pf_size;
	uint8_t         pf_id[OBJ_ID_BYTES];
	enum put_state  pf_state;
	uint32_t        pf_flags;
	/** Large: sums of its blocks, blocks begun, under way. */
	uint8_t *pf_sums;
	uint64_t pf_blocks_nr;
	uint64_t pf_next;
	uint64_t pf_pending;
	uint32_t pf_restarts;
	/** To be begun again when nothing is under way. */
	bool pf_again;
	int  pf_rc;
	/** Link in the list of the job's large files. */
	struct put_file *pf_link;
};

/** Opens what a walk has found. NULL: it failed, and the failure was reported; or it
 * is no file any more. */
struct put_file *put_file_new(struct obj_job *job, const struct put_walk *walk,
			      const char *name);
void             put_file_free(struct put_file *file);
bool             put_file_is_large(const struct put_file *file);
/** Posts what can be posted. @return  was anything? */
bool put_file_step(struct put_file *file);
/** A lane of it has ended. @return  so has the file. */
bool put_file_ended(struct put_file *file, struct obj_lane *lane);

#endif /* M0_TOOLS_PUT_FILE_H */
