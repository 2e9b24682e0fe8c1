/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Callee-saved registers, stack pointer and return address of x86-64. */
	.text
	.globl setjmp
	.type setjmp, @function
setjmp:
	movq (%rsp), %rdx
	movq %rbx, 0(%rdi)
	movq %rbp, 8(%rdi)
	movq %r12, 16(%rdi)
	movq %r13, 24(%rdi)
	movq %r14, 32(%rdi)
	movq %r15, 40(%rdi)
	leaq 8(%rsp), %rcx
	movq %rcx, 48(%rdi)
	movq %rdx, 56(%rdi)
	xorl %eax, %eax
	ret
	int3
	.size setjmp, . - setjmp

	.globl longjmp
	.type longjmp, @function
longjmp:
	movl %esi, %eax
	testl %eax, %eax
	jnz 1f
	incl %eax
1:	movq 0(%rdi), %rbx
	movq 8(%rdi), %rbp
	movq 16(%rdi), %r12
	movq 24(%rdi), %r13
	movq 32(%rdi), %r14
	movq 40(%rdi), %r15
	movq 48(%rdi), %rsp
	pushq 56(%rdi)
	ret
	int3
	.size longjmp, . - longjmp
