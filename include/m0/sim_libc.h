/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Functions of the C library as a program in the simulator needs them: those
 * that wait. A test includes this before the program's source, or compiles it
 * with `-include m0/sim_libc.h`. Outside of programs they are the C library's.
 */
#ifndef M0_SIM_LIBC_H
#define M0_SIM_LIBC_H

#include <signal.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

int      m0_sim_sigwait(const sigset_t *set, int *sig);
int      m0_sim_sigmask(int how, const sigset_t *set, sigset_t *old);
int      m0_sim_nanosleep(const struct timespec *wait, struct timespec *left);
unsigned m0_sim_sleep(unsigned s);
int      m0_sim_usleep(unsigned us);

#ifdef __cplusplus
}
#endif

#define sigwait         m0_sim_sigwait
#define sigprocmask     m0_sim_sigmask
#define pthread_sigmask m0_sim_sigmask
#define nanosleep       m0_sim_nanosleep
#define sleep           m0_sim_sleep
#define usleep          m0_sim_usleep

#endif /* M0_SIM_LIBC_H */
