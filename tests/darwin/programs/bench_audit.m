// SPDX-License-Identifier: Apache-2.0
/* What a hooked call costs in the loop of an album that asks a method for 500 thumbnails, before
 * consent and again after it: by sonde's audit, and by the way of an article about the audit of
 * privacy in apps, written anew. That way exchanges the method, follows the frame pointers, and
 * keeps lines of text in a dictionary under a semaphore, by the exclusive or of all return
 * addresses. It has neither counts nor phases. bench.sh counts the instructions. */
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach/mach_init.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sonde/audit.h>
#include <sonde/image.h>
#include <sonde/note.h>

#include "audit_blob.h"
#include "capture_memo.h"

#include "../sim/foundation.h"

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

enum { PHOTOS = 500, DEPTHS = 64 };

void sim_mark(void);
/* (Its header needs the whole of NSObject.) */
void *dispatch_semaphore_create(long value);
long dispatch_semaphore_signal(void *semaphore);
long dispatch_semaphore_wait(void *semaphore, uint64_t until);
#define FOREVER UINT64_MAX
static unsigned mistakes, rounds_made; /* rounds: of all that is hooked */

@interface Photos : NSObject
- (int)thumbnail:(int)index;
@end

@implementation Photos
- (int)thumbnail:(int)index
{
    return index;
}
@end

static Photos *photos;

__attribute__((noinline)) static void show_all(void)
{
    int sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < PHOTOS; i++) { /* one place of code */
        sum += [photos thumbnail:i];
    }
    CHECK(sum == PHOTOS * (PHOTOS - 1) / 2);
}

/* A stack of its own for each depth, of one function that calls itself. */
__attribute__((noinline)) static int show_at(unsigned depth)
{
    return depth == 0 ? [photos thumbnail:1] : show_at(depth - 1) + (int)mistakes;
}

static void show_depths(void)
{
    for (unsigned depth = 0; depth < DEPTHS; depth++) {
        CHECK(show_at(depth) == 1);
    }
}

static const char *arch; /* of the second way to print */

/* "NAME", to which bench.sh adds the instructions between the marks; with an argument a line of its
 * own with the time of a call, the shortest of some rounds. */
static void count(const char *name)
{
    enum { ROUNDS = 5 };
    uint64_t least = UINT64_MAX;
    sim_mark();
    show_all();
    sim_mark();
#pragma clang loop unroll(disable)
    for (int i = 0; arch != NULL && i < ROUNDS; i++) { /* one place of code */
        uint64_t begin = clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
        show_all();
        uint64_t ns = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) - begin;
        least = ns < least ? ns : least;
    }
    if (arch == NULL) {
        printf("%s\n", name);
    } else {
        rounds_made += ROUNDS;
        printf("darwin.audit.%s.%s.ns %u ns\n", arch, name, (unsigned)(least / PHOTOS));
    }
}

static void print_value(const char *name, unsigned value, const char *unit)
{
    if (arch == NULL) {
        printf("= %s %u %s\n", name, value, unit);
    } else {
        printf("darwin.audit.%s.%s %u %s\n", arch, name, value, unit);
    }
}

/* --- the article's way --- */

enum { FRAMES = 64, PLACES = 1024 };

static struct cached {
    uint64_t key;
    char **lines;
} cache[PLACES];
static unsigned cached_count;
static void *cache_lock;
static IMP original;

/* In the code of an image of the app: all images, by their paths, and all their sections. */
static int is_of_app(uint64_t address, const char *system)
{
    for (uint32_t i = 0; i < _dyld_image_count(); i++) {
        const struct mach_header_64 *header = (const void *)_dyld_get_image_header(i);
        Dl_info info;
        char *path = dladdr(header, &info) != 0 ? strdup(info.dli_fname) : strdup("");
        int is_system = strcmp(path, system) == 0;
        const char *at = (const char *)(header + 1);
        free(path);
        for (uint32_t k = 0; !is_system && k < header->ncmds; k++) {
            const struct segment_command_64 *segment = (const void *)at;
            const struct section_64 *sections = (const void *)(segment + 1);
            for (uint32_t n = 0; segment->cmd == LC_SEGMENT_64 && n < segment->nsects; n++) {
                uint64_t start = (uint64_t)header + sections[n].offset - segment->fileoff;
                if (strcmp(sections[n].sectname, "__text") == 0 && address >= start &&
                    address < start + sections[n].size) {
                    return 1;
                }
            }
            at += segment->cmdsize;
        }
    }
    return 0;
}

static char **lines_of(const uint64_t *pcs, unsigned count)
{
    char **lines = calloc(count + 1, sizeof *lines);
    Dl_info info;
    const char *system = dladdr((const void *)&mach_task_self_, &info) != 0 ? info.dli_fname : "";
    for (unsigned i = 0, used = 0; i < count; i++) {
        char line[512];
        if (is_of_app(pcs[i], system) && dladdr((const void *)pcs[i], &info) != 0) {
            snprintf(line, sizeof line, "%u %s %#llx %s", i, info.dli_fname,
                     (unsigned long long)pcs[i], info.dli_sname != NULL ? info.dli_sname : "");
            lines[used++] = strdup(line);
        }
    }
    return lines;
}

static struct cached *place_of(uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 54;
    while (cache[at].lines != NULL && cache[at].key != key) {
        at = (at + 1) % PLACES;
    }
    return &cache[at];
}

__attribute__((noinline)) static unsigned walk(uint64_t *pcs, uint64_t *ret_key)
{
    pthread_t self = pthread_self();
    uint64_t top = (uint64_t)pthread_get_stackaddr_np(self);
    uint64_t bottom = top - pthread_get_stacksize_np(self), key = 0;
    const uint64_t *frame = __builtin_frame_address(0);
    unsigned count = 0;
    while (count < FRAMES && (uint64_t)frame >= bottom && (uint64_t)frame < top &&
           (uint64_t)frame % 8 == 0) {
        if (frame[1] != 0) {
            pcs[count++] = frame[1];
            key ^= frame[1];
        }
        const uint64_t *next = (const uint64_t *)frame[0];
        if (next <= frame) {
            break;
        }
        frame = next;
    }
    *ret_key = key;
    return count;
}

static int take_thumbnail(id self, SEL selector, int index)
{
    uint64_t *pcs = malloc(FRAMES * sizeof *pcs), key;
    unsigned count = walk(pcs, &key);
    dispatch_semaphore_wait(cache_lock, FOREVER);
    int is_known = place_of(key)->lines != NULL;
    dispatch_semaphore_signal(cache_lock);
    if (!is_known) {
        char **lines = lines_of(pcs, count);
        dispatch_semaphore_wait(cache_lock, FOREVER);
        *place_of(key) = (struct cached){key, lines};
        cached_count++;
        dispatch_semaphore_signal(cache_lock);
    }
    free(pcs);
    return ((int (*)(id, SEL, int))original)(self, selector, index);
}

static void run_peer(void)
{
    Method method = class_getInstanceMethod(objc_getClass("Photos"), @selector(thumbnail:));
    cache_lock = dispatch_semaphore_create(1);
    original = method_setImplementation(method, (IMP)take_thumbnail);
    count("peer.before");
    count("peer.after");
    unsigned before = cached_count;
    show_depths();
    print_value("peer.stacks", cached_count - before, "stacks");
    (void)method_setImplementation(method, original);
}

/* --- sonde's --- */

static unsigned found_count;

static void see_found(void *ctx, const struct sonde_audit_found *found)
{
    (void)ctx;
    (void)found;
    found_count++;
}

static uint64_t all_calls;

static void see_line(void *ctx, const char *line)
{
    unsigned long calls;
    (void)ctx;
    if (strstr(line, " calls of 1 function recorded") != NULL && sscanf(line, "%lu", &calls) == 1) {
        all_calls = calls;
    }
}

static const char *const names[] = {"-[Photos thumbnail:]"};
static const uint32_t any[] = {0};
static const struct sonde__audit_rule rules[] = {
    {.name = "photo",
     .pack = "album",
     .category = "",
     .text = "",
     .severity = SONDE_AUDIT_NOTE,
     .functions = names,
     .arguments = any,
     .function_count = 1},
};

static struct sonde_audit_run *begin(void)
{
    const struct sonde__audit_rules all = {.rules = rules, .count = 1};
    struct sonde_audit_options options = {
        .struct_bytes = sizeof options, .on_found = see_found, .on_line = see_line};
    struct sonde_audit_run *run = NULL;
    struct sonde_error error = {.what = ""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (sonde__audit_blob_write(&all, &bytes, &size, &error) != SONDE_OK ||
        sonde_audit_begin(bytes, size, &options, &run, &error) != SONDE_OK) {
        printf("line: no audit: %s\n", error.what);
        exit(1);
    }
    return run;
}

static void run_sonde(void)
{
    struct sonde_error error;
    struct sonde_audit_run *run = begin();
    count("sonde.before");
    sonde_watch_phase("consent", SONDE_CONSENT_GIVEN);
    count("sonde.after");
    /* the last call's stack is known up to its root: the next one is compared, not walked */
    struct sonde__memo *memo = sonde__capture_memo_enter();
    CHECK(memo != NULL && memo->root.by == SONDE__MEMO_ROOT_BY_ZEROS);
    sonde__capture_memo_leave(memo);
    show_depths();
    CHECK(sonde_audit_finish(run, &error) == SONDE_OK);
    CHECK(all_calls == (2 + rounds_made) * PHOTOS + DEPTHS);
    unsigned of_loops = arch != NULL ? 4 : 2; /* count() has two places, and there are two phases */
    CHECK(found_count == of_loops + DEPTHS);
    print_value("sonde.stacks", found_count - of_loops, "stacks");
}

/* argv[1]: the machine; then times are printed. */
int main(int argc, char **argv)
{
    Dl_info info;
    CHECK(dladdr((const void *)&mach_task_self_, &info) != 0 &&
          sonde_image_set_app(info.dli_fname, 0) == SONDE_OK);
    photos = [Photos alloc];
    show_all(); /* the method is looked up for the first time */
    arch = argc > 1 ? argv[1] : NULL;
    count("bare");
    rounds_made = 0;
    run_sonde();
    run_peer();
    printf("%s", arch != NULL && mistakes == 0 ? "0 mistakes\n" : "");
    return mistakes != 0;
}
