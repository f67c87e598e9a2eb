// SPDX-License-Identifier: Apache-2.0
/* ThreadSanitizer holds a signal back until the thread calls a function of libc. The handler then
 * gets the registers as of the moment at which the signal came. So a thread that is to be signalled
 * calls such a function now and then. A walk from those registers does not give the thread's
 * current stack: tests can only check who was asked, who answered and who waited. */
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

/* Call this in the loop of a thread that computes. */
static inline void test_take_signals(void)
{
#if TEST_SIGNALS_ARE_LATE
    static const char *volatile text = "";
    (void)strlen(text);
#endif
}

#endif
