/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Parts of the scripts of `colibri completion` that are always the same. */
#ifndef M0_TOOLS_COMPLETION_TEXT_H
#define M0_TOOLS_COMPLETION_TEXT_H

/** Functions that bash and zsh both run; they call those that are generated. */
extern const char completion_core[];
/** How each shell calls them. */
extern const char completion_bash[];
extern const char completion_zsh[];

#endif /* M0_TOOLS_COMPLETION_TEXT_H */
