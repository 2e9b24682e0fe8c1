/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Callbacks of sockets, and the sleep of the node's thread.
 *
 * A callback finds its socket by sk_user_data, under the lock that the unhook takes
 * for writing. A connection that nobody has accepted yet has inherited both the
 * listener's callback and its sk_user_data: only the listener's own state tells.
 */
#include <linux/sched.h>
#include <net/tcp_states.h>

#include "kern/os/kern_sleep.h"
#include "kern/os/kern_tls.h"
#include "kern/tcp/kern_tcp.h"

static void sock_tell(struct kern_sock *sock, unsigned events)
{
	struct kern_reactor *reactor = sock->kns_reactor;
	bool                 first;

	spin_lock_bh(&reactor->knr_lock);
	sock->kns_events |= events;
	first = list_empty(&sock->kns_told);
	if (first)
		list_add_tail(&sock->kns_told, &reactor->knr_told);
	spin_unlock_bh(&reactor->knr_lock);
	if (first && wq_has_sleeper(&reactor->knr_queue))
		wake_up(&reactor->knr_queue);
}

static void tell_of(struct sock *sk, unsigned events)
{
	struct kern_sock *sock;

	read_lock_bh(&sk->sk_callback_lock);
	sock = sk->sk_user_data;
	if (sock != NULL)
		sock_tell(sock, events);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void data_ready(struct sock *sk)
{
	tell_of(sk, KERN_IN);
}

static void listener_ready(struct sock *sk)
{
	if (sk->sk_state == TCP_LISTEN)
		tell_of(sk, KERN_IN);
}

static void write_space(struct sock *sk)
{
	if (!sk_stream_is_writeable(sk))
		return;
	if (sk->sk_socket != NULL)
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	tell_of(sk, KERN_OUT);
}

static void state_change(struct sock *sk)
{
	tell_of(sk, KERN_STATE | KERN_IN | KERN_OUT);
}

void kern_sock_hook(struct kern_sock *sock, const struct kern_sock *from)
{
	struct sock *sk = sock->kns_sock->sk;

	INIT_LIST_HEAD(&sock->kns_told);
	write_lock_bh(&sk->sk_callback_lock);
	sock->kns_data_ready = from != NULL ? from->kns_data_ready
					    : sk->sk_data_ready;
	sock->kns_write_space = sk->sk_write_space;
	sock->kns_state_change = sk->sk_state_change;
	sk->sk_user_data = sock;
	sk->sk_data_ready = data_ready;
	sk->sk_write_space = write_space;
	sk->sk_state_change = state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

void kern_sock_hook_listener(struct kern_sock *sock)
{
	struct sock *sk = sock->kns_sock->sk;

	INIT_LIST_HEAD(&sock->kns_told);
	write_lock_bh(&sk->sk_callback_lock);
	sock->kns_data_ready = sk->sk_data_ready;
	sock->kns_write_space = sk->sk_write_space;
	sock->kns_state_change = sk->sk_state_change;
	sk->sk_user_data = sock;
	sk->sk_data_ready = listener_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

void kern_sock_unhook(struct kern_sock *sock)
{
	struct sock *sk = sock->kns_sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = sock->kns_data_ready;
	sk->sk_write_space = sock->kns_write_space;
	sk->sk_state_change = sock->kns_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	spin_lock_bh(&sock->kns_reactor->knr_lock);
	list_del_init(&sock->kns_told);
	spin_unlock_bh(&sock->kns_reactor->knr_lock);
}

/* -- the reactor ------------------------------------------------------------- */

/* The next one, or NULL. A handler may unhook others. */
static struct kern_sock *told_take(struct kern_reactor *reactor,
				   struct list_head *taken, unsigned *events)
{
	struct kern_sock *sock;

	spin_lock_bh(&reactor->knr_lock);
	sock = list_first_entry_or_null(taken, struct kern_sock, kns_told);
	if (sock != NULL) {
		list_del_init(&sock->kns_told);
		*events = sock->kns_events;
		sock->kns_events = 0;
	}
	spin_unlock_bh(&reactor->knr_lock);
	return sock;
}

/* Takes what is there now: what comes meanwhile is for the next time. */
void kern_reactor_take(struct kern_reactor *reactor)
{
	struct list_head  taken;
	struct kern_sock *sock;
	unsigned          events;

	INIT_LIST_HEAD(&taken);
	spin_lock_bh(&reactor->knr_lock);
	list_splice_init(&reactor->knr_told, &taken);
	spin_unlock_bh(&reactor->knr_lock);
	while ((sock = told_take(reactor, &taken, &events)) != NULL)
		sock->kns_handler(sock, events);
	if (__atomic_exchange_n(&reactor->knr_roused, 0, __ATOMIC_SEQ_CST) != 0)
		reactor->knr_reactor.rtr_roused = true;
}

static bool has_news(struct kern_reactor *reactor)
{
	return __atomic_load_n(&reactor->knr_roused, __ATOMIC_SEQ_CST) != 0 ||
	       !list_empty_careful(&reactor->knr_told);
}

static m0_time_t sources_wait(struct m0_reactor *reactor, m0_time_t deadline)
{
	struct m0_reactor_source *src;

	for (src = reactor->rtr_sources; src != NULL; src = src->rts_next)
		if (src->rts_ops->rtso_wait != NULL)
			deadline = src->rts_ops->rtso_wait(src, deadline);
	return deadline;
}

static void kern_sleep(struct m0_reactor *ref, m0_time_t deadline)
{
	struct kern_reactor *reactor = kern_reactor_of(ref);
	DEFINE_WAIT(wait);

	deadline = sources_wait(ref, deadline);
	prepare_to_wait(&reactor->knr_queue, &wait, TASK_IDLE);
	if (!has_news(reactor) && !m0_reactor_has_work(ref))
		kern_sleep_until(deadline);
	finish_wait(&reactor->knr_queue, &wait);
	kern_reactor_take(reactor);
}

static void kern_rouse(struct m0_reactor *ref)
{
	struct kern_reactor *reactor = kern_reactor_of(ref);

	if (__atomic_exchange_n(&reactor->knr_roused, 1, __ATOMIC_SEQ_CST) ==
		    0 &&
	    wq_has_sleeper(&reactor->knr_queue))
		wake_up(&reactor->knr_queue);
}

static bool kern_ready(struct m0_reactor *ref)
{
	return has_news(kern_reactor_of(ref)) || m0_reactor_has_work(ref);
}

static int kern_fd(struct m0_reactor *reactor)
{
	(void)reactor;
	return -ENOSYS;
}

static void kern_arm(struct m0_reactor *reactor, m0_time_t deadline)
{
	(void)reactor;
	(void)deadline;
}

static void kern_destroy(struct m0_reactor *ref)
{
	struct kern_reactor *reactor = kern_reactor_of(ref);

	M0_PRE(ref->rtr_sources == NULL);
	M0_PRE(list_empty(&reactor->knr_told));
	m0_free(reactor);
}

static const struct m0_reactor_ops kern_reactor_ops = {
	.rtro_destroy = kern_destroy,
	.rtro_sleep = kern_sleep,
	.rtro_rouse = kern_rouse,
	.rtro_ready = kern_ready,
	.rtro_fd = kern_fd,
	.rtro_arm = kern_arm,
};

int kern_reactor_create(struct m0_reactor **ret)
{
	struct kern_reactor *reactor;

	M0_ALLOC_PTR(reactor);
	if (reactor == NULL)
		return -ENOMEM;
	init_waitqueue_head(&reactor->knr_queue);
	spin_lock_init(&reactor->knr_lock);
	INIT_LIST_HEAD(&reactor->knr_told);
	reactor->knr_reactor.rtr_ops = &kern_reactor_ops;
	reactor->knr_net = *kern_net_here() ?: &init_net;
	*ret = &reactor->knr_reactor;
	return 0;
}
