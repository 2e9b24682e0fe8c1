/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "m0/lnet.h"

#include "os/os.h"

#include "attach_fix.h"

struct fix fix;

static const char *lines_text;
/** Atomic. */
static unsigned lines_nr;

static void line_count(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	if (strstr(text, lines_text) != NULL)
		__atomic_add_fetch(&lines_nr, 1, __ATOMIC_RELEASE);
	if (level == M0_LOG_FATAL)
		print_error("%s\n", text);
}

void fix_lines_count(const char *text)
{
	lines_text = text;
	lines_nr = 0;
	m0_log_set(line_count, NULL);
	m0_log_level_set(M0_LOG_WARN);
}

unsigned fix_lines_nr(void)
{
	return __atomic_load_n(&lines_nr, __ATOMIC_ACQUIRE);
}

m0_time_t fix_soon(void)
{
	return m0_time_add(m0_time_now(), 5 * M0_TIME_ONE_SECOND);
}

/* Loops make the descriptors of their timers when they first need them, such as the node's
 * for a copy that another process makes. */
static bool is_of_timer(const char *name)
{
	char    path[300];
	char    text[64];
	ssize_t nr;

	(void)snprintf(path, sizeof path, "/proc/self/fd/%s", name);
	nr = readlink(path, text, sizeof text - 1);
	text[nr < 0 ? 0 : nr] = 0;
	return strstr(text, "timerfd") != NULL;
}

unsigned fix_fds(void)
{
	DIR                 *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned             nr = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		nr += !is_of_timer(entry->d_name);
	(void)closedir(dir);
	return nr;
}

unsigned fix_procs(void)
{
	struct m0_attach_info info[16];

	return m0_attach_server_info(&fix.fx_server, info, 16);
}

static unsigned procs_all(void)
{
	unsigned nr;

	m0_mutex_lock(&fix.fx_server.asv_lock);
	nr = fix.fx_server.asv_procs_nr;
	m0_mutex_unlock(&fix.fx_server.asv_lock);
	return nr;
}

void fix_all_gone(void)
{
	m0_time_t until = m0_time_add(m0_time_now(), M0_TIME_ONE_SECOND);

	while ((procs_all() > 0 || fix_fds() != fix.fx_fds_nr) &&
	       m0_time_now() < until)
		(void)m0_nanosleep(500 * M0_TIME_ONE_USEC, NULL);
	assert_int_equal(procs_all(), 0);
	assert_int_equal(fix_fds(), fix.fx_fds_nr);
}

static unsigned fds_at_rest(void)
{
	struct m0_attach att;

	if (m0_attach_open(&att, fix.fx_path, NULL, fix_soon(), fix.fx_why) ==
	    0)
		m0_attach_close(&att);
	do {
		(void)m0_nanosleep(1 * M0_TIME_ONE_MSEC, NULL);
	} while (procs_all() > 0);
	return fix_fds();
}

static void server_start(void)
{
	int rc = m0_attach_server_start(&fix.fx_server, fix.fx_lnet,
					&fix.fx_policy, fix.fx_path,
					fix.fx_why);

	if (rc != 0)
		fail_msg("%s", fix.fx_why);
	fix.fx_fds_nr = fds_at_rest();
}

static void server_end(void)
{
	assert_int_equal(m0_attach_server_stop(&fix.fx_server, fix_soon()), 0);
	m0_attach_server_fini(&fix.fx_server);
}

void fix_restart(void)
{
	server_end();
	server_start();
}

int fix_setup(void **state)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&fix.fx_lnet, &cfg, why), 0);
	(void)snprintf(fix.fx_dir, sizeof fix.fx_dir, "/tmp/attach.XXXXXX");
	assert_non_null(mkdtemp(fix.fx_dir));
	(void)snprintf(fix.fx_path, sizeof fix.fx_path, "%s/sock", fix.fx_dir);
	m0_attach_policy_default(&fix.fx_policy);
	fix.fx_policy.apo_serve.svg_bytes_max = 2 * FIX_REGION_BYTES;
	server_start();
	return 0;
}

int fix_teardown(void **state)
{
	char lock[M0_ATTACH_PATH_BYTES + 8];

	(void)state;
	server_end();
	m0_lnet_close(fix.fx_lnet);
	(void)snprintf(lock, sizeof lock, "%s.lock", fix.fx_path);
	(void)unlink(lock);
	/* The socket is gone, so the directory is empty. */
	assert_int_equal(rmdir(fix.fx_dir), 0);
	return 0;
}

/* -- a process ------------------------------------------------------------- */

bool fix_put(struct fix_proc *proc, const struct m0_shared_request *req)
{
	struct m0_shared_side *side = &proc->fp_att.att_side;
	uint32_t               nr = m0_shared_request_entries(req);

	if (!m0_shared_claim(side, m0_shared_events_nr(req)))
		return false;
	while (m0_shared_reserve(side, nr, NULL) != 0) {
		if (m0_shared_sleep(side, M0_SHARED_ROOM, fix_soon()) != 0)
			return false;
	}
	m0_shared_commit(side, m0_shared_request_put(side, req));
	m0_shared_bell(side);
	return true;
}

bool fix_get(struct fix_proc *proc, struct m0_shared_report *rep)
{
	struct m0_shared_side *side = &proc->fp_att.att_side;
	int                    rc;

	for (;;) {
		rc = m0_shared_report_get(side, rep, NULL);
		if (rc != 0)
			break;
		if (m0_shared_sleep(side, M0_SHARED_ENTRIES, fix_soon()) != 0)
			return false;
	}
	if (rc > 0)
		m0_shared_release(side, 1,
				  rep->shp_kind == M0_SHARED_EV_INCOMING ||
					  rep->shp_kind == M0_SHARED_COPY);
	return rc > 0;
}

static int result(struct fix_proc *proc)
{
	struct m0_shared_report rep;

	if (!fix_get(proc, &rep))
		return -EPIPE;
	m0_shared_unclaim(&proc->fp_att.att_side, 1);
	return rep.shp_kind == M0_SHARED_RESULT ? rep.shp_result.srt_status
						: -EPROTO;
}

static int region_add(struct fix_proc *proc)
{
	const struct m0_shared_request req = {
		.srq_opcode = M0_SHARED_REGION_ADD,
		.srq_nr = 1,
		.srq_gen = 1,
		.srq_number = FIX_REGION_BYTES,
	};

	return fix_put(proc, &req) ? result(proc) : -EPIPE;
}

static int eq_add(struct fix_proc *proc)
{
	const struct m0_shared_request req = { .srq_opcode = M0_SHARED_EQ_ADD };

	return fix_put(proc, &req) ? result(proc) : -EPIPE;
}

int fix_attach(struct fix_proc *proc)
{
	int rc;

	memset(proc, 0, sizeof *proc);
	rc = m0_attach_open(&proc->fp_att, fix.fx_path, NULL, fix_soon(),
			    proc->fp_why);
	if (rc != 0)
		return rc;
	proc->fp_region_fd = m0_os_shm_make("test", FIX_REGION_BYTES,
					    M0_OS_SHM_GROWS,
					    (void **)&proc->fp_region);
	if (proc->fp_region_fd < 0)
		return proc->fp_region_fd;
	proc->fp_att.att_copies = fix.fx_copies;
	m0_os_random(proc->fp_att.att_cookie, sizeof proc->fp_att.att_cookie);
	rc = m0_attach_region_give(&proc->fp_att, 1, proc->fp_region,
				   proc->fp_region_fd, FIX_REGION_BYTES,
				   fix_soon(), proc->fp_why);
	if (rc == 0)
		rc = eq_add(proc);
	return rc == 0 ? region_add(proc) : rc;
}

void fix_detach(struct fix_proc *proc)
{
	m0_attach_close(&proc->fp_att);
	if (proc->fp_region == NULL)
		return;
	m0_os_shm_unmap(proc->fp_region, FIX_REGION_BYTES);
	(void)close(proc->fp_region_fd);
	proc->fp_region = NULL;
}

static void md_fill(struct fix_proc *proc, struct m0_shared_request *req,
		    struct m0_ring_seg *seg, uint64_t at, unsigned options)
{
	uint32_t bytes = fix.fx_bytes == 0 ? 64 : fix.fx_bytes;

	*seg = (struct m0_ring_seg){ .rsg_region = 1,
				     .rsg_offset = at,
				     .rsg_bytes = bytes };
	req->srq_gen = ++proc->fp_gen;
	req->srq_md_gen = proc->fp_gen;
	req->srq_segs = seg;
	req->srq_md = (struct m0_ring_md){
		.rmd_length = bytes,
		.rmd_threshold = 1,
		.rmd_options = options,
		.rmd_eq = 1,
		.rmd_me = M0_RING_NR_NONE,
		.rmd_auto_unlink = 1,
		.rmd_segs_nr = 1,
	};
}

bool fix_entry(struct fix_proc *proc, uint32_t nr, uint64_t bits, uint64_t at)
{
	struct m0_ring_seg       seg;
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_ENTRY_ATTACH,
					 .srq_nr = nr,
					 .srq_md_nr = nr };

	md_fill(proc, &req, &seg, at, M0_LNET_MD_OP_PUT);
	req.srq_me = (struct m0_ring_me){
		.rme_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.rme_portal = FIX_PORTAL,
		.rme_match_bits = bits,
		.rme_flags = M0_LNET_ME_UNLINK,
	};
	req.srq_md.rmd_me = nr;
	req.srq_md.rmd_me_gen = proc->fp_gen;
	return fix_put(proc, &req);
}

bool fix_move(struct fix_proc *proc, uint32_t nr, uint64_t bits, uint64_t at)
{
	struct m0_ring_seg       seg;
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_BIND_PUT,
					 .srq_nr = nr,
					 .srq_md_nr = nr };

	md_fill(proc, &req, &seg, at, 0);
	req.srq_op = (struct m0_ring_op){
		.rop_self = m0_lnet_nid_any,
		.rop_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.rop_portal = FIX_PORTAL,
		.rop_match_bits = bits,
		.rop_md = nr,
		.rop_md_gen = proc->fp_gen,
	};
	return fix_put(proc, &req);
}
