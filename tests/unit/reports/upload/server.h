// SPDX-License-Identifier: Apache-2.0
/* A collector in memory, behind a transport table, and a clock that only tests advance. */
#ifndef TEST_UPLOAD_SERVER_H
#define TEST_UPLOAD_SERVER_H

#include "upload_sender.h"

enum { SERVER_STORED_MAX = 64 };

/* Answers to the next requests; later requests get the last one. */
struct server_answer {
    int32_t status; /* 0: none */
    enum sonde_upload_failure failure;
    const char *header; /* or null */
    bool is_lost;       /* the report is stored, but the answer gets lost */
};

struct server {
    struct server_answer answers[64];
    unsigned answer_count, request_count;
    char stored[SERVER_STORED_MAX][40]; /* ids, each once */
    unsigned stored_count, repeated_count;
    char last_id[40], last_headers[2048];
    size_t last_bytes;
    const char *poison; /* an id that always gets a 500 */
    void (*on_request)(struct server *server);
    int64_t now_s;
    uint64_t now_ns, last_timeout_ns;
    uint32_t chance;
    enum sonde_upload_metered metered;
    size_t compressed_to; /* 0: nothing is compressed */
    struct sonde_upload_transport transport;
    struct sonde__upload_env env;
};

void server_start(struct server *server);
/* Give this answer after those that are there. */
void server_then(struct server *server, struct server_answer answer);
/* A sender to it, from the folder of runs.h. */
struct sonde__upload_sender server_sender(struct server *server, const char *to,
                                          const struct sonde_upload_options *more);
/* One pass of a new sender. */
struct sonde_upload_result server_pass(struct server *server);
struct sonde_upload_result server_hasty_pass(struct server *server);

#endif
