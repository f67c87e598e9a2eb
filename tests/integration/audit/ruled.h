// SPDX-License-Identifier: Apache-2.0
/* Calls that ruled.c makes in the program, and ruled_library.c in a library. */
#ifndef RULED_H
#define RULED_H

void ask_in_library(unsigned count);
void ask_otherwise(unsigned count);

/* How often each is called. */
enum {
    OWN_GETENV = 5,
    LIBRARY_GETENV = 3, /* by ask_in_library() */
    OTHER_GETENV = 2,   /* by ask_otherwise() of the library */
    OPENS = 4,          /* by open() with flags that are not constant: __open_2 */
    OPENS_64 = 6,       /* by open64() */
    SYSCALLS = 7,       /* of getppid by syscall() */
    THREAD_GETENV = 8,  /* in another thread */
};

#endif
