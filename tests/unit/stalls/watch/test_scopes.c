// SPDX-License-Identifier: Apache-2.0
/* Deadline scopes in virtual time: a thread opens and closes scopes, the watch looks every 5 ms,
 * and the test compares its reports with the scopes. The scopes and their decisions are the real
 * ones; no sample is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os.h"
#include "probe_scope.h"
#include "test.h"
#include "watch_rounds.h"
#include "watch_scopes.h"
#include "watch_writer.h"

#define MS 1000000ull

enum { STALLS_MAX = 16, LOOK_MS = 5 };

struct told {
    char scope[SONDE__ENTRY_SCOPE_BYTES];
    uint64_t ms;
    bool open;
};

struct play {
    struct sonde__watch_session *session;
    struct sonde__probe_scopes *scopes;
    struct sonde__probe_page *page;
    struct sonde__probe_scoped *thread;
    uint64_t now_ns;
    uint32_t depth;
    struct told told[STALLS_MAX];
    uint32_t count;
};

static void on_stall(void *ctx, const struct sonde__entry_ended *ended,
                     const struct sonde__report *report, const struct sonde__report_view *view,
                     uint32_t index)
{
    struct play *play = ctx;
    (void)report;
    (void)view;
    (void)index;
    CHECK(play->count < STALLS_MAX);
    CHECK_EQ(ended->kind, 3); /* StallKind.STALL_SCOPE */
    struct told *told = &play->told[play->count++];
    snprintf(told->scope, sizeof told->scope, "%s", ended->scope);
    told->ms = ended->duration_ns / MS;
    told->open = ended->open;
}

static struct play *begin(void)
{
    struct play *play = calloc(1, sizeof *play);
    play->session = calloc(1, sizeof *play->session);
    play->scopes = aligned_alloc(128, sizeof *play->scopes);
    play->page = aligned_alloc(128, sizeof *play->page);
    memset(play->scopes, 0, sizeof *play->scopes);
    memset(play->page, 0, sizeof *play->page);
    play->now_ns = 1000 * MS;
    struct sonde__watch_session *s = play->session;
    s->options = (struct sonde__watch_options){.tool = "test",
                                               .threshold_ns = 250 * MS,
                                               .report_fd = -1,
                                               .on_stall = on_stall,
                                               .ctx = play};
    s->page = play->page;
    s->scopes = play->scopes;
    s->pid = getpid();
    s->begin_ns = play->now_ns;
    s->sampler_retry_ns = UINT64_MAX; /* no samples */
    s->means = SONDE__DECIDE_RICH;
    CHECK_OK(sonde__watch_writer_create(&s->options, s->pid, &s->writer));
    play->page->late_ns = (int64_t)(60 * MS);
    atomic_store(&play->page->looked_ns, play->now_ns);
    play->thread = sonde__probe_claim_scopes(play->scopes, sonde__os_tid());
    return play;
}

static uint32_t enter(struct play *play, const char *label, uint64_t limit_ms)
{
    sonde__probe_open_scope(play->page, play->scopes, &play->thread->levels[play->depth],
                            (uint64_t)(uintptr_t)label, 0, (int64_t)(limit_ms * MS), play->now_ns);
    return ++play->depth;
}

static void leave(struct play *play)
{
    struct sonde__probe_slot *slot = &play->thread->levels[--play->depth];
    if (sonde__probe_scope_is_stamped(slot)) {
        sonde__probe_close_scope_stamped(slot, play->now_ns);
    } else {
        sonde__probe_close_scope(slot);
    }
}

static void look(struct play *play)
{
    bool busy = false;
    play->session->due_ns = atomic_load(&play->page->looked_ns) + LOOK_MS * MS;
    atomic_store(&play->page->looked_ns, play->now_ns);
    play->session->rested_ns = play->session->before_ns = play->session->due_ns - LOOK_MS * MS;
    play->session->woken_ns = play->now_ns;
    (void)sonde__watch_scopes_inspect(play->session, play->now_ns, &busy);
    CHECK_EQ(busy, play->depth > 0);
}

/* Let time pass while the watch looks. */
static void pass(struct play *play, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i += LOOK_MS) {
        play->now_ns += LOOK_MS * MS;
        look(play);
    }
}

static void end(struct play *play)
{
    struct sonde__decide_turns turns = {0};
    sonde__watch_scopes_finish(play->session);
    sonde__sampler_trace_close(&play->session->trace);
    sonde__watch_writer_finish(play->session->writer, 0, 0, &turns);
    free(play->session);
    free(play->scopes);
    free(play->page);
}

static void expect(const struct play *play, uint32_t index, const char *scope, uint64_t ms)
{
    CHECK(index < play->count);
    CHECK_STR(play->told[index].scope, scope);
    CHECK(play->told[index].ms + LOOK_MS >= ms && play->told[index].ms <= ms + LOOK_MS);
}

TEST(a_scope_within_its_limit_is_not_reported)
{
    struct play *play = begin();
    for (unsigned i = 0; i < 50; i++) {
        enter(play, "quick", 100);
        pass(play, 90);
        leave(play);
        pass(play, i % 3 * 5);
    }
    end(play);
    CHECK_EQ(play->count, 0);
    free(play);
}

TEST(a_scope_over_its_limit_is_reported_with_its_label)
{
    struct play *play = begin();
    enter(play, "save", 100);
    pass(play, 300);
    leave(play);
    pass(play, 5);
    enter(play, "load", 1000);
    pass(play, 900);
    leave(play);
    pass(play, 5);
    end(play);
    CHECK_EQ(play->count, 1);
    expect(play, 0, "\"save\", limit 100 ms", 300);
    free(play);
}

/* The time of inner scopes counts for the outer one, and does not move its deadline. */
TEST(an_outer_scope_is_judged_by_its_own_deadline)
{
    struct play *play = begin();
    enter(play, "document", 500);
    for (unsigned i = 0; i < 20; i++) {
        enter(play, "page", 100);
        pass(play, 40);
        leave(play);
    }
    leave(play);
    pass(play, 5);
    end(play);
    CHECK_EQ(play->count, 1);
    expect(play, 0, "\"document\", limit 500 ms", 800);
    free(play);
}

TEST(one_hang_in_two_scopes_is_one_report_of_the_inner_one)
{
    struct play *play = begin();
    enter(play, "document", 500);
    pass(play, 50);
    enter(play, "page", 100);
    pass(play, 700);
    leave(play);
    pass(play, 50);
    leave(play);
    pass(play, 5);
    end(play);
    CHECK_EQ(play->count, 1);
    expect(play, 0, "\"page\", limit 100 ms, in \"document\", limit 500 ms", 700);
    free(play);
}

/* Apart from the reported hang, the outer scope itself took too long. */
TEST(an_outer_scope_that_is_late_by_itself_is_reported_too)
{
    struct play *play = begin();
    enter(play, "document", 300);
    enter(play, "page", 100);
    pass(play, 200);
    leave(play);
    pass(play, 400);
    leave(play);
    pass(play, 5);
    end(play);
    CHECK_EQ(play->count, 2);
    expect(play, 0, "\"page\", limit 100 ms, in \"document\", limit 300 ms", 200);
    expect(play, 1, "\"document\", limit 300 ms", 600);
    free(play);
}

/* The watch gets no CPU from before the scope begins until after it has ended. */
TEST(an_unseen_scope_is_reported_by_its_stamps)
{
    struct play *play = begin();
    pass(play, 20);
    play->now_ns += 500 * MS; /* the watch is late, and the thread works elsewhere */
    enter(play, "quick", 100);
    play->now_ns += 10 * MS;
    leave(play);
    play->now_ns += 500 * MS;
    enter(play, "flush", 100);
    play->now_ns += 400 * MS;
    leave(play);
    play->now_ns += 500 * MS;
    look(play);
    end(play);
    CHECK_EQ(play->count, 1);
    expect(play, 0, "\"flush\", limit 100 ms", 400);
    free(play);
}

TEST(a_scope_that_is_open_at_the_end_is_reported)
{
    struct play *play = begin();
    enter(play, "forever", 100);
    pass(play, 400);
    end(play);
    CHECK_EQ(play->count, 1);
    CHECK(play->told[0].open);
    expect(play, 0, "\"forever\", limit 100 ms", 400);
    free(play);
}

/* The limit of the earlier scope does not count, whichever is shorter. */
TEST(each_scope_at_a_level_has_its_own_limit)
{
    struct play *play = begin();
    for (unsigned i = 0; i < 5; i++) {
        enter(play, "long", 1000);
        pass(play, 200);
        leave(play);
        enter(play, "short", 100);
        pass(play, 150);
        leave(play);
    }
    pass(play, 5);
    end(play);
    CHECK_EQ(play->count, 5);
    for (uint32_t i = 0; i < play->count; i++) {
        expect(play, i, "\"short\", limit 100 ms", 150);
    }
    free(play);
}
