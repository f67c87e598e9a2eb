// SPDX-License-Identifier: Apache-2.0
/* libxcb has one wait for everything: the answers to requests from wherever a program asks, and the
 * next event of a loop (XNextEvent(), xcb_wait_for_event()). Which it is, is told by the functions
 * between that wait and the program. Context: handler. */
#ifndef SONDE_PRELOAD_XCB_H
#define SONDE_PRELOAD_XCB_H

#include <stdbool.h>
#include <stdint.h>

enum preload_xcb_purpose { PRELOAD_XCB_UNKNOWN, PRELOAD_XCB_EVENT, PRELOAD_XCB_REPLY };

struct preload_xcb_wait {
    enum preload_xcb_purpose purpose;
    uint64_t caller; /* where libxcb was called: a return address */
    uint64_t level;  /* of the frame there; 0: not known */
};

bool preload_in_xcb(uint64_t pc);
/* caller: in libxcb, as of preload_level(). False: the stack cannot be followed so far. */
bool preload_xcb_wait(uint64_t caller, struct preload_xcb_wait *ret_wait);

#endif
