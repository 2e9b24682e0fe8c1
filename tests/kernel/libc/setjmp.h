/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* setjmp.h for tests inside the kernel. */
#ifndef COLIBRI_KERNEL_SETJMP_H
#define COLIBRI_KERNEL_SETJMP_H

typedef unsigned long jmp_buf[8];

int  setjmp(jmp_buf env) __attribute__((returns_twice));
void longjmp(jmp_buf env, int val) __attribute__((noreturn));

#endif
