// SPDX-License-Identifier: Apache-2.0
/* What came back of one request, and what it means (docs/protocol.md). The meaning is a pure
 * function of the answer and the time; the answer is a server's, or that of whoever stands between.
 */
#ifndef SONDE_UPLOAD_ANSWER_H
#define SONDE_UPLOAD_ANSWER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <sonde/upload.h>

#include "upload_address.h"

/* The version of docs/protocol.md that this sender speaks. */
#define SONDE__UPLOAD_VERSION "1"

/* More of an answer is not read: a list of build-ids fits, a web page need not. */
#define SONDE__UPLOAD_BODY_MAX  65536u
#define SONDE__UPLOAD_NEED_MAX  256u /* build-ids of one answer; further ones are in the next */
#define SONDE__UPLOAD_NEED_TEXT 72u  /* hexadecimal digits; longer ones are none of ours */
#define SONDE__UPLOAD_WHY       192u

struct sonde__upload_reply {
    struct sonde_upload_reply to; /* what the transport sees; first */
    const _Atomic uint32_t *stop; /* not 0: nobody waits for the answer; null: always wanted */
    int32_t status;               /* 0: none */
    enum sonde_upload_failure failure;
    char why[SONDE__UPLOAD_WHY]; /* of the failure */
    /* headers, cut; "" without */
    char retry_after[64], date[64], rate_limits[512], accept_encoding[128], version[16],
        content_type[64];
    uint32_t body_bytes;
    bool is_long; /* the body was longer */
    char body[SONDE__UPLOAD_BODY_MAX];
};

/* Ready for an answer. */
void sonde__upload_reply_clear(struct sonde__upload_reply *reply, const _Atomic uint32_t *stop);
bool sonde__upload_reply_is_wanted(const struct sonde__upload_reply *reply);

enum sonde__upload_meaning {
    SONDE__UPLOAD_DONE,
    SONDE__UPLOAD_RECODE,  /* not in this content coding: at once again in `coding` */
    SONDE__UPLOAD_RETRY,   /* the server or the way to it is in trouble */
    SONDE__UPLOAD_REFUSAL, /* this report will never be taken */
    SONDE__UPLOAD_STOP,    /* nothing will be taken here until somebody changes something */
};

struct sonde__upload_verdict {
    enum sonde__upload_meaning meaning;
    enum sonde_upload_coding coding; /* RECODE */
    uint32_t wait_s; /* the server wants no request for so long; 0: it does not say */
    int32_t status;
    char why[SONDE__UPLOAD_WHY]; /* "" for DONE */
    char need[SONDE__UPLOAD_NEED_MAX][SONDE__UPLOAD_NEED_TEXT];
    uint32_t need_count;
};

/* id: of what was sent, as the answer may repeat it; coding: in which. */
void sonde__upload_judge(const struct sonde__upload_reply *reply,
                         const struct sonde__upload_address *address, const char *id,
                         enum sonde_upload_coding coding, int64_t now_unix_s,
                         struct sonde__upload_verdict *ret_verdict);

#endif
