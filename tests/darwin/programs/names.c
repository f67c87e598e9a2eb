// SPDX-License-Identifier: Apache-2.0
/* A function that spins, seen from another thread: the text has its name, its class and its image,
 * in the format of BSBacktraceLogger, and what it says about each frame is what the compiler's
 * addresses say. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/symbol.h>
#include <sonde/text.h>
#include <sonde/thread.h>

#include "workers.h"

enum { LINES_MAX = 64 };

struct view_controller {
    volatile int is_over, is_ready;
    uint64_t tid;
};

/* The names that clang gives to methods of Objective-C. */
void bar(struct view_controller *self) __asm__("-[VC bar]");
void foo(struct view_controller *self) __asm__("-[VC foo]");
void share(struct view_controller *self) __asm__("+[VC(Sharing) shareWith:]");

__attribute__((noinline)) void bar(struct view_controller *self)
{
    self->is_ready = 1;
    while (!self->is_over) {
    }
}

__attribute__((noinline)) void foo(struct view_controller *self)
{
    bar(self);
    self->is_ready++;
}

__attribute__((noinline)) void share(struct view_controller *self)
{
    foo(self);
    self->is_ready++;
}

__attribute__((noinline)) static void *run_controller(void *argument)
{
    struct view_controller *controller = argument;
    controller->tid = sonde_thread_self();
    share(controller);
    return argument;
}

/* "names                          0x104a3bf20 -[VC bar] + 32" */
static void check_line(const char *line, const char *name, uint64_t start)
{
    const char *address = strstr(line, " 0x"), *at = strstr(line, name);
    const char *plus = at != NULL ? strstr(at, " + ") : NULL;
    int is_right = strncmp(line, "names ", 6) == 0 && address != NULL && plus != NULL &&
                   plus == at + strlen(name);
    if (is_right) {
        uint64_t pc = strtoul(address + 3, NULL, 16), offset = strtoul(plus + 3, NULL, 10);
        is_right = pc - offset == start && offset > 0 && offset < 200;
    }
    CHECK(is_right);
    if (!is_right) {
        printf("wanted %s at %lx, got: %s\n", name, (unsigned long)start, line);
    }
}

static void check_text(uint64_t tid)
{
    struct sonde_symbolizer *symbolizer = NULL;
    char *lines[LINES_MAX];
    unsigned count = 0;
    text_length = 0;
    CHECK(sonde_symbolizer_create(&symbolizer) == SONDE_OK);
    CHECK(sonde_thread_write(symbolizer, SONDE_STYLE_BS, tid, append, NULL) == SONDE_OK);
    for (char *at = text; *at != '\0' && count < LINES_MAX; count++) {
        lines[count] = at;
        at = strchr(at, '\n') != NULL ? strchr(at, '\n') : at + strlen(at);
        *at = '\0';
        at += at < text + text_length;
    }
    CHECK(count == 7 && strncmp(lines[0], "Backtrace of Thread ", 20) == 0);
    if (count == 7) { /* the last one is empty */
        check_line(lines[1], "-[VC bar]", (uint64_t)(uintptr_t)bar);
        check_line(lines[2], "-[VC foo]", (uint64_t)(uintptr_t)foo);
        check_line(lines[3], "+[VC(Sharing) shareWith:]", (uint64_t)(uintptr_t)share);
        check_line(lines[4], "run_controller", (uint64_t)(uintptr_t)run_controller);
        CHECK(strncmp(lines[5], "libSystem.dylib ", 16) == 0);
        CHECK(strstr(lines[5], " thread_start + ") != NULL);
    }
    sonde_symbolizer_destroy(symbolizer);
}

int main(void)
{
    struct view_controller controller = {.is_over = 0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_controller, &controller) == 0);
    while (!controller.is_ready) {
        usleep(10);
    }
    for (unsigned i = 0; i < 3; i++) {
        check_text(controller.tid);
    }
    check_nothing_is_left();
    controller.is_over = 1;
    pthread_join(thread, NULL);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
