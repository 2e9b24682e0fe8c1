/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The command line of lctl, as far as LNet's: `colibri`, called by that name. */
#ifndef M0_TOOLS_LCTL_H
#define M0_TOOLS_LCTL_H

/** argv[1] is the command. Returns an exit code. */
int lctl_main(int argc, char **argv);

#endif /* M0_TOOLS_LCTL_H */
