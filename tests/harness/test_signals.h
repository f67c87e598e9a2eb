// SPDX-License-Identifier: Apache-2.0
/* Signals under ThreadSanitizer: it keeps them until the thread calls a function of libc, and the
 * handler then sees the registers of the moment at which the signal came. So a thread that is to be
 * signalled calls one now and then, and what a handler finds by those registers is not the stack
 * that the thread has by then: only who was asked, who answered and who waited can be tested. */
#ifndef TEST_SIGNALS_H
#define TEST_SIGNALS_H

#include <string.h>

#if defined(__SANITIZE_THREAD__)
#    define TEST_SIGNALS_ARE_LATE 1
#elif defined(__has_feature)
#    define TEST_SIGNALS_ARE_LATE __has_feature(thread_sanitizer)
#else
#    define TEST_SIGNALS_ARE_LATE 0
#endif

/* In the loop of a thread that computes. */
static inline void test_take_signals(void)
{
#if TEST_SIGNALS_ARE_LATE
    static const char *volatile text = "";
    (void)strlen(text);
#endif
}

#endif
