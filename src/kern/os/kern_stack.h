/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The stacks of threads of the library. */
#ifndef M0_SRC_KERN_OS_KERN_STACK_H
#define M0_SRC_KERN_OS_KERN_STACK_H

/** The most that one of them has used. */
struct kern_stack_most {
	/** 0: none has ended. */
	unsigned long ksm_bytes;
	char          ksm_name[16];
};

/** The calling thread begins, and ends. */
void kern_stack_begin(void);
void kern_stack_end(void);
/** Gives the most of all threads that have ended. */
void kern_stack_get(struct kern_stack_most *ret);

#endif /* M0_SRC_KERN_OS_KERN_STACK_H */
