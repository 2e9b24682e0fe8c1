/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The wire of the toy: the TM at each number, and the faults of packets on their
 * way, drawn from the seed.
 */
#include <stdlib.h>

#include "toy_wire.h"
#include "cf_internal.h"

static struct m0_mutex            lock = M0_MUTEX_SINIT(&lock);
static struct m0_net_kit_machine *machines[TOY_NR];
static struct toy_faults          faults;
static bool (*gate)(unsigned from, unsigned to);

m0_time_t toy_timeout = 200 * M0_TIME_ONE_MSEC;

void toy_timeout_set(m0_time_t timeout_ns)
{
	toy_timeout = timeout_ns;
}

void toy_faults_set(const struct toy_faults *new)
{
	faults = *new;
}

void toy_gate_set(bool (*new)(unsigned from, unsigned to))
{
	m0_mutex_lock(&lock);
	gate = new;
	m0_mutex_unlock(&lock);
}

int toy_wire_attach(struct m0_net_kit_machine    *machine,
		    const struct m0_net_kit_addr *wanted,
		    struct m0_net_kit_addr       *ret_own)
{
	unsigned nr = wanted == NULL ? TOY_NR - 1 : toy_number(wanted);
	bool     is_free;

	m0_mutex_lock(&lock);
	while (wanted == NULL && machines[nr] != NULL && nr > 1)
		--nr;
	is_free = machines[nr] == NULL;
	if (is_free)
		machines[nr] = machine;
	m0_mutex_unlock(&lock);
	*ret_own = toy_addr(nr);
	return is_free ? 0 : -EADDRINUSE;
}

void toy_wire_detach(struct m0_net_kit_machine *machine)
{
	m0_mutex_lock(&lock);
	machines[toy_number(m0_net_kit_machine_addr(machine))] = NULL;
	m0_mutex_unlock(&lock);
}

static bool befalls(unsigned pct)
{
	return m0_rnd(100, &faults.tf_seed) < pct;
}

/* Takes the place of the node that is there now, if any. */
static void arrive(struct toy_pkt *p, unsigned to)
{
	struct m0_net_kit_machine *m;

	m0_mutex_lock(&lock);
	m = machines[to];
	if (gate != NULL && !gate(toy_number(&p->p_from), to))
		m = NULL;
	if (m != NULL)
		m0_net_kit_machine_get(m);
	m0_mutex_unlock(&lock);
	p->p_work.nkw_op = M0_NET_KIT_WORK_XPRT;
	p->p_at = m;
	if (m != NULL)
		m0_net_kit_post(m, &p->p_work);
	else
		free(p);
}

static void late_arrive(struct m0_sim_timer *timer)
{
	struct toy_pkt *p = container_of(timer, struct toy_pkt, p_timer);

	arrive(p, p->p_to);
}

static void carry(struct toy_pkt *p, unsigned to)
{
	m0_time_t due = 0;
	bool      drops;

	m0_mutex_lock(&lock);
	drops = (gate != NULL && !gate(toy_number(&p->p_from), to)) ||
		befalls(faults.tf_drop_pct);
	if (!drops && befalls(faults.tf_delay_pct))
		due = m0_time_cached() +
		      m0_rnd(faults.tf_delay_ns, &faults.tf_seed);
	m0_mutex_unlock(&lock);
	if (drops) {
		free(p);
	} else if (due != 0 && faults.tf_delay_on_the_way) {
		p->p_to = to;
		M0_SET0(&p->p_timer);
		m0_sim_timer_arm(cf__sim(), &p->p_timer, due, late_arrive);
	} else {
		p->p_work.nkw_due = due;
		arrive(p, to);
	}
}

void toy_wire_send(struct toy_pkt *p, const struct m0_net_kit_addr *to)
{
	struct toy_pkt *twin = NULL;

	m0_mutex_lock(&lock);
	if (befalls(faults.tf_duplicate_pct))
		twin = memcpy(malloc(sizeof *p + p->p_data_nr), p,
			      sizeof *p + p->p_data_nr);
	m0_mutex_unlock(&lock);
	carry(p, toy_number(to));
	if (twin != NULL)
		carry(twin, toy_number(to));
}

void toy_wire_drop(struct m0_net_kit_work *work)
{
	struct toy_pkt *p = container_of(work, struct toy_pkt, p_work);
	struct m0_net_kit_machine *m = p->p_at;

	free(p);
	m0_net_kit_machine_put(m);
}

struct toy_pkt *toy_pkt(struct m0_net_kit_machine *from, enum toy_pkt_type type,
			uint64_t id, const struct m0_net_kit_buf *kb)
{
	m0_bcount_t      nr = kb == NULL ? 0 : kb->nkb_send_nr;
	struct toy_pkt  *p = calloc(1, sizeof *p + nr);
	void            *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &nr);

	p->p_type = type;
	p->p_from = *m0_net_kit_machine_addr(from);
	p->p_id = id;
	p->p_data_nr = nr;
	if (nr > 0)
		m0_bufvec_copy_at(&flat, 0, &kb->nkb_buffer->nb_buffer,
				  kb->nkb_buffer->nb_offset, nr);
	return p;
}

void toy_unpack(struct toy_pkt *p, struct m0_net_kit_buf *kb)
{
	void            *data = p->p_data;
	struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&data, &p->p_data_nr);

	m0_bufvec_copy_at(&kb->nkb_buffer->nb_buffer, 0, &flat, 0,
			  p->p_data_nr);
}
