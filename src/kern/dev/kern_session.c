/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sessions: messages, memory, bells and the end.
 *
 * A process can delay copies from and to its memory, and the pinning of it, without end. Both
 * happen under kne_lock alone, and outside of the library, whose threads are counted. The
 * device's thread never takes that lock, and never waits for kne_sem: a process may get no
 * processor while it holds it.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "kern/dev/kern_dev.h"
#include "kern/os/kern_tls.h"
#include "m0/log.h"

/* ------------------------------------------------------------------ host -- */

static void session_wake(void *host)
{
	struct kern_session *ses = host;

	smp_store_mb(ses->kne_rung, true);
	wake_up_interruptible_poll(&ses->kne_wait, EPOLLIN);
}

/* The server waits in the node's loop. */
static int session_wait(void *host, m0_time_t deadline)
{
	(void)host;
	(void)deadline;
	return -ETIMEDOUT;
}

static int session_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	struct kern_session *ses = host;
	int rc = m0_serve_maps_map(&ses->kne_maps, nr, bytes, ret);

	if (bytes == 0)
		kern_device_kick(ses->kne_device);
	return rc;
}

/* Death is an event of the device's thread. */
static bool session_is_dead(void *host)
{
	(void)host;
	return false;
}

static int session_creds(void *host, struct m0_shared_creds *ret)
{
	const struct kern_session *ses = host;

	*ret = ses->kne_creds;
	return 0;
}

static const struct m0_shared_host session_host = {
	.shh_wake = session_wake,
	.shh_wait = session_wait,
	.shh_map = session_map,
	.shh_is_dead = session_is_dead,
	.shh_creds = session_creds,
};

/* The node's thread. The device's thread may free the session at once. */
static void session_ended(struct m0_serve *serve)
{
	struct kern_session *ses = serve->srv_owner;
	struct kern_device  *device = ses->kne_device;

	smp_store_release(&ses->kne_has_ended, true);
	kern_device_kick(device);
}

static const struct m0_serve_ops serve_ops = { .svo_ended = session_ended };

/* -------------------------------------------------------------- messages -- */

static int area_make(struct kern_session *ses, const struct m0_serve_cfg *cfg,
		     void **ret)
{
	ses->kne_area_bytes = m0_shared_bytes(&cfg->svg_shared);
	*ret = vmalloc_user(PAGE_ALIGN(ses->kne_area_bytes));
	return *ret == NULL ? -ENOMEM : 0;
}

/* From now on the node's thread serves it. kne_sem is held. */
static int serve_begin(struct kern_session *ses, const struct m0_serve_cfg *cfg)
{
	struct kern_device *device = ses->kne_device;
	void               *area = NULL;
	int                 rc;

	rc = m0_serve_maps_init(&ses->kne_maps, cfg->svg_shared.shc_regions_max,
				cfg->svg_bytes_max, &device->knv_bytes,
				device->knv_cfg.kvc_bytes_total);
	if (rc == 0)
		rc = area_make(ses, cfg, &area);
	if (rc != 0)
		return rc;
	rc = m0_serve_init(&ses->kne_serve, ses->kne_node->kvn_lnet, cfg, area,
			   ses->kne_area_bytes, &session_host, ses, &serve_ops,
			   ses);
	if (rc != 0) {
		m0_serve_fini(&ses->kne_serve);
		vfree(area);
		return rc;
	}
	ses->kne_state = KERN_OPEN;
	/* The process may map it. */
	smp_store_release(&ses->kne_area, area);
	return 0;
}

static void welcome_put(struct kern_session       *ses,
			const struct m0_serve_cfg *cfg)
{
	struct m0_attach_welcome *welcome = &ses->kne_answer.amg_welcome;

	M0_SET0(&ses->kne_answer);
	m0_attach__head(&welcome->awl_head, M0_ATTACH_WELCOME, sizeof *welcome);
	welcome->awl_cfg = cfg->svg_shared;
	welcome->awl_area_bytes = ses->kne_area_bytes;
	welcome->awl_bytes_max = cfg->svg_bytes_max;
	welcome->awl_right = (uint32_t)cfg->svg_right;
	ses->kne_has_answer = true;
}

static void word_put(struct kern_session *ses, enum m0_attach_type type, int rc,
		     uint32_t nr, const char *why)
{
	m0_attach__word(&ses->kne_answer.amg_word, type, rc, nr, why);
	ses->kne_has_answer = true;
}

/* kne_sem is held. */
static int hello_do(struct kern_session *ses, const struct m0_shared_cfg *want,
		    struct m0_serve_cfg *cfg, char why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	if (ses->kne_state != KERN_GREETING || READ_ONCE(ses->kne_ends))
		return m0_attach__why(why, -EPROTO,
				      "a session has one HELLO, its first "
				      "message");
	rc = m0_serve_grant(&ses->kne_device->knv_serve, want, cfg, why);
	if (rc != 0)
		return rc;
	cfg->svg_tms = &ses->kne_node->kvn_tms;
	if (ses->kne_may_change)
		cfg->svg_right = M0_SHARED_RIGHT_ADMIN;
	ses->kne_since = m0_time_now();
	rc = serve_begin(ses, cfg);
	return rc == 0 ? 0
		       : m0_attach__why(why, rc,
					"the kernel cannot serve it: %s",
					m0_errname(rc));
}

/* kne_sem is held. A session that is gone has no node that could count it. */
static void hello_count(struct kern_session *ses, int rc)
{
	if (ses->kne_state == KERN_GONE)
		return;
	atomic64_inc(rc == 0 ? &ses->kne_node->kvn_attached_nr
			     : &ses->kne_node->kvn_refused_nr);
}

/* The device's thread may have tried in vain to take kne_sem, which was released just now. */
static void sem_released(struct kern_session *ses)
{
	smp_mb();
	if (READ_ONCE(ses->kne_sem_is_wanted))
		kern_device_kick(ses->kne_device);
}

/* The device's thread. False: it is kicked when there is something to take again. */
static bool sem_take(struct kern_session *ses)
{
	bool taken = down_write_trylock(&ses->kne_sem);

	if (!taken) {
		smp_store_mb(ses->kne_sem_is_wanted, true);
		/* The one that had it may have looked before. */
		taken = down_write_trylock(&ses->kne_sem);
	}
	if (taken)
		WRITE_ONCE(ses->kne_sem_is_wanted, false);
	return taken;
}

static int hello_take(struct kern_session          *ses,
		      const struct m0_attach_hello *hello)
{
	char                why[M0_ATTACH_WHY_BYTES];
	struct m0_serve_cfg cfg;
	int                 rc = kern_device_enter();

	if (rc != 0)
		return rc;
	down_write(&ses->kne_sem);
	rc = hello_do(ses, &hello->ahl_cfg, &cfg, why);
	hello_count(ses, rc);
	up_write(&ses->kne_sem);
	sem_released(ses);
	kern_leave();
	if (rc == 0) {
		welcome_put(ses, &cfg);
		return 0;
	}
	word_put(ses, M0_ATTACH_REFUSE, rc, 0, why);
	kern_session_end(ses);
	return 0;
}

static int region_reserve(struct kern_session           *ses,
			  const struct m0_attach_region *region,
			  char why[M0_ATTACH_WHY_BYTES])
{
	int rc = kern_device_enter();

	if (rc != 0)
		return m0_attach__why(why, rc, "the process is to die");
	rc = m0_serve_maps_reserve(&ses->kne_maps, region->aer_nr,
				   region->aer_bytes, why);
	kern_leave();
	return rc;
}

/* The memory is there, or is not (NULL). */
static int region_put(struct kern_session           *ses,
		      const struct m0_attach_region *region,
		      struct kern_pin *pin, char why[M0_ATTACH_WHY_BYTES])
{
	bool done = false;

	/* Gives back what was reserved, whatever happens to the process. */
	kern_enter_wait();
	if (pin != NULL)
		done = m0_serve_maps_put(&ses->kne_maps, region->aer_nr,
					 &pin->kni_map);
	if (!done)
		m0_serve_maps_unreserve(&ses->kne_maps, region->aer_bytes);
	kern_leave();
	if (done || pin == NULL)
		return 0;
	kern_pin_free(pin);
	return m0_attach__why(why, -EPIPE, "the session has ended");
}

static int region_do(struct kern_session           *ses,
		     const struct m0_attach_region *region,
		     char                           why[M0_ATTACH_WHY_BYTES])
{
	struct kern_pin *pin = NULL;
	int              rc = region_reserve(ses, region, why);
	int              put;

	if (rc != 0)
		return rc;
	rc = kern_pin_make(region->aer_home, region->aer_bytes, &pin, why);
	put = region_put(ses, region, rc == 0 ? pin : NULL, why);
	return rc ?: put;
}

static int region_take(struct kern_session           *ses,
		       const struct m0_attach_region *region)
{
	char why[M0_ATTACH_WHY_BYTES] = "";
	int  rc;

	/* A program with more rights may be made to write a message by chance. */
	if (current->mm != ses->kne_mm)
		return -EPERM;
	/* A session that was open once has kne_maps. */
	if (smp_load_acquire(&ses->kne_area) == NULL)
		return -EPROTO;
	rc = region_do(ses, region, why);
	word_put(ses, M0_ATTACH_REGION_DONE, rc, region->aer_nr, why);
	return 0;
}

static int msg_take(struct kern_session *ses, const union m0_attach_msg *msg,
		    size_t bytes)
{
	char why[M0_ATTACH_WHY_BYTES];
	int  rc = m0_attach__msg_check(msg, bytes, why);

	if (rc == -EPROTONOSUPPORT) {
		word_put(ses, M0_ATTACH_REFUSE, rc, 0, why);
		kern_session_end(ses);
		return 0;
	}
	if (rc != 0)
		return rc;
	switch (msg->amg_head.ahd_type) {
	case M0_ATTACH_HELLO:
		return hello_take(ses, &msg->amg_hello);
	case M0_ATTACH_REGION:
		return region_take(ses, &msg->amg_region);
	default:
		return -EPROTO;
	}
}

int kern_session_write(struct kern_session *ses, const union m0_attach_msg *msg,
		       size_t bytes)
{
	int rc;

	if (mutex_lock_killable(&ses->kne_lock) != 0)
		return -EINTR;
	/* A process reads each answer before it writes the next message. */
	if (ses->kne_has_answer)
		rc = -EBUSY;
	else if (READ_ONCE(ses->kne_ends))
		rc = -EPIPE;
	else
		rc = msg_take(ses, msg, bytes);
	mutex_unlock(&ses->kne_lock);
	return rc;
}

int kern_session_read(struct kern_session *ses, union m0_attach_msg *ret)
{
	int rc;

	if (mutex_lock_killable(&ses->kne_lock) != 0)
		return -EINTR;
	if (!ses->kne_has_answer && smp_load_acquire(&ses->kne_is_over) &&
	    !ses->kne_is_told) {
		ses->kne_is_told = true;
		word_put(ses, M0_ATTACH_ENDED, ses->kne_rc, 0, ses->kne_why);
	}
	if (ses->kne_has_answer) {
		*ret = ses->kne_answer;
		ses->kne_has_answer = false;
		rc = (int)ret->amg_head.ahd_bytes;
	} else {
		rc = ses->kne_is_told ? 0 : -EAGAIN;
	}
	mutex_unlock(&ses->kne_lock);
	return rc;
}

/* kne_sem is held for reading. */
static int ring_do(struct kern_session *ses)
{
	int rc;

	if (ses->kne_state != KERN_OPEN)
		return -EPIPE;
	rc = kern_device_enter();
	if (rc != 0)
		return rc;
	m0_serve_wake(&ses->kne_serve);
	kern_leave();
	return 0;
}

int kern_session_ring(struct kern_session *ses)
{
	int rc;

	/* Threads that ring without a pause do not put off the end. */
	if (READ_ONCE(ses->kne_ends) || READ_ONCE(ses->kne_has_ended))
		return -EPIPE;
	if (down_read_killable(&ses->kne_sem) != 0)
		return -EINTR;
	rc = ring_do(ses);
	up_read(&ses->kne_sem);
	sem_released(ses);
	return rc;
}

/* ------------------------------------------------------------------- end -- */

void kern_session_end(struct kern_session *ses)
{
	WRITE_ONCE(ses->kne_ends, true);
	kern_device_kick(ses->kne_device);
}

void kern_session_release(struct kern_session *ses)
{
	struct kern_device *device = ses->kne_device;

	WRITE_ONCE(ses->kne_ends, true);
	/* The thread may free it from here on. */
	smp_store_release(&ses->kne_is_released, true);
	kern_device_kick(device);
}

static void regions_sweep(struct kern_session *ses)
{
	struct m0_serve_map *map;
	struct m0_serve_map *next;

	/* Set when kne_maps is complete. */
	if (smp_load_acquire(&ses->kne_area) == NULL)
		return;
	for (map = m0_serve_maps_dropped(&ses->kne_maps); map != NULL;
	     map = next) {
		next = map->vmp_next;
		kern_pin_free(container_of(map, struct kern_pin, kni_map));
	}
}

/* Everything is released: what is left is the memory, and the reason. */
static void session_finish(struct kern_session *ses)
{
	const struct m0_shared_why *broken = &ses->kne_serve.srv_why;

	if (broken->shy_field != NULL) {
		ses->kne_rc = -EPROTO;
		(void)m0_shared_why_print(broken, ses->kne_why,
					  sizeof ses->kne_why);
		m0_log(M0_LOG_WARN,
		       "process %u of user %u is not attached any more: %s",
		       ses->kne_creds.scr_pid, ses->kne_creds.scr_uid,
		       ses->kne_why);
	}
	m0_serve_fini(&ses->kne_serve);
	m0_serve_maps_close(&ses->kne_maps);
}

/* @return true: the server of the process has ended. */
static bool state_step(struct kern_session *ses)
{
	bool ended = false;

	if (!sem_take(ses))
		return false;
	if (ses->kne_state == KERN_OPEN && READ_ONCE(ses->kne_ends)) {
		ses->kne_state = KERN_ENDING;
		m0_serve_end(&ses->kne_serve);
	}
	if (M0_IN(ses->kne_state, (KERN_OPEN, KERN_ENDING)))
		ended = smp_load_acquire(&ses->kne_has_ended);
	if (ended ||
	    (ses->kne_state == KERN_GREETING && READ_ONCE(ses->kne_ends)))
		ses->kne_state = KERN_GONE;
	up_write(&ses->kne_sem);
	return ended;
}

/* A thread that ends the node may free it from here on. */
static void node_leave(struct kern_session *ses)
{
	struct kern_device *device = ses->kne_device;

	spin_lock(&device->knv_lock);
	--ses->kne_node->kvn_sessions_nr;
	ses->kne_node = NULL;
	spin_unlock(&device->knv_lock);
	wake_up(&device->knv_gone);
}

bool kern_session_step(struct kern_session *ses)
{
	bool is_released = smp_load_acquire(&ses->kne_is_released);
	bool ended = state_step(ses);

	if (ended)
		session_finish(ses);
	regions_sweep(ses);
	/* This thread alone sets it. */
	if (ses->kne_state == KERN_GONE && !ses->kne_is_over) {
		WRITE_ONCE(ses->kne_ends, true);
		node_leave(ses);
		smp_store_release(&ses->kne_is_over, true);
		wake_up_interruptible_poll(&ses->kne_wait, EPOLLIN | EPOLLHUP);
	}
	return is_released && ses->kne_state == KERN_GONE;
}

/* ------------------------------------------------------------------ life -- */

/* The node of the process' namespace; NULL: it has none. knv_lock is held. */
static struct kern_device_node *node_here(struct kern_device *device)
{
	struct kern_device_node *node;

	list_for_each_entry(node, &device->knv_nodes, kvn_link)
	{
		if (node->kvn_net == current->nsproxy->net_ns)
			return node;
	}
	return NULL;
}

/* @retval -EUSERS @retval -ENXIO */
static int session_add(struct kern_session *ses)
{
	struct kern_device        *device = ses->kne_device;
	const struct kern_session *other;
	unsigned                   nr = 0;
	unsigned                   of_uid_nr = 0;
	int                        rc = -EUSERS;

	spin_lock(&device->knv_lock);
	ses->kne_node = node_here(device);
	list_for_each_entry(other, &device->knv_sessions, kne_link)
	{
		++nr;
		of_uid_nr += other->kne_creds.scr_uid == ses->kne_creds.scr_uid;
	}
	if (ses->kne_node == NULL) {
		rc = -ENXIO;
	} else if (nr < device->knv_cfg.kvc_procs_max &&
		   of_uid_nr < device->knv_cfg.kvc_procs_of_uid_max) {
		++ses->kne_node->kvn_sessions_nr;
		list_add_tail(&ses->kne_link, &device->knv_sessions);
		rc = 0;
	} else {
		atomic64_inc(&ses->kne_node->kvn_refused_nr);
	}
	spin_unlock(&device->knv_lock);
	return rc;
}

int kern_session_new(struct kern_device *device, struct kern_session **ret)
{
	struct kern_session *ses;
	int                  rc;

	/* A thread of the kernel has no memory to give. */
	if (current->mm == NULL)
		return -EPERM;
	ses = kern_alloc(sizeof *ses, 3);
	if (ses == NULL)
		return -ENOMEM;
	ses->kne_mm = current->mm;
	mmgrab(ses->kne_mm);
	ses->kne_device = device;
	ses->kne_creds = (struct m0_shared_creds){
		.scr_pid = (uint32_t)task_tgid_nr(current),
		.scr_uid = from_kuid(&init_user_ns, current_euid()),
		.scr_gid = from_kgid(&init_user_ns, current_egid()),
	};
	ses->kne_pid = get_pid(task_tgid(current));
	/* The opener's, as that of a socket's peer: it may hand the file to others. */
	ses->kne_may_change = ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
	ses->kne_files = current->files;
	init_waitqueue_head(&ses->kne_wait);
	mutex_init(&ses->kne_lock);
	init_rwsem(&ses->kne_sem);
	rc = session_add(ses);
	if (rc == 0)
		*ret = ses;
	else
		kern_session_free(ses);
	return rc;
}

void kern_session_free(struct kern_session *ses)
{
	if (ses->kne_maps.vms_total != NULL)
		m0_serve_maps_fini(&ses->kne_maps);
	vfree(ses->kne_area);
	mmdrop(ses->kne_mm);
	put_pid(ses->kne_pid);
	kern_free(ses, sizeof *ses, 3);
}

/*
 * The node's thread and others count while this looks: a number may be a moment old. Those
 * of the area could be changed by the process: they are for people only.
 */
bool kern_session_tell(const struct kern_session *ses,
		       struct m0_attach_proc     *ret)
{
	const struct m0_serve        *serve = &ses->kne_serve;
	const struct m0_shared_words *words;

	/* From here on the area stays as long as the session. */
	if (smp_load_acquire(&ses->kne_area) == NULL ||
	    smp_load_acquire(&ses->kne_is_over))
		return false;
	words = ses->kne_area;
	*ret = (struct m0_attach_proc){
		/* 0: the asking process cannot see it. */
		.aep_pid = (uint32_t)pid_nr_ns(ses->kne_pid,
					       task_active_pid_ns(current)),
		.aep_uid = from_kuid_munged(current_user_ns(),
					    make_kuid(&init_user_ns,
						      ses->kne_creds.scr_uid)),
		.aep_gid = from_kgid_munged(current_user_ns(),
					    make_kgid(&init_user_ns,
						      ses->kne_creds.scr_gid)),
		.aep_is_ending = READ_ONCE(ses->kne_ends),
		.aep_age_ns = m0_time_sub(m0_time_now(), ses->kne_since),
		.aep_bytes = READ_ONCE(ses->kne_maps.vms_bytes),
		.aep_denied_nr = READ_ONCE(serve->srv_denied_nr),
		.aep_mds_nr = READ_ONCE(serve->srv_mds_nr),
		.aep_regions_nr = READ_ONCE(ses->kne_maps.vms_nr),
		.aep_ops_nr = READ_ONCE(words->shw_down_taken.shl_word),
		.aep_events_nr = READ_ONCE(words->shw_up_put.shl_word),
	};
	return true;
}
