// SPDX-License-Identifier: Apache-2.0
/* The answer to one request, and its meaning (docs/protocol.md), a pure function of the answer and
 * the time. The answer may come from the server or from any proxy in between. */
#ifndef SONDE_UPLOAD_ANSWER_H
#define SONDE_UPLOAD_ANSWER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <sonde/upload.h>

#include "upload_address.h"

/* The version of docs/protocol.md that this sender speaks. */
#define SONDE__UPLOAD_VERSION "1"

/* Longer answers are cut: a list of build-ids fits, a web page need not. */
#define SONDE__UPLOAD_BODY_MAX  65536u
#define SONDE__UPLOAD_NEED_MAX  256u /* build-ids of one answer; the next answer has the rest */
#define SONDE__UPLOAD_NEED_TEXT 72u  /* hexadecimal digits; our build-ids are shorter */
#define SONDE__UPLOAD_WHY       192u

/* When to give up. Both may be set. */
struct sonde__upload_limit {
    const _Atomic uint32_t *stop; /* != 0: now; null: never */
    uint64_t until_ns;            /* by now_ns; 0: no limit */
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
};
bool sonde__upload_is_over(const struct sonde__upload_limit *limit);

struct sonde__upload_reply {
    struct sonde_upload_reply to; /* seen by the transport; must be first */
    struct sonde__upload_limit limit;
    int32_t status; /* 0: none */
    enum sonde_upload_failure failure;
    char why[SONDE__UPLOAD_WHY]; /* of the failure */
    /* of headers, cut; "": absent */
    char retry_after[64], date[64], rate_limits[512], accept_encoding[128], version[16],
        content_type[64];
    uint32_t body_bytes;
    bool is_long; /* the body was cut */
    char body[SONDE__UPLOAD_BODY_MAX];
};

/* Reset before a request. limit: null: none. */
void sonde__upload_reply_clear(struct sonde__upload_reply *reply,
                               const struct sonde__upload_limit *limit);
bool sonde__upload_reply_is_wanted(const struct sonde__upload_reply *reply);

enum sonde__upload_meaning {
    SONDE__UPLOAD_DONE,
    SONDE__UPLOAD_RECODE,  /* this coding is not accepted: repeat now with `coding` */
    SONDE__UPLOAD_RETRY,   /* temporary failure of the server or the network */
    SONDE__UPLOAD_REFUSAL, /* this report will never be accepted */
    SONDE__UPLOAD_STOP,    /* nothing will be accepted until somebody changes something */
};

struct sonde__upload_verdict {
    enum sonde__upload_meaning meaning;
    enum sonde_upload_coding coding; /* RECODE */
    uint32_t wait_s; /* the server asks for no requests during this time; 0: it does not ask */
    int32_t status;
    char why[SONDE__UPLOAD_WHY]; /* "" for DONE */
    char need[SONDE__UPLOAD_NEED_MAX][SONDE__UPLOAD_NEED_TEXT];
    uint32_t need_count;
};

/* id, coding: of the request; the answer may repeat the id. */
void sonde__upload_judge(const struct sonde__upload_reply *reply,
                         const struct sonde__upload_address *address, const char *id,
                         enum sonde_upload_coding coding, int64_t now_unix_s,
                         struct sonde__upload_verdict *ret_verdict);

#endif
