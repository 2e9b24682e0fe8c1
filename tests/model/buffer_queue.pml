/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The life of queued buffers in the transport kit: added, claimed by the thread that
 * moves data, cancelled, timed out, stopped, completed, told, added again; each
 * by another thread. Mirrors, rule by rule,
 *   add               src/kit/kit_buf.c: m0_net_kit_buf_add(), arm()
 *   give_up           kit_buf.c: kit_give_up(), given_up_end(); called for a
 *                     cancel, a time-out (kit_timers_expire()) and a stop
 *                     (src/kit/kit_state.c: kit_queues_stop())
 *   claim_id, unclaim kit_claim.c: m0_net_kit_claim_id(), m0_net_kit_unclaim()
 *   finish            kit_claim.c: m0_net_kit_done(), end_status()
 *   complete, tell    kit_claim.c: kit_complete();
 *                     src/kit/kit_deliver.c: kit_deliver(), retire()
 *   mover             src/kit/kit_bulk.c: batch_take(), bulk_begin(),
 *                     moves_make(); src/xprt/mem/mem.c: mem_bulk()
 * Each line is one step, and what stands within atomic: an exchange, a store or
 * a load of nkb_word, kb_late or kb_reason. Locks are locks.
 *
 * Buffer 0 is a passive one, added ADDS times. Buffers 1 to MOVERS are active
 * ones of other machines, added once, whose threads name buffer 0 by the
 * descriptor of any of its adds so far. So do RIVALS more threads, of whose
 * buffers nothing is said.
 *
 * Proved, for all schedules: each add has exactly one event, nothing is told
 * while a thread still writes, an event says 0 only if the data was moved and
 * "cancelled" only if that was asked for, and a descriptor reaches the add that
 * it was made for and no other. With LIVE: once machines stop everything ends.
 *
 * BROKEN_* leave a rule out; scripts/model wants each of them found wrong.
 */
#ifndef ADDS
#define ADDS 2
#endif
#ifndef MOVERS
#define MOVERS 1
#endif
#ifndef RIVALS
#define RIVALS 0
#endif
#define BUFS (MOVERS + 1)
/* Those whose end is counted. */
#define THREADS (MOVERS + RIVALS + 1)

/* enum kit_buf_state. */
#define KB_IDLE 0
#define KB_ARMED 1
#define KB_CLAIMED 2
#define KB_GIVEN_UP 3
#define KB_DONE 4

/* Statuses. */
#define OK 0
#define CANCELED 1
#define TIMEDOUT 2
#define REFUSED 3

/* nkb_word: state and generation. */
byte st[BUFS], gen[BUFS];
byte late[BUFS], reason[BUFS];
bool timer[BUFS], in_bulk[BUFS];
/* Its WORK_DONE lies in the machine's inbox; on the ready list. */
bool posted[BUFS], ready[BUFS];
byte status[BUFS];
/* ntm_mutex of its machine. */
bool lk[BUFS];
bool stopping[BUFS];

/* What is looked at. */
byte added, completed;
bool told[BUFS * (ADDS + 1)], moved[BUFS * (ADDS + 1)];
bool asked[BUFS * (ADDS + 1)];
byte writers[BUFS];
byte ended;

#define AT(k, g) ((k) * (ADDS + 1) + (g))

inline lock(k)
{
	atomic { !lk[k] -> lk[k] = true }
}

inline unlock(k)
{
	lk[k] = false
}

/* ------------------------------------------------------------- endings -- */

inline complete(k, s)
{
	atomic {
		assert(st[k] == KB_CLAIMED || st[k] == KB_GIVEN_UP);
		assert(!ready[k]);
		status[k] = s;
		st[k] = KB_DONE;
		ready[k] = true
	}
}

inline tell(k)
{
	atomic {
		ready[k] = false;
		timer[k] = false;
		assert(st[k] == KB_DONE);
		assert(!told[AT(k, gen[k])]);
		assert(writers[k] == 0);
		assert(status[k] != OK || moved[AT(k, gen[k])]);
		assert((status[k] != CANCELED && status[k] != TIMEDOUT) ||
		       asked[AT(k, gen[k])]);
		told[AT(k, gen[k])] = true;
		st[k] = KB_IDLE;
		completed++
	}
}

/* The status to end with, in r; the buffer is claimed or was given up. */
inline end_status(k, s, r)
{
	atomic {
		if
		:: st[k] == KB_ARMED -> st[k] = KB_CLAIMED; r = s
		:: st[k] == KB_GIVEN_UP -> r = reason[k]
		:: else -> r = s
		fi
	}
}

/* To a machine that is not this thread's. */
inline finish(k, s)
{
	end_status(k, s, v);
	atomic {
		assert(!posted[k]);
		status[k] = v;
		posted[k] = true
	}
}

/* ---------------------------------------------------------------- adds -- */

inline add(k)
{
	atomic {
		assert(st[k] == KB_IDLE);
		gen[k]++;
		late[k] = 0;
		added++;
		if
		:: k == 0 -> timer[k] = true
		:: true
		fi;
		in_bulk[k] = (k > 0);
		st[k] = KB_ARMED
	}
}

/* --------------------------------------------------------- early endings -- */

inline given_up_end(k)
{
	if
	:: in_bulk[k] ->
		in_bulk[k] = false;
		complete(k, reason[k])
#ifdef BROKEN_NO_HANDS
	:: else -> complete(k, reason[k])
#else
	/* Nobody has a passive buffer in hand unless he has claimed it. */
	:: !in_bulk[k] && k == 0 -> complete(k, reason[k])
	:: else
#endif
	fi
}

/* The lock of the machine is held. w, won: the caller's. */
inline give_up(k, r)
{
	atomic {
		w = st[k];
		asked[AT(k, gen[k])] = asked[AT(k, gen[k])] ||
			w == KB_ARMED || w == KB_CLAIMED
	};
	do
	:: w == KB_ARMED || w == KB_CLAIMED ->
		if
		:: w == KB_CLAIMED ->
			late[k] = r;
#ifdef BROKEN_NO_LOOK_AGAIN
			break
#else
			w = st[k];
			if
			:: w != KB_ARMED -> break
			:: else
			fi
#endif
		:: else
		fi;
#ifndef BROKEN_REASON_AFTER
		reason[k] = r;
#endif
		atomic {
#ifdef BROKEN_NO_EXCHANGE
			st[k] = KB_GIVEN_UP; won = true
#else
			if
			:: st[k] == w -> st[k] = KB_GIVEN_UP; won = true
			:: else -> won = false
			fi
#endif
		};
		if
		:: won ->
#ifdef BROKEN_REASON_AFTER
			reason[k] = r;
#endif
			timer[k] = false;
			given_up_end(k);
			break
		:: else -> w = st[k]
		fi
	:: else -> break
	od;
	w = 0;
	won = false
}

/* -------------------------------------------------------------- claims -- */

inline claim_id(g, got)
{
	atomic {
		if
#ifdef BROKEN_NO_GENERATION
		:: st[0] == KB_ARMED ->
#else
		:: st[0] == KB_ARMED && gen[0] == g ->
#endif
			st[0] = KB_CLAIMED;
			got = true
		:: else -> got = false
		fi
	}
}

inline claim(k, got)
{
	atomic {
		if
		:: st[k] == KB_ARMED -> st[k] = KB_CLAIMED; got = true
		:: else -> got = false
		fi
	}
}

/* It was claimed as of generation g. */
inline unclaim(k, g)
{
	st[k] = KB_ARMED;
#ifndef BROKEN_NO_LATE
#ifdef BROKEN_NOTE_TAKEN
	atomic { l = late[k]; late[k] = 0 };
#else
	l = late[k];
#endif
	if
	:: l != 0 ->
		atomic {
			if
#ifdef BROKEN_NOTE_OF_ANOTHER
			:: st[k] == KB_ARMED -> st[k] = KB_CLAIMED; got = true
#else
			:: st[k] == KB_ARMED && gen[k] == g ->
				st[k] = KB_CLAIMED;
				got = true
#endif
			:: else -> got = false
			fi
		};
		if
		:: got -> finish(k, l)
		:: else
		fi
	:: else
	fi;
	l = 0
#endif
}

/* ------------------------------------------------------------- threads -- */

/* The application of machine 0. */
proctype app()
{
	byte n, w;
	bool won;

	do
	:: n < ADDS ->
		lock(0);
		if
		:: stopping[0] -> n = ADDS
		:: !stopping[0] && st[0] == KB_IDLE -> add(0); n++
		:: !stopping[0] && st[0] != KB_IDLE -> skip
		fi;
		unlock(0);
		if
		:: lock(0); give_up(0, CANCELED); unlock(0)
		:: true
		fi;
		/* Until there is something new to do. */
		if
		:: n < ADDS -> (st[0] == KB_IDLE || stopping[0])
		:: else
		fi
	:: else -> break
	od;
	atomic { n = 0; ended++ }
}

/* The strand of a machine: time-outs, what was posted, events, the stop. */
proctype strand(byte k)
{
	byte w;
	bool won;

	do
	:: atomic { timer[k] && !lk[k] -> lk[k] = true };
		if
		:: timer[k] ->
			timer[k] = false;
			give_up(k, TIMEDOUT)
		:: else
		fi;
		unlock(k)
	:: atomic { posted[k] && !lk[k] ->
		posted[k] = false;
		complete(k, status[k]) }
	:: atomic { ready[k] && !lk[k] -> tell(k) }
	:: atomic { !stopping[k] && !lk[k] -> lk[k] = true };
		stopping[k] = true;
		give_up(k, CANCELED);
		unlock(k)
	:: atomic { stopping[k] && st[k] == KB_IDLE && !posted[k] &&
		    !ready[k] && ended == THREADS -> break }
	od
}

/* A thread that moves data for machine k, whose buffer is in its hands. */
proctype mover(byte k)
{
	byte g, l, v;
	bool got;

	/* A descriptor that was handed out. */
	gen[0] > 0 || stopping[0];
	if
	:: gen[0] > 0 -> select(g : 1 .. gen[0])
	:: else
	fi;
	atomic { !lk[k] -> got = in_bulk[k]; in_bulk[k] = false };
	if
	:: !got -> goto over
	:: else
	fi;
	claim_id(g, got);
	if
	:: !got ->
		end_status(k, REFUSED, v);
		goto drain
	:: else
	fi;
	assert(gen[0] == g);
	if
	/* It may not have it. */
	:: unclaim(0, g); end_status(k, REFUSED, v); goto drain
	:: claim(k, got);
		if
		:: !got -> unclaim(0, g); end_status(k, OK, v); goto drain
		:: else
		fi
	fi;
	writers[0]++;
	writers[k]++;
	atomic {
		assert(gen[0] == g && st[0] == KB_CLAIMED);
		assert(st[k] == KB_CLAIMED);
		moved[AT(0, g)] = true;
		moved[AT(k, gen[k])] = true
	};
	writers[0]--;
	writers[k]--;
	finish(0, OK);
	end_status(k, OK, v);
drain:
	atomic { !lk[k] -> complete(k, v) };
over:
	atomic { g = 0; l = 0; v = 0; got = false; ended++ }
}

/* Another one, of whose own buffer nothing is modelled. */
proctype rival()
{
	byte g, l, v;
	bool got;

	gen[0] > 0 || stopping[0];
	if
	:: gen[0] > 0 -> select(g : 1 .. gen[0])
	:: else
	fi;
	claim_id(g, got);
	if
	:: !got
	:: got && gen[0] == g -> unclaim(0, g)
	:: got ->
		writers[0]++;
		atomic {
			assert(gen[0] == g && st[0] == KB_CLAIMED);
			moved[AT(0, g)] = true
		};
		writers[0]--;
		finish(0, OK)
	fi;
	atomic { g = 0; l = 0; v = 0; got = false; ended++ }
}

/* Nothing can move any more. */
proctype monitor()
{
	timeout -> assert(added == completed)
}

#ifdef LIVE
ltl ends { <> [] (added == completed && ended == THREADS) }
#endif

init
{
	byte i;

	atomic {
		run app();
		run strand(0);
#if RIVALS > 0
		run rival();
#endif
#if RIVALS > 1
		run rival();
#endif
#ifndef LIVE
		run monitor();
#endif
		i = 1;
		do
		:: i <= MOVERS ->
			add(i);
			run strand(i);
			run mover(i);
			i++
		:: else -> break
		od;
		i = 0
	}
}
