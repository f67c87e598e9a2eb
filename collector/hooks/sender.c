// SPDX-License-Identifier: Apache-2.0
#include "sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "collector.h"
#include "say.h"

/* Messages under way, of as many hooks; and how often to look for others, which commands and other
 * collectors add, too. */
enum { AT_ONCE = 16, LOOK_MS = 1000 };
/* A message that was claimed is due again so long after the time that its try may take. */
#define LEASE_SECONDS 60u
#define SECOND_NS     ((uint64_t)1000000000u)
_Static_assert(2 * SECOND_NS * SCHEDULE_WAIT_MAX <= STORE_MESSAGE_WAIT_MAX_NS,
               "a message that waits is not taken for one of a clock that was set back");

struct sender {
    struct store *store;
    struct sender_options options;
    struct posts *posts;
    pthread_t thread;
    _Atomic bool is_ending;
    bool has_failed; /* the last question to the database */
    struct store_message messages[AT_ONCE];
    bool is_used[AT_ONCE];
    _Atomic uint64_t sent, failed, given_up, disabled;
};

/* --- the end of a try --- */

/* Is the try's failure final? */
static bool find_next(struct sender *s, const struct store_message *m, uint64_t retry_after_s,
                      struct store_answer *answer)
{
    uint32_t random = 0;
    uint64_t wait_ns;
    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    if (!schedule_wait(&s->options.schedule, m->tries, retry_after_s, random, &wait_ns)) {
        answer->what = STORE_MESSAGE_GIVEN_UP;
        return true;
    }
    answer->what = STORE_MESSAGE_LATER;
    answer->next_ns = answer->now_ns + wait_ns;
    return false;
}

static void say_failure(const struct store_message *m, const struct store_answer *answer)
{
    char next[48] = "it was the last try";
    if (answer->what == STORE_MESSAGE_LATER) {
        snprintf(next, sizeof next, "next try in %llu s",
                 (unsigned long long)((answer->next_ns - answer->now_ns) / SECOND_NS));
    }
    say_error("hook %lld: message %s, try %u: %s; %s", (long long)m->hook, m->id, m->tries,
              answer->text, next);
}

/* Keep what came of a try. A failure of the database is no matter: the message is due again, with
 * its id. */
static void settle(struct sender *s, const struct store_message *m, struct store_answer *answer)
{
    bool is_disabled = false;
    if (store_settle_message(s->store, m, answer, &is_disabled) != STORE_OK) {
        say_error("hook %lld: what came of message %s cannot be kept: %s", (long long)m->hook,
                  m->id, store_error());
        return;
    }
    if (is_disabled) {
        s->disabled++;
        say_error("hook %lld is disabled: %s", (long long)m->hook, answer->text);
    }
}

static void finish(struct sender *s, const struct store_message *m,
                   const struct post_result *result)
{
    char text[160];
    struct store_answer answer = {.now_ns = collector_now_ns(), .text = text};
    if (result->status != 0) {
        snprintf(text, sizeof text, "status %u", result->status);
    } else {
        snprintf(text, sizeof text, "%s", result->why);
    }
    if (result->status >= 200 && result->status < 300) {
        answer.what = STORE_MESSAGE_TAKEN;
        s->sent++;
    } else if (result->status == 410) {
        answer.what = STORE_MESSAGE_GONE;
        s->failed++;
    } else {
        s->given_up += find_next(s, m, result->retry_after_s, &answer);
        s->failed++;
        say_failure(m, &answer);
    }
    settle(s, m, &answer);
}

static void end_post(void *ctx, const struct post_result *result)
{
    struct sender *s = ctx;
    struct store_message *m = result->ctx;
    finish(s, m, result);
    store_free_message(m);
    s->is_used[m - s->messages] = false;
}

/* --- the beginning --- */

static bool is_under_way(const struct sender *s, int64_t hook)
{
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (s->is_used[i] && s->messages[i].hook == hook) {
            return true;
        }
    }
    return false;
}

static struct store_message *find_room(struct sender *s)
{
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (!s->is_used[i]) {
            return &s->messages[i];
        }
    }
    return NULL;
}

/* Messages to begin with now. */
struct due {
    struct sender *sender;
    int64_t messages[AT_ONCE];
    unsigned count;
};

static void take_due(void *ctx, int64_t hook, int64_t message)
{
    struct due *due = ctx;
    if (due->count < AT_ONCE && !is_under_way(due->sender, hook)) {
        due->messages[due->count++] = message;
    }
}

static void begin_post(struct sender *s, int64_t number)
{
    struct store_message *m = find_room(s);
    uint64_t now_ns = collector_now_ns();
    uint64_t until_ns = now_ns + (s->options.posts.seconds + LEASE_SECONDS) * SECOND_NS;
    if (m == NULL || store_claim_message(s->store, number, now_ns, until_ns, m) != STORE_OK) {
        return; /* another collector has it, or it waits for the next look */
    }
    const struct post post = {.url = m->url,
                              .id = m->id,
                              .body = m->body,
                              .secret = &m->secret,
                              .now_s = now_ns / SECOND_NS,
                              .ctx = m};
    s->is_used[m - s->messages] = true;
    if (!posts_add(s->posts, &post)) {
        const struct post_result result = {.ctx = m, .why = "no memory, or a wrong URL"};
        end_post(s, &result);
    }
}

static void begin_posts(struct sender *s)
{
    struct due due = {.sender = s};
    enum store_status status = store_due_messages(s->store, collector_now_ns(), take_due, &due);
    if (status != STORE_OK && !s->has_failed) {
        say_error("messages for hooks cannot be read: %s", store_error());
    }
    s->has_failed = status != STORE_OK;
    for (unsigned i = 0; i < due.count && status == STORE_OK; i++) {
        begin_post(s, due.messages[i]);
    }
}

/* What is under way is sent again after the next start, by this collector at once. */
static void leave(struct sender *s)
{
    const struct store_answer answer = {
        .what = STORE_MESSAGE_LATER, .now_ns = collector_now_ns(), .text = "the collector ended"};
    for (unsigned i = 0; i < AT_ONCE; i++) {
        if (s->is_used[i]) {
            bool is_disabled;
            (void)store_settle_message(s->store, &s->messages[i], &answer, &is_disabled);
            store_free_message(&s->messages[i]);
        }
    }
}

static void *work(void *ctx)
{
    struct sender *s = ctx;
    pthread_setname_np(pthread_self(), "sender");
    while (!s->is_ending) {
        begin_posts(s);
        posts_wait(s->posts, LOOK_MS, end_post, s);
    }
    return NULL;
}

int sender_start(struct store *store, const struct sender_options *options,
                 struct sender **ret_sender)
{
    *ret_sender = NULL;
    if (!posts_are_there()) {
        return 0;
    }
    struct sender *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return ENOMEM;
    }
    s->store = store;
    s->options = *options;
    s->posts = posts_begin(&options->posts);
    if (store_release_messages(store) != STORE_OK) { /* they are due later */
        say_error("messages of the last run cannot be released: %s", store_error());
    }
    int os_error = s->posts != NULL ? pthread_create(&s->thread, NULL, work, s) : ENOMEM;
    if (os_error != 0) {
        posts_end(s->posts);
        free(s);
        return os_error;
    }
    *ret_sender = s;
    return 0;
}

void sender_stop(struct sender *s)
{
    if (s == NULL) {
        return;
    }
    s->is_ending = true;
    posts_wake(s->posts);
    pthread_join(s->thread, NULL);
    posts_end(s->posts);
    leave(s);
    free(s);
}

struct sender_counts sender_counts(struct sender *s)
{
    return s == NULL ? (struct sender_counts){0}
                     : (struct sender_counts){s->sent, s->failed, s->given_up, s->disabled};
}
