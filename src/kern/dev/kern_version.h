/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Differences between the kernels that the module is built for, 6.1 and 6.12. */
#ifndef M0_SRC_KERN_DEV_KERN_VERSION_H
#define M0_SRC_KERN_DEV_KERN_VERSION_H

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define KERN_DEVNODE_CONST
#else
/** The qualifier of the device whose name and mode the kernel asks for. */
#define KERN_DEVNODE_CONST const
#endif

static inline void kern_vm_flags_add(struct vm_area_struct *vma,
				     unsigned long          flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= flags;
#else
	vm_flags_set(vma, flags);
#endif
}

static inline struct class *kern_class_create(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define KERN_SYSCTL_CONST
#else
/** The qualifier of the entry that the kernel gives to its handler. */
#define KERN_SYSCTL_CONST const
#endif

/** Behind the entries of the table comes an empty one, which kernels before 6.6 look for. */
static inline struct ctl_table_header *kern_net_sysctl_add(
	struct net *net, const char *path, struct ctl_table *table, size_t nr)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	(void)nr;
	return register_net_sysctl(net, path, table);
#else
	return register_net_sysctl_sz(net, path, table, nr);
#endif
}

#endif /* M0_SRC_KERN_DEV_KERN_VERSION_H */
