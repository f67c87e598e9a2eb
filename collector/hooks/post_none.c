// SPDX-License-Identifier: Apache-2.0
/* Without libcurl nothing is sent. */
#include <stddef.h>

#include "post.h"

bool posts_are_there(void)
{
    return false;
}

struct posts *posts_begin(const struct posts_options *options)
{
    (void)options;
    return NULL;
}

void posts_end(struct posts *posts)
{
    (void)posts;
}

bool posts_add(struct posts *posts, const struct post *post)
{
    (void)posts, (void)post;
    return false;
}

void posts_wait(struct posts *posts, unsigned timeout_ms, posts_each *each, void *ctx)
{
    (void)posts, (void)timeout_ms, (void)each, (void)ctx;
}

void posts_wake(struct posts *posts)
{
    (void)posts;
}
