// SPDX-License-Identifier: Apache-2.0
/* How often something was tried, and when it is due again: of one report (RUN.upload beside
 * RUN.sonde), and of the address (upload.state). A small text, replaced at once:
 *
 *     sonde-upload 1
 *     to https://collector.example/
 *     state waiting
 *     tries 3
 *     since 1790000000
 *     wait 260
 *     asked 0
 *     part 0
 *     status 503
 *     why 503: the server is in trouble
 *
 * Times are of the machine's clock, which may step: a wait has its begin, so a clock that is set
 * back behind that ends it, and none lasts longer than SONDE__UPLOAD_WAIT_MAX_S. Pure functions. */
#ifndef SONDE_UPLOAD_STATE_H
#define SONDE_UPLOAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload_address.h"
#include "upload_answer.h"

#define SONDE__UPLOAD_STATE_TEXT 2048u /* bytes of the longest */

enum sonde__upload_stage {
    SONDE__UPLOAD_WAITING,
    SONDE__UPLOAD_REFUSED_FOR_GOOD,
    SONDE__UPLOAD_SENT, /* and kept */
};

struct sonde__upload_state {
    enum sonde__upload_stage stage;
    uint32_t tries; /* since the last one that succeeded */
    int64_t since_s;
    uint32_t wait_s;                /* since then */
    bool is_asked;                  /* the server wants that wait */
    uint32_t part;                  /* of a report that is sent in several: how many were stored */
    int32_t status;                 /* of the last answer */
    char to[SONDE__UPLOAD_URL_MAX]; /* without a key */
    char why[SONDE__UPLOAD_WHY];
};

/* The text; returns its size. */
size_t sonde__upload_state_write(const struct sonde__upload_state *state,
                                 char ret_text[SONDE__UPLOAD_STATE_TEXT]);
/* False: it is none. Lines that are not known are ignored, values are held to their limits. */
bool sonde__upload_state_read(const void *bytes, size_t size,
                              struct sonde__upload_state *ret_state);

/* 1 min, 2, 4 ... 8 h, each 25 % more or less by `random`, so that many senders that failed at once
 * do not come back at once. */
#define SONDE__UPLOAD_WAIT_FIRST_S 60u
#define SONDE__UPLOAD_WAIT_LAST_S  28800u
uint32_t sonde__upload_backoff_s(uint32_t tries, uint32_t random);

/* Seconds until it is due; 0: it is. */
uint32_t sonde__upload_left_s(const struct sonde__upload_state *state, int64_t now_s);

/* It is about to be tried: until its answer is there, it counts as one that failed. */
void sonde__upload_state_begin(struct sonde__upload_state *state, int64_t now_s, uint32_t random);
/* The answer of a report; then that of the address. */
void sonde__upload_state_end(struct sonde__upload_state *state,
                             const struct sonde__upload_verdict *verdict, int64_t now_s);
void sonde__upload_address_end(struct sonde__upload_state *address,
                               const struct sonde__upload_verdict *verdict, int64_t now_s,
                               uint32_t random);

#endif
