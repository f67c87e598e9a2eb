// SPDX-License-Identifier: Apache-2.0
/* A program in C that runs goroutines by a library. Prints what test_go.c checks. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/stack.h>

#include "take.h"

static struct {
    void (*start_work)(void);
    uint64_t (*collections)(void);
    int (*is_function)(uint64_t pc, const char *name);
    void (*call_c)(void *function, int elsewhere);
} go;

#ifdef HOST_LOADS
static void *find(const char *name)
{
    static void *library;
    void *at = NULL;
    if (library == NULL) {
        library = dlopen("./libwork.so", RTLD_NOW);
    }
    if (library == NULL || (at = dlsym(library, name)) == NULL) {
        puts(dlerror());
        exit(1);
    }
    return at;
}
#    define FIND(function_, name_)                                                                 \
        do {                                                                                       \
            void *at_ = find(#name_);                                                              \
            memcpy(&(function_), &at_, sizeof at_);                                                \
        } while (0)
#else
void StartWork(void);
uint64_t Collections(void);
int IsFunction(uint64_t pc, const char *name);
void CallC(void *function, int elsewhere);
#    define FIND(function_, name_) (function_) = name_
#endif

static struct sonde_stack stack;
static uint64_t pcs[64];
static uint8_t how[64];
static int thread;

/* C that Go calls. */
static __attribute__((noinline)) void called_by_go(void)
{
    thread = gettid();
    sonde_stack_init(&stack, pcs, how, 64, 0);
    if (sonde_stack_capture(&stack, 0) != SONDE_OK) {
        stack.count = 0;
    }
}

/* 1: the stack has the C functions, then the place where Go's runtime left its own stack, then only
 * Go's frames as far as the walk goes. */
static int is_call_from_go(void)
{
    uint32_t at = 0;
    if (stack.count == 0 || pcs[0] - (uintptr_t)&called_by_go > 512) {
        return 0;
    }
    while (at < stack.count && !go.is_function(pcs[at], "runtime.asmcgocall")) {
        at++;
    }
    if (at == 0 || at > 3 || at == stack.count) {
        return 0;
    }
    for (; at < stack.count; at++) {
        Dl_info info;
        if (!go.is_function(pcs[at] - 1, NULL) &&
            dladdr((void *)(uintptr_t)(pcs[at] - 1), &info) == 0) {
            return 0;
        }
    }
    return 1;
}

static int check_call(int elsewhere)
{
    void (*function)(void) = called_by_go;
    void *address;
    memcpy(&address, &function, sizeof address);
    stack.count = 0;
    go.call_c(address, elsewhere);
    for (uint32_t i = 0; i < stack.count; i++) {
        fprintf(stderr, "%#llx ", (unsigned long long)pcs[i]);
    }
    fprintf(stderr, "by thread %d, %#llx\n", thread, (unsigned long long)(uintptr_t)&called_by_go);
    return is_call_from_go() && (elsewhere ? thread != getpid() : thread == getpid());
}

int main(void)
{
    struct taken taken;
    int held = 0, burning = 0, called = 0, consistent = 0;
    FIND(go.start_work, StartWork);
    FIND(go.collections, Collections);
    FIND(go.is_function, IsFunction);
    FIND(go.call_c, CallC);
    struct action before = action_now();
    go.start_work();
    struct action with_go = action_now();
    /* more where other programs have the processors */
    for (int round = 0; round < 60 || (round < 6000 &&
                                       (burning <= 10 || consistent == 0 || go.collections() == 0));
         round++) {
        take(&taken);
        if (taken.status != 0) {
            printf("snapshot: %d\n", taken.status);
            return 1;
        }
        consistent += (int)taken.consistent;
        for (uint32_t i = 0; i < taken.held; i++, held++) {
            if (go.is_function(taken.pcs[i][0], "main.burn")) {
                burning++;
                called += go.is_function(taken.pcs[i][2], "runtime.goexit");
            }
        }
    }
    uint64_t stood = go.collections();
    while (go.collections() < stood + 5) {
        usleep(1000);
    }
    /* while a signal of Go's is pending our action stays set */
    for (struct action now = action_now(); now.handler != with_go.handler; now = action_now()) {
        usleep(1000);
        take(&taken);
    }
    int here = check_call(0), elsewhere = check_call(1);
    printf("held %d burning %d called %d consistent %d collections %llu here %d elsewhere %d "
           "changed %d\n",
           held, burning, called, consistent, (unsigned long long)stood, here, elsewhere,
           before.handler != with_go.handler);
    return 0;
}
