// SPDX-License-Identifier: Apache-2.0
/* Messages over HTTP, several at a time: bounded in time and in what is read of an answer.
 * Redirects are not followed. Context: one thread at a time, but for posts_wake(). */
#ifndef SONDE_COLLECTOR_POST_H
#define SONDE_COLLECTOR_POST_H

#include "hook.h"

struct posts;

struct posts_options {
    uint32_t seconds;    /* for one message, from its address on */
    bool is_public_only; /* only to addresses of the public internet (address.h) */
};

/* Null: no memory, or the program was built without libcurl (posts_are_there()). Ownership:
 * posts_end(), which drops those that are under way. */
struct posts *posts_begin(const struct posts_options *options);
void posts_end(struct posts *posts);
bool posts_are_there(void);

struct post {
    const char *url, *id, *body; /* they stay until it is over */
    const struct hook_secret *secret;
    uint64_t now_s; /* since 1970 */
    void *ctx;
};
/* False: it could not begin: no memory, or a wrong URL. */
bool posts_add(struct posts *posts, const struct post *post);

struct post_result {
    void *ctx;
    unsigned status;        /* 0: there is no answer, and */
    const char *why;        /* says why */
    uint64_t retry_after_s; /* of the answer; 0: none */
};
typedef void posts_each(void *ctx, const struct post_result *result);
/* Go on for so long, or until one is over; `each` is called for those that are. */
void posts_wait(struct posts *posts, unsigned timeout_ms, posts_each *each, void *ctx);
/* End a posts_wait(). Context: any thread. */
void posts_wake(struct posts *posts);

#endif
