// SPDX-License-Identifier: Apache-2.0
/* How often kept.c makes each call. */
#ifndef KEPT_H
#define KEPT_H

enum {
    NULL_OPENS = 3,   /* of /dev/null, read only */
    ZERO_OPENS = 2,   /* of /dev/zero, to write */
    FOLDER_OPENS = 4, /* of "full" from the folder /dev */
    MANY_NAMES = 40,  /* different names of getenv(), each once, at one place */
    LONG_NAMES = 2,   /* of 600 characters */
    EDGE_SIZE = 239,  /* the longest text that is kept whole */
    WEIGHTS = 4,      /* names of getenv() at one place, number i of them i times */
    IP_CONNECTS = 2,  /* to 192.0.2.1:9 */
    BAD_ACCESSES =
        5, /* each of a null pointer, of a pointer to nothing, and of a text without end */
    NUMBER_OPENS = 6,       /* of /dev/null by syscall(SYS_openat) */
    RACED_ACCESSES = 20000, /* of a text that another thread changes and unmaps */
    THREADS = 4,
    THREAD_ASKS = 500, /* each: of getenv() with one of ten names */
};

#endif
