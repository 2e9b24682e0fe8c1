/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdio.h for tests inside the kernel. */
#ifndef COLIBRI_KERNEL_STDIO_H
#define COLIBRI_KERNEL_STDIO_H

#include <linux/kernel.h>

#define printf(...) ((void)printk(KERN_INFO __VA_ARGS__))

#define stderr                    NULL
#define fprintf(file, ...)        ((void)printk(KERN_CONT __VA_ARGS__))
#define vfprintf(file, fmt, args) ((void)vprintk(fmt, args))
#define fputc(chr, file)          ((void)printk(KERN_CONT "%c", chr))
#define fflush(file)              ((void)0)

#endif
