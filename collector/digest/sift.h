// SPDX-License-Identifier: Apache-2.0
/* A filter of a project: which events make no group. Pure functions. Context: any thread. */
#ifndef SONDE_COLLECTOR_SIFT_H
#define SONDE_COLLECTOR_SIFT_H

#include "digest.h"

/* The numbers are stored. */
enum sift_kind {
    SIFT_IDLE = 1,   /* stalls that only wait for events */
    SIFT_SYSTEM = 2, /* nothing of the program's own code has to do with it */
    SIFT_BUILD = 3,  /* reports of builds */
    SIFT_SDK = 4,    /* calls of an SDK; stalls in a library of its name */
};

enum { SIFT_PATTERN_MAX = 128, SIFT_TEXT = SIFT_PATTERN_MAX + 16 };

struct sift {
    enum sift_kind kind;
    char pattern[SIFT_PATTERN_MAX + 1]; /* of BUILD and SDK: a name, or its beginning and "*" */
};

/* "idle", "system", "build=1.2*", "sdk=stats". False: it is none of them; *ret_sift is left. */
bool sift_parse(const char *text, struct sift *ret_sift);
void sift_text(const struct sift *sift, char ret_text[SIFT_TEXT]);
/* What sift_parse() takes, for people. */
#define SIFT_EXPECTED "idle, system, build=NAME or sdk=NAME, where NAME may end in *"

/* build: of the event's report. */
bool sift_drops(const struct sift *sift, const char *build, const struct digest_event *event);

#endif
