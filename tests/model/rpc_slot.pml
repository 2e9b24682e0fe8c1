/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One update stream: client, network, server, store, crashes of the server.
 * What may become of a number at the server is the table of rpc_slot_rules.pml,
 * which is that of src/rpc/core/sstream.c (sstream_test.c compares them). The
 * rest mirrors, rule by rule,
 *   state_of, acked, accept, turns, done   src/rpc/core/sstream.c: _state, _ack,
 *                                          _accept, _next, _executed
 *   restart                                sstream.c: _restore, _restored, from
 *                                          the records of record.c
 *   number, resend, drop, replied          src/rpc/core/cstream.c
 *   resume                                 cstream.c: again(); packets of before
 *                                          are not heard (their epoch is old)
 *
 * Network: what was sent may arrive at any later time, in any order, any number
 * of times, or never. With LIVE it loses or repeats only so often in a row.
 *
 * Proved, for all schedules of NR requests in a window of WINDOW and CRASHES
 * crashes: each request is executed at most once, in order; one whose reply
 * says so was executed and one whose reply says not never is; every number is
 * answered and acknowledged in the end (LIVE).
 *
 * BROKEN_* leave a rule out; scripts/model wants each of them found wrong.
 */
#include "rpc_slot_rules.pml"

#ifndef NR
#define NR 3
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
/* Losses in a row, with LIVE. */
#define LOSSES 1

#define SLOT(x) ((x) % WINDOW)
#define AT(x, a) ((x) * (NR + 2) + (a))

/* --------------------------------------------------------- the store -- */

/* Replies by slot, and how often each request was executed. */
byte rec_xid[WINDOW], rec_ack[WINDOW];
byte executed[NR + 1];
byte executed_last;

/* -------------------------------------------------------- the server -- */

byte s_ack = 1, s_last, s_running;
bool s_committed;
/* HELD, HELD_SKIP, KEPT; 0: nothing. And whether what is kept says "done". */
byte s_slot[WINDOW];
bool s_slot_done[WINDOW];
byte s_crashes;

/* ------------------------------------------------------- the network -- */

bool sent[(NR + 1) * (NR + 2)], sent_skip[(NR + 1) * (NR + 2)];
bool sent_ack[NR + 2];
bool replied_done[NR + 1], replied_not[NR + 1];

/* -------------------------------------------------------- the client -- */

#define C_UNSENT 0
#define C_SENT 1
#define C_SKIP 2
#define C_ANSWERED 3
/* Only where a rule is left out. */
#define C_LOST 4

#define OUT_NONE 0
#define OUT_DONE 1
#define OUT_NOT 2
#define OUT_UNKNOWN 3

byte cl_low = 1, cl_next = 1;
byte cl_state[NR + 1], cl_out[NR + 1];
bool cl_linked = true;

/* Scratch, 0 between steps. */
hidden byte v_state, v_action, v_next, v_y, v_x;
hidden byte v_more;

/* ------------------------------------------------------ server: rules -- */

inline state_of(x)
{
	if
	:: x == s_running && x < s_ack -> v_state = S_RUNNING_ACKED
	:: x == s_running && x >= s_ack -> v_state = S_RUNNING
	:: x != s_running && x < s_ack -> v_state = S_GONE
	:: x != s_running && x >= s_ack && x - s_ack >= WINDOW ->
		v_state = S_BEYOND
	:: x != s_running && x >= s_ack && x - s_ack < WINDOW ->
		if
		:: s_slot[SLOT(x)] != 0 -> v_state = s_slot[SLOT(x)]
		:: s_slot[SLOT(x)] == 0 && x == s_last + 1 -> v_state = S_TURN
		:: s_slot[SLOT(x)] == 0 && x != s_last + 1 -> v_state = S_AHEAD
		fi
	fi
}

inline finished(x)
{
	s_last = (x > s_ack - 1 -> x : s_ack - 1)
}

inline acked(a)
{
	if
	:: a > s_ack ->
		v_y = s_ack;
		do
		:: v_y < a && v_y - s_ack < WINDOW ->
			s_slot[SLOT(v_y)] = 0;
			s_slot_done[SLOT(v_y)] = false;
			v_y++
		:: else -> break
		od;
		s_ack = a;
		if
		:: s_running == 0 -> finished(s_last)
		:: else
		fi
	:: else
	fi;
	v_y = 0
}

inline reply(x, was_done)
{
	if
	:: was_done -> replied_done[x] = true
	:: else -> replied_not[x] = true
	fi
}

inline keep(x, was_done)
{
	s_slot[SLOT(x)] = S_KEPT;
	s_slot_done[SLOT(x)] = was_done
}

/* Does as the rule in v_action, v_next says, and sees that it came true. */
inline apply(x)
{
	if
	:: v_action == A_EXECUTE ->
		s_slot[SLOT(x)] = 0;
		s_running = x
	:: v_action == A_HOLD || v_action == A_DROP ->
		s_slot[SLOT(x)] = v_next
	:: v_action == A_SKIPPED ->
		keep(x, false);
		finished(x);
		reply(x, false)
	:: v_action == A_REPLAY ->
		reply(x, s_slot_done[SLOT(x)])
	:: v_action == A_IGNORE || v_action == A_NONE
	/* This client never oversteps; nothing else may be met. */
	:: else -> assert(false)
	fi;
	if
	:: v_action != A_NONE ->
		state_of(x);
		assert(v_state == v_next)
	:: else
	fi
}

/* What has its turn now. */
inline turns()
{
	v_more = true;
	do
	:: v_more ->
		v_x = s_last + 1;
		state_of(v_x);
		rule(v_state, I_TURN);
		apply(v_x);
		v_more = (v_action == A_SKIPPED)
	:: else -> break
	od;
	v_x = 0; v_state = 0; v_action = 0; v_next = 0
}

inline accept(x, a, input)
{
	acked(a);
	state_of(x);
	rule(v_state, input);
	apply(x);
	turns()
}

/* ------------------------------------------------ server: transactions -- */

/* The changes and the reply, together. */
inline commit()
{
	assert(executed[s_running] == 0);
	assert(s_running > executed_last);
	assert(cl_out[s_running] != OUT_NOT);
	executed[s_running]++;
	executed_last = s_running;
#ifndef BROKEN_NO_RECORD
	rec_xid[SLOT(s_running)] = s_running;
	rec_ack[SLOT(s_running)] = (s_ack < s_running -> s_ack : s_running);
#endif
	s_committed = true
}

inline done()
{
	state_of(s_running);
	rule(v_state, I_DONE);
	reply(s_running, s_committed);
	if
	:: v_action == A_KEEP -> keep(s_running, s_committed)
	:: v_action == A_DROP
	:: else -> assert(false)
	fi;
	v_x = s_running;
	s_running = 0;
	finished(v_x);
	s_committed = false;
	turns()
}

inline restart()
{
	s_running = 0;
	s_committed = false;
	s_ack = 1;
	s_last = 0;
	v_y = 0;
	do
	:: v_y < WINDOW ->
		s_slot[v_y] = 0;
		s_slot_done[v_y] = false;
		s_ack = (rec_ack[v_y] > s_ack -> rec_ack[v_y] : s_ack);
		s_last = (rec_xid[v_y] > s_last -> rec_xid[v_y] : s_last);
		v_y++
	:: else -> break
	od;
	finished(s_last);
	v_y = s_ack;
	do
	:: v_y <= s_last ->
		keep(v_y, rec_xid[SLOT(v_y)] == v_y);
		v_y++
	:: else -> break
	od;
	v_y = 0
}

proctype server()
{
	do
	:: d_step { s_running != 0 && !s_committed -> commit() }
	/* The store fails: nothing has changed. */
	:: d_step { s_running != 0 && !s_committed -> done() }
	:: d_step { s_committed -> done() }
	od
}

proctype crash()
{
	do
	:: d_step {
		s_crashes < CRASHES ->
		s_crashes++;
		cl_linked = false;
		restart()
	}
	:: s_crashes == CRASHES -> break
	od
}

/* ------------------------------------------------------ client: rules -- */

inline request_send(x)
{
	if
	:: cl_state[x] == C_SENT -> sent[AT(x, cl_low)] = true
	:: cl_state[x] == C_SKIP -> sent_skip[AT(x, cl_low)] = true
	fi
}

inline number()
{
	cl_state[cl_next] = C_SENT;
	cl_next++
}

inline drop(x)
{
	cl_out[x] = OUT_UNKNOWN;
#ifdef BROKEN_NO_SKIP
	cl_state[x] = C_LOST
#else
	cl_state[x] = C_SKIP
#endif
}

inline slide()
{
	do
	:: cl_low < cl_next && cl_state[cl_low] == C_ANSWERED -> cl_low++
	:: else -> break
	od
}

inline replied(x, was_done)
{
	if
	:: cl_state[x] == C_SENT ->
		cl_out[x] = (was_done -> OUT_DONE : OUT_NOT);
		assert(executed[x] == (was_done -> 1 : 0))
	:: else
	fi;
	if
	:: cl_state[x] == C_SENT || cl_state[x] == C_SKIP ->
		cl_state[x] = C_ANSWERED;
		slide()
	:: else
	fi
}

/* Nothing of before is heard any more, at either end. */
inline resume()
{
	cl_linked = true;
	assert(s_last < cl_next);
#ifndef BROKEN_NO_REPLY_FENCE
	v_y = 0;
	do
	:: v_y <= NR ->
		replied_done[v_y] = false;
		replied_not[v_y] = false;
		v_y++
	:: else -> break
	od;
	v_y = 0;
#endif
#ifndef BROKEN_NO_FENCE
	v_y = 0;
	do
	:: v_y < (NR + 1) * (NR + 2) ->
		sent[v_y] = false;
		sent_skip[v_y] = false;
		v_y++
	:: else -> break
	od;
	v_y = 0;
	do
	:: v_y < NR + 2 -> sent_ack[v_y] = false; v_y++
	:: else -> break
	od;
	v_y = 0
#endif
}

#define MAY_NUMBER (cl_linked && cl_next <= NR && cl_next < cl_low + WINDOW)
#define IS_OPEN(x) (cl_state[x] == C_SENT || cl_state[x] == C_SKIP)

#ifndef LIVE

proctype client()
{
	byte x;

	do
	:: d_step { MAY_NUMBER -> number(); request_send(cl_next - 1) }
	:: d_step { !cl_linked -> resume() }
	:: d_step { cl_linked && !sent_ack[cl_low] -> sent_ack[cl_low] = true }
	:: atomic {
		select(x : 1 .. NR);
		if
		:: cl_linked && IS_OPEN(x) -> d_step { request_send(x) }
		:: cl_state[x] == C_SENT -> d_step { drop(x) }
		:: replied_done[x] -> d_step { replied(x, true) }
		:: replied_not[x] -> d_step { replied(x, false) }
		:: else
		fi;
		x = 0
	}
	od
}

#define HEARD(x, a, set) (cl_linked && set[AT(x, a)])

proctype network()
{
	byte x, a;

	do
	:: atomic {
		select(x : 1 .. NR);
		select(a : 1 .. NR + 1);
		if
		:: HEARD(x, a, sent) -> d_step { accept(x, a, I_REQUEST) }
		:: HEARD(x, a, sent_skip) -> d_step { accept(x, a, I_SKIP) }
		:: cl_linked && x == 1 && sent_ack[a] ->
			d_step { acked(a); turns() }
		:: else
		fi;
		x = 0;
		a = 0
	}
	od
}

#else

/* Loses, LOSSES times in a row at most. */
inline lose(lost)
{
	lost < LOSSES -> lost++
}

/* A number's requests, and its replies: nobody keeps them from trying. */
proctype line(byte x)
{
	byte lost;

	do
	:: d_step { MAY_NUMBER && cl_next == x -> number() }
	:: d_step { cl_state[x] == C_SENT && cl_out[x] == OUT_NONE -> drop(x) }
	:: d_step { cl_linked && IS_OPEN(x) && lost == LOSSES ->
		lost = 0;
		accept(x, cl_low, (cl_state[x] == C_SENT -> I_REQUEST : I_SKIP)) }
	:: d_step { cl_linked && IS_OPEN(x) && lost < LOSSES ->
		accept(x, cl_low, (cl_state[x] == C_SENT -> I_REQUEST : I_SKIP)) }
	:: d_step { cl_linked && IS_OPEN(x) && lost < LOSSES -> lost++ }
	od
}

/* Replies come once for each time they were sent. */
proctype back(byte x)
{
	byte lost;

	do
	:: d_step { replied_done[x] && lost < LOSSES ->
		replied_done[x] = false; lost++ }
	:: d_step { replied_not[x] && lost < LOSSES ->
		replied_not[x] = false; lost++ }
	:: d_step { replied_done[x] ->
		replied_done[x] = false; lost = 0; replied(x, true) }
	:: d_step { replied_not[x] ->
		replied_not[x] = false; lost = 0; replied(x, false) }
	od
}

proctype again()
{
	do
	:: d_step { !cl_linked -> resume() }
	od
}

/* Everything posted is answered, and the server has let go of all of it. */
ltl ends { <> [] (cl_low == NR + 1) }

#endif

init
{
	atomic {
		run server();
		run crash();
#ifdef LIVE
		byte i = 1;
		run again();
		do
		:: i <= NR -> run line(i); run back(i); i++
		:: else -> break
		od
#else
		run client();
		run network()
#endif
	}
}
