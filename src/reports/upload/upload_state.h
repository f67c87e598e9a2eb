// SPDX-License-Identifier: Apache-2.0
/* Number of tries and next due time, of a report (RUN.upload next to RUN.sonde) and of the address
 * (upload.state). A small text file that is replaced atomically:
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
 * Times are of the machine's clock, which may step: a wait ends early if the clock is set back to
 * before its start, and lasts at most SONDE__UPLOAD_WAIT_MAX_S. Pure functions. */
#ifndef SONDE_UPLOAD_STATE_H
#define SONDE_UPLOAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload_address.h"
#include "upload_answer.h"

#define SONDE__UPLOAD_STATE_TEXT 2048u /* size of the longest text */

enum sonde__upload_stage {
    SONDE__UPLOAD_WAITING,
    SONDE__UPLOAD_REFUSED_FOR_GOOD,
    SONDE__UPLOAD_SENT, /* sent, and the file was kept */
};

struct sonde__upload_state {
    enum sonde__upload_stage stage;
    uint32_t tries; /* since the last success */
    int64_t since_s;
    uint32_t wait_s;                /* from since_s on */
    bool is_asked;                  /* wait_s was requested by the server */
    uint32_t part;                  /* number of stored parts, of a report sent in several */
    int32_t status;                 /* of the last answer */
    char to[SONDE__UPLOAD_URL_MAX]; /* without a key */
    char why[SONDE__UPLOAD_WHY];
};

/* Returns the size of the text. */
size_t sonde__upload_state_write(const struct sonde__upload_state *state,
                                 char ret_text[SONDE__UPLOAD_STATE_TEXT]);
/* False: not a state. Unknown lines are ignored; values are limited. */
bool sonde__upload_state_read(const void *bytes, size_t size,
                              struct sonde__upload_state *ret_state);

/* 1 min, 2, 4 ... 8 h, each changed by up to 25 % by `random`, so that senders that failed together
 * do not return together. */
#define SONDE__UPLOAD_WAIT_FIRST_S 60u
#define SONDE__UPLOAD_WAIT_LAST_S  28800u
uint32_t sonde__upload_backoff_s(uint32_t tries, uint32_t random);

/* Seconds until it is due; 0: now. */
uint32_t sonde__upload_left_s(const struct sonde__upload_state *state, int64_t now_s);

/* Begin a try. Until its answer is there, it counts as failed. */
void sonde__upload_state_begin(struct sonde__upload_state *state, int64_t now_s, uint32_t random);
/* Apply the answer to a report's state; to the address' state. */
void sonde__upload_state_end(struct sonde__upload_state *state,
                             const struct sonde__upload_verdict *verdict, int64_t now_s);
void sonde__upload_address_end(struct sonde__upload_state *address,
                               const struct sonde__upload_verdict *verdict, int64_t now_s,
                               uint32_t random);

#endif
