// SPDX-License-Identifier: Apache-2.0
/* What answers about builds share. */
#ifndef SONDE_COLLECTOR_ANSWER_BUILDS_H
#define SONDE_COLLECTOR_ANSWER_BUILDS_H

#include "answers.h"
#include "declared.h"

/* A store_build without its text. */
struct answer_build {
    uint64_t reports, recorded, callers, devices, first_ns, last_ns;
    bool is_baseline;
};
/* ABSENT: the project has no such build. */
enum store_status answer_find_build(struct http_request *request, const char *name,
                                    struct answer_build *ret_build);

/* Compare the build of the path with its manifests. Ownership: declared_end(). */
enum store_status answer_compare(struct http_request *request, const struct answer_build *build,
                                 struct declared **ret_declared);

/* Members of the current object: what calls are, and their numbers. */
void answer_put_call(struct sonde__json *json, const struct store_call *call);
void answer_put_call_sum(struct sonde__json *json, const struct store_call_sum *sum);

#endif
