// SPDX-License-Identifier: Apache-2.0
#include "made.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

struct made made_recording(void)
{
    return made_recording_of("/opt/app");
}

struct made made_recording_of(const char *program)
{
    const struct sonde__report_header header = {.kind = SONDE__REPORT_CALLS, .executable = program};
    struct made made = {0};
    CHECK_OK(sonde__report_create(&made.report));
    sonde__report_set_header(made.report, &header);
    struct sonde__report_image image = {.path = sonde__report_string(made.report, program),
                                        .flags = SONDE__IMAGE_MAIN | SONDE__REPORT_IMAGE_APP};
    made.app = sonde__report_add_image(made.report, &image);
    image = (struct sonde__report_image){
        .path = sonde__report_string(made.report, "/usr/lib/libc.so.6"),
        .flags = SONDE__REPORT_IMAGE_SYSTEM};
    made.library = sonde__report_add_image(made.report, &image);
    return made;
}

/* The words of a stack. */
enum { WORDS = 32, WORD_BYTES = 64 };
struct words {
    char list[WORDS][WORD_BYTES];
    unsigned count;
};

static void split(const char *text, struct words *words)
{
    words->count = 0;
    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        CHECK(words->count < WORDS && size < WORD_BYTES);
        memcpy(words->list[words->count], text, size);
        words->list[words->count++][size] = '\0';
        text += size + strspn(text + size, " ");
    }
}

/* "+0x40" is a function without a name that begins there. */
static struct sonde__report_frame frame_of(const struct made *made, const char *word)
{
    bool is_library = *word == '@', is_tail = *word == '>' || *word == '?';
    const char *name = word + (is_library || is_tail);
    struct sonde__report_frame frame = {.image = is_library ? made->library : made->app,
                                        .how = SONDE_FOUND_CFI,
                                        .kind = is_tail ? SONDE__REPORT_FRAME_TAIL_CALL
                                                        : SONDE__REPORT_FRAME_PHYSICAL,
                                        .alternatives = *word == '?' ? 2 : 0,
                                        .offset = strlen(word)};
    if (*name == '+') {
        frame.offset = strtoul(name + 1, NULL, 16) + 4;
        frame.name_offset = 4;
    } else {
        frame.name = sonde__report_string(made->report, name);
        frame.file = made->has_debug_info ? sonde__report_string(made->report, "app.c") : 0;
    }
    return frame;
}

/* Add the function at `at` with the calls inlined into it; returns its node. */
static uint32_t push(const struct made *made, const struct words *words, unsigned at,
                     uint32_t parent, uint32_t tail)
{
    struct sonde__report_inlined inlined[WORDS];
    struct sonde__report_frame frame = frame_of(made, words->list[at]);
    unsigned end = at + 1;
    while (end < words->count && words->list[end][0] == '~') {
        end++;
    }
    frame.inlined_count = end - at - 1;
    for (unsigned i = 0; i < frame.inlined_count; i++) { /* innermost first */
        inlined[i] = (struct sonde__report_inlined){
            .name = sonde__report_string(made->report, words->list[end - 1 - i] + 1)};
    }
    frame.inlined = inlined;
    uint32_t id = sonde__report_add_frame(made->report, &frame);
    return sonde__report_add_node_after(made->report, parent, id, &tail, tail != 0);
}

uint32_t made_stack(const struct made *made, const char *functions)
{
    struct words words;
    uint32_t node = 0, tail = 0;
    split(functions, &words);
    for (unsigned i = 0; i < words.count; i++) {
        const char *word = words.list[i];
        if (*word == '~') {
            continue;
        }
        if (*word == '>' || *word == '?') {
            const struct sonde__report_frame frame = frame_of(made, word);
            tail = sonde__report_add_frame(made->report, &frame);
            continue;
        }
        node = push(made, &words, i, node, tail);
        tail = 0;
    }
    return node;
}

void made_call(const struct made *made, const char *function, uint32_t rule, const char *functions,
               uint64_t count)
{
    const struct sonde__report_call call = {.function =
                                                sonde__report_string(made->report, function),
                                            .stack = made_stack(made, functions),
                                            .count = count,
                                            .rule = rule,
                                            .end = SONDE_END_ROOT};
    sonde__report_add_call(made->report, &call);
}

uint32_t made_rule(const struct made *made, const char *name, uint32_t severity)
{
    const struct sonde__report_rule rule = {.name = sonde__report_string(made->report, name),
                                            .severity = severity};
    return sonde__report_add_rule(made->report, &rule);
}
