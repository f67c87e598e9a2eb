// SPDX-License-Identifier: Apache-2.0
/* Libraries that are swept while the loader is at work on them: libhooks_opened needs
 * libhooks_chosen, which needs libhooks_first. */
#ifndef TEST_HOOKS_LOADING_H
#define TEST_HOOKS_LOADING_H

#pragma GCC visibility push(default)
/* Of libhooks_first; set by the constructor of libhooks_chosen. */
extern int first_is_chosen_constructed;
/* Of libhooks_chosen: an ifunc. Before the library is relocated its resolver returns a function
 * that adds UNRELOCATED. */
int chosen(int value);
/* Of libhooks_opened: a call of it. */
int opened(int value);
#pragma GCC visibility pop

enum { CHOSEN = 1, UNRELOCATED = 100 };

/* The loader asks a resolver of libhooks_first before it relocates libhooks_chosen. The resolver
 * writes a byte to one of these descriptors, and waits for one from the other. */
enum { RESOLVING_FD = 100, RESOLVE_FD = 101 };

#endif
