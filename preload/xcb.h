// SPDX-License-Identifier: Apache-2.0
/* libxcb has one wait for everything: replies to requests from anywhere in a program, and the next
 * event of a loop (XNextEvent(), xcb_wait_for_event()). The functions between that wait and the
 * program show which it is. Context: handler. */
#ifndef SONDE_PRELOAD_XCB_H
#define SONDE_PRELOAD_XCB_H

#include <stdbool.h>
#include <stdint.h>

enum preload_xcb_purpose { PRELOAD_XCB_UNKNOWN, PRELOAD_XCB_EVENT, PRELOAD_XCB_REPLY };

struct preload_xcb_wait {
    enum preload_xcb_purpose purpose;
    uint64_t caller; /* return address of the call into libxcb */
    uint64_t level;  /* level of the frame there; 0: unknown */
};

bool preload_in_xcb(uint64_t pc);
/* caller: in libxcb, as for preload_level(). False: the stack cannot be walked that far. */
bool preload_xcb_wait(uint64_t caller, struct preload_xcb_wait *ret_wait);

#endif
