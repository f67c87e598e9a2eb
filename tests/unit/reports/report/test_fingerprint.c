// SPDX-License-Identifier: Apache-2.0
/* Stalls with equal and with different fingerprints. tests/integration/groups has real stalls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_canonical.h"
#include "report_fingerprint.h"
#include "sample.h"
#include "test.h"

TEST(fingerprint_names_of_parts_and_clones_are_that_of_the_function)
{
    static const struct {
        const char *name, *function;
    } cases[] = {
        {"work", "work"},
        {"work.cold", "work"},
        {"work.part.0", "work"},
        {"work.isra.0", "work"},
        {"work.constprop.12", "work"},
        {"work.constprop.0.isra.3.cold", "work"},
        {"_ZN3App4workEv.part.0", "_ZN3App4workEv"},
        {"work.llvm.1234567890", "work"},
        {"work.lto_priv.0", "work"},
        {"main.handler.func1", "main.handler.func1"}, /* Go */
        {"work.0", "work.0"},                         /* a nested function of GCC's */
        {".cold", ".cold"},
        {"cold", "cold"},
        {"part.0", "part.0"},
        {"", ""},
        {".", "."},
        {"0", "0"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5write"},
        {"_ZN4core3fmt5write17h0123456789abcdeXE", "_ZN4core3fmt5write17h0123456789abcdeXE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[64];
        snprintf(found, sizeof found, "%.*s", (int)sonde__report_canonical_function(cases[i].name),
                 cases[i].name);
        CHECK_STR(found, cases[i].function);
    }
    CHECK_EQ(sonde__report_canonical_library("libgtk-3.so.0.2404.27"), strlen("libgtk-3.so"));
    CHECK_EQ(sonde__report_canonical_library("plugin.so"), strlen("plugin.so"));
}

/* The published test vectors of FNV-1a, 128 bits. */
TEST(fingerprint_hash_is_fnv)
{
    static const char *const vectors[][2] = {{"", "6c62272e07bb014262b821756295c58d"},
                                             {"a", "d228cb696f1a8caf78912b704e4a8964"},
                                             {"foobar", "343e1662793c64bf6f0d3597ba446f18"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct sonde__report_hash hash;
        char text[33];
        sonde__report_hash_init(&hash);
        sonde__report_hash_add(&hash, vectors[i][0], strlen(vectors[i][0]));
        sonde__report_hash_text(&hash, text);
        CHECK_STR(text, vectors[i][1]);
    }
}

enum { APP = 1, LIBC, GLIB, GTK };

static struct sonde__report *make_report(void)
{
    static const char *const paths[] = {"/opt/app/server", "/usr/lib/libc.so.6",
                                        "/usr/lib/libglib-2.0.so.0.7400.6",
                                        "/usr/lib/libgtk-3.so.0.2404.27"};
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &(struct sonde__report_header){.kind = 2, .arch = "x86_64"});
    for (unsigned i = 0; i < 4; i++) {
        struct sonde__report_image image = {.path = sonde__report_string(r, paths[i]),
                                            .flags = i == 0 ? SONDE__IMAGE_MAIN : 0};
        CHECK_EQ(sonde__report_add_image(r, &image), i + 1);
    }
    return r;
}

/* A stack of functions "IMAGE:NAME", outermost first, separated by blanks; the digit is the image.
 */
static uint32_t make_stack(struct sonde__report *r, const char *functions)
{
    char copy[512], *rest = NULL;
    uint32_t node = 0;
    snprintf(copy, sizeof copy, "%s", functions);
    for (char *f = strtok_r(copy, " ", &rest); f != NULL; f = strtok_r(NULL, " ", &rest)) {
        node = sample_push(r, node, (uint32_t)(f[0] - '0'), f + 2,
                           0x1000 + (uint64_t)(f - copy) * 16, SONDE_FOUND_CFI);
    }
    return node;
}

static char *text_of(const char *functions, int64_t syscall, const char *thread)
{
    struct sonde__report *r = make_report();
    struct sonde__report_fingerprint fingerprint;
    const struct sonde__report_sample sample = {
        .weight_ns = 1000, .stack = make_stack(r, functions), .syscall = syscall};
    const struct sonde__report_stall stall = {.samples = &sample,
                                              .sample_count = 1,
                                              .main = thread == NULL,
                                              .thread_name = sonde__report_string(r, thread)};
    CHECK_OK(sonde__report_fingerprint(r, &stall, &fingerprint));
    CHECK_CONTAINS(fingerprint.id, "1:");
    CHECK_EQ(strlen(fingerprint.id), 34);
    char *text = strdup(fingerprint.text);
    sonde__report_fingerprint_done(&fingerprint);
    sonde__report_destroy(r);
    return text;
}

TEST(fingerprint_text_says_what_is_grouped_by)
{
    static const struct {
        const char *functions;
        int64_t syscall;
        const char *thread, *text;
    } cases[] = {
        {"1:_start 2:__libc_start_main 1:main 1:load 1:parse", 0, NULL,
         "stall loop\nthread main\nfunction load\nfunction parse\n"},
        /* recursion, also through several functions, counts once; clones count as their function */
        {"1:main 1:load 1:visit 1:visit.part.0 1:visit_dir 1:visit 1:visit_dir 1:parse.isra.0", 0,
         NULL,
         "stall loop\nthread main\nfunction load\nfunction visit\nfunction visit_dir\n"
         "function parse\n"},
        /* neither libraries in between nor the spelling of a call count */
        {"1:main 3:g_main_loop_run 1:on_click 2:fsync", 75, NULL,
         "stall loop\nthread main\nfunction on_click\nblocked in sync\n"},
        {"1:main 1:nap 2:clock_nanosleep", 231, NULL,
         "stall loop\nthread main\nfunction nap\nblocked in sleep\n"},
        /* without a function of the program: the function that the loop dispatched, and the
         * library */
        {"1:main 3:g_main_loop_run 3:g_main_dispatch 4:gtk_draw 2:read", 1, NULL,
         "stall loop\nthread main\ncalls gtk_draw library libgtk-3.so\nblocked in read\n"},
        {"1:main 2:usleep 2:nanosleep", 36, NULL,
         "stall loop\nthread main\nlibrary libc.so\nblocked in sleep\n"},
        /* threads of a pool have one role */
        {"2:clone 1:work", 0, "pool-12-worker-7",
         "stall loop\nthread pool-#-worker-#\nfunction work\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = text_of(cases[i].functions, cases[i].syscall, cases[i].thread);
        CHECK_STR(text, cases[i].text);
        free(text);
    }
}

/* Most time counts, not most samples; samples without a stack do not. */
TEST(fingerprint_follows_the_time)
{
    struct sonde__report *r = make_report();
    struct sonde__report_fingerprint fingerprint;
    struct sonde__report_sample samples[30] = {{0}};
    uint32_t load = make_stack(r, "1:main 1:load"), save = make_stack(r, "1:main 1:save");
    for (unsigned i = 0; i < 30; i++) {
        samples[i].stack = i < 20 ? load : i < 29 ? save : 0;
        samples[i].weight_ns = i < 20 ? 10 : 1000;
    }
    samples[29].weight_ns = 1000000;
    struct sonde__report_stall stall = {.samples = samples, .sample_count = 30, .main = true};
    CHECK_OK(sonde__report_fingerprint(r, &stall, &fingerprint));
    CHECK_STR(fingerprint.text, "stall loop\nthread main\nfunction save\n");
    sonde__report_fingerprint_done(&fingerprint);
    samples[20].stack = samples[21].stack = samples[22].stack = load; /* now about half */
    CHECK_OK(sonde__report_fingerprint(r, &stall, &fingerprint));
    CHECK_STR(fingerprint.text, "stall loop\nthread main\n");
    sonde__report_fingerprint_done(&fingerprint);
    /* without samples: the writer's value */
    stall = (struct sonde__report_stall){.fingerprint = sonde__report_string(r, "1:abc")};
    CHECK_OK(sonde__report_fingerprint(r, &stall, &fingerprint));
    CHECK_STR(fingerprint.id, "1:abc");
    CHECK(fingerprint.text == NULL);
    sonde__report_fingerprint_done(&fingerprint);
    sonde__report_destroy(r);
}
