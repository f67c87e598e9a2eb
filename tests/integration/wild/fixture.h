// SPDX-License-Identifier: Apache-2.0
/* Functions that lose their way, compiled several times (KIND): each in a section of its own, so
 * that a pc tells its function. */
#ifndef SONDE_TEST_WILD_FIXTURE_H
#define SONDE_TEST_WILD_FIXTURE_H

#include <stdint.h>

struct wild_place {
    const char *name;
    uintptr_t start, end;
};

struct wild_kind {
    const char *name;
    /* outer -> middle -> buggy, which calls `target` by pointer; middle and outer do something
     * after the calls */
    int (*call)(uintptr_t target);
    /* outer -> middle -> jumping, whose last act is the call */
    int (*jump)(uintptr_t target);
    /* outer -> middle -> smashed, whose return address becomes `target` before it calls `look` */
    int (*smash)(uintptr_t target, void (*look)(void));
    struct wild_place places[5];
};

extern const struct wild_kind wild_plain_o0, wild_plain_o2, wild_record_o0, wild_record_o2;

#endif
