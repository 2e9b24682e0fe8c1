/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The table of src/rpc/core/sstream.c, in the words of the model. The test
 * sstream_test.c makes this text of the table and compares; its --print writes
 * it anew.
 */
#define S_BEYOND 0
#define S_AHEAD 1
#define S_TURN 2
#define S_HELD 3
#define S_HELD_SKIP 4
#define S_RUNNING 5
#define S_RUNNING_ACKED 6
#define S_KEPT 7
#define S_GONE 8
#define I_REQUEST 0
#define I_SKIP 1
#define I_TURN 2
#define I_DONE 3
#define I_ACK 4
#define A_NONE 0
#define A_EXECUTE 1
#define A_HOLD 2
#define A_SKIPPED 3
#define A_REPLAY 4
#define A_IGNORE 5
#define A_BUSY 6
#define A_REFUSE 7
#define A_DROP 8
#define A_KEEP 9
#define A_NEVER 10

inline rule(state, input)
{
	if
	:: state == S_BEYOND && input == I_REQUEST -> v_action = A_REFUSE; v_next = S_BEYOND
	:: state == S_BEYOND && input == I_SKIP -> v_action = A_REFUSE; v_next = S_BEYOND
	:: state == S_BEYOND && input == I_TURN -> v_action = A_NONE; v_next = S_BEYOND
	:: state == S_BEYOND && input == I_DONE -> v_action = A_NEVER; v_next = S_BEYOND
	:: state == S_BEYOND && input == I_ACK -> v_action = A_NONE; v_next = S_GONE
	:: state == S_AHEAD && input == I_REQUEST -> v_action = A_HOLD; v_next = S_HELD
	:: state == S_AHEAD && input == I_SKIP -> v_action = A_HOLD; v_next = S_HELD_SKIP
	:: state == S_AHEAD && input == I_TURN -> v_action = A_NONE; v_next = S_TURN
	:: state == S_AHEAD && input == I_DONE -> v_action = A_NEVER; v_next = S_AHEAD
	:: state == S_AHEAD && input == I_ACK -> v_action = A_NONE; v_next = S_GONE
	:: state == S_TURN && input == I_REQUEST -> v_action = A_EXECUTE; v_next = S_RUNNING
	:: state == S_TURN && input == I_SKIP -> v_action = A_SKIPPED; v_next = S_KEPT
	:: state == S_TURN && input == I_TURN -> v_action = A_NONE; v_next = S_TURN
	:: state == S_TURN && input == I_DONE -> v_action = A_NEVER; v_next = S_TURN
	:: state == S_TURN && input == I_ACK -> v_action = A_NONE; v_next = S_GONE
	:: state == S_HELD && input == I_REQUEST -> v_action = A_IGNORE; v_next = S_HELD
	:: state == S_HELD && input == I_SKIP -> v_action = A_DROP; v_next = S_HELD_SKIP
	:: state == S_HELD && input == I_TURN -> v_action = A_EXECUTE; v_next = S_RUNNING
	:: state == S_HELD && input == I_DONE -> v_action = A_NEVER; v_next = S_HELD
	:: state == S_HELD && input == I_ACK -> v_action = A_DROP; v_next = S_GONE
	:: state == S_HELD_SKIP && input == I_REQUEST -> v_action = A_IGNORE; v_next = S_HELD_SKIP
	:: state == S_HELD_SKIP && input == I_SKIP -> v_action = A_IGNORE; v_next = S_HELD_SKIP
	:: state == S_HELD_SKIP && input == I_TURN -> v_action = A_SKIPPED; v_next = S_KEPT
	:: state == S_HELD_SKIP && input == I_DONE -> v_action = A_NEVER; v_next = S_HELD_SKIP
	:: state == S_HELD_SKIP && input == I_ACK -> v_action = A_NONE; v_next = S_GONE
	:: state == S_RUNNING && input == I_REQUEST -> v_action = A_IGNORE; v_next = S_RUNNING
	:: state == S_RUNNING && input == I_SKIP -> v_action = A_IGNORE; v_next = S_RUNNING
	:: state == S_RUNNING && input == I_TURN -> v_action = A_NONE; v_next = S_RUNNING
	:: state == S_RUNNING && input == I_DONE -> v_action = A_KEEP; v_next = S_KEPT
	:: state == S_RUNNING && input == I_ACK -> v_action = A_NONE; v_next = S_RUNNING_ACKED
	:: state == S_RUNNING_ACKED && input == I_REQUEST -> v_action = A_IGNORE; v_next = S_RUNNING_ACKED
	:: state == S_RUNNING_ACKED && input == I_SKIP -> v_action = A_IGNORE; v_next = S_RUNNING_ACKED
	:: state == S_RUNNING_ACKED && input == I_TURN -> v_action = A_NONE; v_next = S_RUNNING_ACKED
	:: state == S_RUNNING_ACKED && input == I_DONE -> v_action = A_DROP; v_next = S_GONE
	:: state == S_RUNNING_ACKED && input == I_ACK -> v_action = A_NONE; v_next = S_RUNNING_ACKED
	:: state == S_KEPT && input == I_REQUEST -> v_action = A_REPLAY; v_next = S_KEPT
	:: state == S_KEPT && input == I_SKIP -> v_action = A_REPLAY; v_next = S_KEPT
	:: state == S_KEPT && input == I_TURN -> v_action = A_NEVER; v_next = S_KEPT
	:: state == S_KEPT && input == I_DONE -> v_action = A_NEVER; v_next = S_KEPT
	:: state == S_KEPT && input == I_ACK -> v_action = A_DROP; v_next = S_GONE
	:: state == S_GONE && input == I_REQUEST -> v_action = A_IGNORE; v_next = S_GONE
	:: state == S_GONE && input == I_SKIP -> v_action = A_IGNORE; v_next = S_GONE
	:: state == S_GONE && input == I_TURN -> v_action = A_NEVER; v_next = S_GONE
	:: state == S_GONE && input == I_DONE -> v_action = A_NEVER; v_next = S_GONE
	:: state == S_GONE && input == I_ACK -> v_action = A_NONE; v_next = S_GONE
	fi
}
