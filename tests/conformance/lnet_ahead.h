/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A case of lnet_cases with a file of its own. */
#ifndef M0_TESTS_CONFORMANCE_LNET_AHEAD_H
#define M0_TESTS_CONFORMANCE_LNET_AHEAD_H

/** Before the cases. */
void lnet_ahead_begin(void);
void lnet_added_before_it_was_sent(void);
void lnet_begins_with_its_poll(void);

#endif /* M0_TESTS_CONFORMANCE_LNET_AHEAD_H */
