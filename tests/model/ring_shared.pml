/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The two queues of a shared area: wake-ups, a side that dies, reserved events.
 * Mirrors, rule by rule, src/ring/shared.c:
 *   work            has_work()
 *   bell            m0_shared_bell()
 *   nap             m0_shared_sleep_begin(), m0_shared_sleep(), _sleep_end()
 *   side            a client that sends operations and takes their events, a server
 *                   that answers each with one event; both sleep when they can
 *                   do nothing
 *   EVENTS          m0_shared_claim(), _owe(), _owed(), _incoming(), _release()
 * Each line is one step, and so is what stands within atomic: a store, a load or an
 * exchange of a word of the area. All of these are sequentially consistent there. The
 * shadows of indices are left out: a side looks at the index itself each time.
 *
 * Proved, for all schedules: no wake-up is lost (a run that stops before all is
 * done is an error), a side is woken at most once for each time that it sleeps,
 * no entry is overwritten; if a side dies at any step, the other one takes all that
 * it has put, and ends. With EVENTS: no event of an operation finds the queue full,
 * and no client that keeps the rules is accused.
 *
 * BROKEN_* leave a rule out; scripts/model wants each of them found wrong.
 */
#ifndef ENTRIES
#define ENTRIES 3
#endif
/* Entries of a queue. */
#ifndef ROOM
#define ROOM 1
#endif

#ifndef EVENTS

#define CLIENT 0
#define SERVER 1
/* Bits of a word "I sleep". */
#define B_ENTRIES 1
#define B_ROOM 2

/* Of the queue whose producer this is. */
byte put[2], taken[2];
byte sleeps[2];
/* The wake-up that the host keeps for a side. */
bool token[2];
bool kill[2], dead[2];

/* What is looked at. */
/* It has slept, and was not woken since. */
bool slept[2];

#define OTHER (1 - me)
/* The operations of a client; a server answers what it takes. */
#define MAY_PUT ((me == CLIENT && put[me] < ENTRIES) || \
		 (me == SERVER && owes))

inline work(r)
{
	r = false;
	if
	:: bits & B_ENTRIES -> r = (put[OTHER] != taken[OTHER])
	:: else
	fi;
	if
	:: !r && (bits & B_ROOM) -> r = (put[me] - taken[me] < ROOM)
	:: else
	fi
}

inline bell()
{
	if
	:: due != 0 ->
		w = sleeps[OTHER];
		if
		:: (w & due) != 0 ->
			atomic {
				w = sleeps[OTHER];
				assert(w == 0 || slept[OTHER]);
				if
				:: w != 0 -> slept[OTHER] = false
				:: else
				fi;
#ifndef BROKEN_NO_EXCHANGE
				sleeps[OTHER] = 0
#endif
			};
			if
			:: w != 0 -> token[OTHER] = true
			:: else
			fi
		:: else
		fi
	:: else
	fi;
	due = 0;
	w = 0
}

inline commit()
{
	atomic {
		assert(put[me] - taken[me] < ROOM);
		put[me]++
	};
#ifndef BROKEN_NO_BELL
	due = due | B_ENTRIES
#endif
}

inline release()
{
	taken[OTHER]++;
#ifndef BROKEN_NO_ROOM_BELL
	due = due | B_ROOM
#endif
}

/* In r: the other side is dead, and all of its entries are taken. */
inline nap(r)
{
	bell();
	work(r);
	if
	:: r -> r = false
	:: else ->
		atomic { sleeps[me] = bits; slept[me] = true };
#ifndef BROKEN_NO_LOOK_AGAIN
		work(r);
#endif
		if
		:: r -> sleeps[me] = 0; r = false
		:: else ->
			if
			:: dead[OTHER]
			:: atomic { token[me] -> token[me] = false }
			fi;
			sleeps[me] = 0;
			work(r);
			if
			:: r -> r = false
			:: else ->
				r = dead[OTHER];
#ifndef BROKEN_NO_LAST_LOOK
				if
				:: r -> work(r); r = !r
				:: else
				fi
#endif
			fi
		fi
	fi
}

proctype side(byte me)
{
	byte w, due, bits;
	bool r, owes;

	{
		do
		/* A server that owes an answer takes nothing more. */
		:: put[OTHER] != taken[OTHER] && !owes ->
			if
			:: me == SERVER -> owes = true
			:: else
			fi;
			release();
		:: MAY_PUT && put[me] - taken[me] < ROOM ->
			commit();
			owes = false
		/* Nothing to do now. */
		:: !(put[OTHER] != taken[OTHER] && !owes) &&
		   !(MAY_PUT && put[me] - taken[me] < ROOM) ->
			if
			:: taken[SERVER] == ENTRIES && me == CLIENT -> break
			:: put[SERVER] == ENTRIES && me == SERVER -> break
			:: else
			fi;
			bits = 0;
			if
			:: !owes -> bits = B_ENTRIES
			:: else
			fi;
			if
			:: MAY_PUT -> bits = bits | B_ROOM
			:: else
			fi;
			nap(r);
			if
			:: r -> break
			:: else
			fi
		:: bell()
		od;
		bell();
		/* An answer that the dead would not take is dropped. */
		assert(owes || put[OTHER] == taken[OTHER] || !dead[OTHER])
	} unless { kill[me] };
	dead[me] = true
}

proctype killer()
{
	if
	:: kill[CLIENT] = true
	:: kill[SERVER] = true
	:: true
	fi
}

init {
	atomic {
		run side(CLIENT);
		run side(SERVER);
#ifdef DEATH
		run killer()
#endif
	}
}

#else /* EVENTS */

/* Entries upwards kept for events of operations, and for incoming messages. */
#define RESERVED 2
#define INCOMING 1
#define UP (RESERVED + INCOMING)

byte up_put, up_taken, up_taken_incoming;
byte ops_put;
/* Kinds of the events in the queue. */
bool is_incoming[UP];

/* Operations of one event each. */
proctype client()
{
	byte taken, incoming, claims;
	bool kind;

	do
	:: ops_put < ENTRIES && claims < RESERVED ->
		claims++;
		ops_put++
	:: up_put != taken ->
		kind = is_incoming[taken % UP];
#ifdef BROKEN_UNCLAIM_FIRST
		if
		:: !kind -> claims--
		:: else
		fi;
		if
		:: ops_put < ENTRIES && claims < RESERVED ->
			claims++;
			ops_put++
		:: true
		fi;
#endif
		taken++;
#ifdef BROKEN_COUNT_FIRST
		if
		:: kind -> incoming++; up_taken_incoming = incoming
		:: else
		fi;
		up_taken = taken;
#else
		up_taken = taken;
		if
		:: kind -> incoming++; up_taken_incoming = incoming
		:: else
		fi;
#endif
#ifndef BROKEN_UNCLAIM_FIRST
		if
		:: !kind -> claims--
		:: else
		fi
#endif
	:: ops_put == ENTRIES && claims == 0 -> break
	od
}

inline look()
{
#ifdef BROKEN_INDEX_FIRST
	t = up_taken;
	ti = up_taken_incoming;
#else
	ti = up_taken_incoming;
	t = up_taken;
#endif
	queued = up_put - t;
	if
	:: queued > incoming - ti -> queued = queued - (incoming - ti)
	:: else -> queued = 0
	fi
}

inline event(kind)
{
	assert(up_put - t < UP);
	is_incoming[up_put % UP] = kind;
	up_put++
}

proctype server()
{
	byte t, ti, queued, owed, incoming, taken;

	do
	:: taken < ops_put ->
		look();
		/* The client has reserved it. */
		assert(owed + queued < RESERVED);
		owed++;
		taken++
	:: owed > 0 ->
		t = up_taken;
		event(false);
		owed--
	:: incoming < ENTRIES ->
		look();
		if
#ifdef BROKEN_ONE_POOL
		:: up_put - t < UP -> event(true); incoming++
#else
		:: incoming - ti < INCOMING && up_put - t < UP ->
			event(true);
			incoming++
#endif
		:: else -> ti = 0
		fi
	:: taken == ENTRIES && owed == 0 -> break
	od
}

init {
	atomic {
		run client();
		run server()
	}
}

#endif /* EVENTS */
