// SPDX-License-Identifier: Apache-2.0
/* A stall that is copied into a report whose dictionaries have other ids. */
#include "report_copy.h"
#include "report_model.h"
#include "test.h"

static uint32_t string(struct sonde__report *report, const char *text)
{
    return sonde__report_string(report, text);
}

/* main(), with an inlined call, on a thread of its own. */
static uint32_t add_stack(struct sonde__report *report)
{
    const struct sonde__report_image image = {.path = string(report, "/opt/app")};
    const struct sonde__report_inlined inlined = {
        .name = string(report, "inner"), .file = string(report, "inner.c"), .line = 7};
    const struct sonde__report_frame frame = {
        .image = sonde__report_add_image(report, &image),
        .offset = 0x1234,
        .name = string(report, "main"),
        .file = string(report, "main.c"),
        .inlined = &inlined,
        .inlined_count = 1,
    };
    return sonde__report_add_node(report, 0, sonde__report_add_frame(report, &frame));
}

static void check_texts(const struct sonde__report *r, const struct sonde__report_stall *stall)
{
    const struct sonde__report_node *node = sonde__report_node(r, stall->samples[0].stack);
    const struct sonde__report_frame *frame = sonde__report_frame(r, node->frame);
    CHECK_STR(sonde__report_text(r, stall->thread_name), "ui");
    CHECK_STR(sonde__report_text(r, stall->loop_detail), "epoll of 3");
    CHECK_STR(sonde__report_text(r, stall->loop_phase), "timers");
    CHECK_STR(sonde__report_text(r, stall->mode), "modal");
    CHECK_STR(sonde__report_text(r, stall->fingerprint), "1:ab");
    CHECK_STR(sonde__report_text(r, stall->samples[0].detail), "fd 7");
    CHECK_STR(sonde__report_text(r, stall->threads[0].name), "worker");
    CHECK_STR(sonde__report_text(r, stall->threads[0].note), "not read");
    CHECK_STR(sonde__report_text(r, stall->threads[0].detail), "fd 8");
    CHECK_STR(sonde__report_text(r, stall->threads[0].queue), "queue");
    CHECK_STR(sonde__report_text(r, stall->waits[0].resource), "mutex 1");
    CHECK_STR(sonde__report_text(r, stall->waits[0].peer), "peer");
    CHECK_STR(sonde__report_text(r, stall->uncovered[0].detail), "disk");
    CHECK_STR(sonde__report_text(r, frame->name), "main");
    CHECK_STR(sonde__report_text(r, frame->file), "main.c");
    CHECK_STR(sonde__report_text(r, frame->inlined[0].name), "inner");
    CHECK_STR(sonde__report_text(r, frame->inlined[0].file), "inner.c");
    CHECK_STR(sonde__report_text(r, sonde__report_image(r, frame->image)->path), "/opt/app");
    CHECK_EQ(sonde__report_node(r, stall->threads[0].stack)->frame, node->frame);
}

TEST(copied_stall_has_the_texts_of_the_original)
{
    struct sonde__report *from, *to;
    struct sonde__report_copy *copy;
    struct sonde__report_stall copied;
    CHECK_OK(sonde__report_create(&from));
    CHECK_OK(sonde__report_create(&to));
    uint32_t stack = add_stack(from);
    const struct sonde__report_sample sample = {.stack = stack, .detail = string(from, "fd 7")};
    const struct sonde__report_thread thread = {.name = string(from, "worker"),
                                                .note = string(from, "not read"),
                                                .detail = string(from, "fd 8"),
                                                .queue = string(from, "queue"),
                                                .stack = stack};
    const struct sonde__report_wait wait = {.resource = string(from, "mutex 1"),
                                            .peer = string(from, "peer")};
    const struct sonde__report_uncovered uncovered = {.detail = string(from, "disk")};
    const struct sonde__report_stall stall = {
        .thread_name = string(from, "ui"),
        .loop_detail = string(from, "epoll of 3"),
        .loop_phase = string(from, "timers"),
        .mode = string(from, "modal"),
        .fingerprint = string(from, "1:ab"),
        .samples = &sample,
        .sample_count = 1,
        .threads = &thread,
        .thread_count = 1,
        .waits = &wait,
        .wait_count = 1,
        .uncovered = &uncovered,
        .uncovered_count = 1,
    };
    sonde__report_add_stall(from, &stall);
    (void)string(to, "what moves all ids");
    (void)string(to, "worker");
    CHECK_OK(sonde__report_copy_create(from, to, &copy));
    CHECK(sonde__report_copy_stall(copy, 0, &copied));
    sonde__report_add_stall(to, &copied);
    sonde__report_copy_destroy(copy);
    sonde__report_destroy(from);
    check_texts(to, sonde__report_stall(to, 0));
    sonde__report_destroy(to);
}

/* A chain of two tasks that await the one that runs. */
static uint32_t add_tasks(struct sonde__report *report)
{
    static const char *const names[] = {"Task-1", "client 3", "order 7"};
    uint32_t node = 0;
    for (unsigned i = 0; i < 3; i++) {
        const struct sonde__report_frame frame = {
            .kind = SONDE__REPORT_FRAME_SCRIPT, .name = string(report, names[i]), .line = i + 1};
        const struct sonde__report_node outer = {.frame = sonde__report_add_frame(report, &frame),
                                                 .awaiter = node,
                                                 .task = string(report, names[i])};
        node = sonde__report_add_node_value(report, &outer);
        const struct sonde__report_frame inner = {
            .kind = SONDE__REPORT_FRAME_SCRIPT, .name = string(report, "await"), .line = i + 10};
        node = sonde__report_add_node(report, node, sonde__report_add_frame(report, &inner));
    }
    return node;
}

TEST(copied_stack_has_its_awaiters)
{
    static const char *const names[] = {"order 7", "client 3", "Task-1"};
    struct sonde__report *from, *to;
    struct sonde__report_copy *copy;
    CHECK_OK(sonde__report_create(&from));
    CHECK_OK(sonde__report_create(&to));
    (void)string(to, "other ids");
    (void)add_stack(to);
    (void)add_stack(from);
    struct sonde__report_sample samples[2] = {{.stack = add_tasks(from)}};
    samples[1].stack = samples[0].stack;
    const struct sonde__report_stall stall = {.samples = samples, .sample_count = 2};
    struct sonde__report_stall copied;
    sonde__report_add_stall(from, &stall);
    CHECK_OK(sonde__report_copy_create(from, to, &copy));
    CHECK(sonde__report_copy_stall(copy, 0, &copied));
    uint32_t node = copied.samples[0].stack;
    CHECK_EQ(copied.samples[1].stack, node);
    for (unsigned i = 0; i < 3; i++) {
        const struct sonde__report_node *outer =
            sonde__report_node(to, sonde__report_node(to, node)->parent);
        CHECK_STR(sonde__report_text(to, outer->task), names[i]);
        node = outer->awaiter;
    }
    CHECK_EQ(node, 0);
    sonde__report_copy_destroy(copy);
    sonde__report_destroy(to);
    sonde__report_destroy(from);
}
