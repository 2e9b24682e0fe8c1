/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Thread-local state, which is reached through a function of its name. No other file
 * of src declares any (scripts/tidy).
 */
#ifndef M0_SRC_BASE_TLS_H
#define M0_SRC_BASE_TLS_H

#ifdef __KERNEL__

/* A kernel has no thread-local variables: its home defines the functions. */
#define M0_TLS_EXTERN(type, name) type *name(void)
#define M0_TLS(type, name)        struct m0_tls_semicolon
#define M0_TLS_STATIC(type, name) type *name(void)

#else

/* The state is at a fixed distance from the thread's pointer: no call finds it. */
#define M0_TLS_MODEL __attribute__((tls_model("initial-exec")))

/** Declares `type *name(void)`, the state of this thread, for several files. */
#define M0_TLS_EXTERN(type, name)                                            \
	extern __thread type name##_of_thread                  M0_TLS_MODEL; \
	static inline __attribute__((__always_inline__)) type *name(void)    \
	{                                                                    \
		return &name##_of_thread;                                    \
	}                                                                    \
	struct m0_tls_semicolon

/** Defines what M0_TLS_EXTERN declares. All zeroes. */
#define M0_TLS(type, name) __thread type name##_of_thread M0_TLS_MODEL

/** Defines the state for one file. */
#define M0_TLS_STATIC(type, name)                                            \
	static __thread type name##_of_thread                  M0_TLS_MODEL; \
	static inline __attribute__((__always_inline__)) type *name(void)    \
	{                                                                    \
		return &name##_of_thread;                                    \
	}                                                                    \
	struct m0_tls_semicolon

#endif

#endif /* M0_SRC_BASE_TLS_H */
