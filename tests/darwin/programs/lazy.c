// SPDX-License-Identifier: Apache-2.0
/* Lazy pointers, which dyld binds when their function is called for the first time: calls by them
 * are counted from the first one on, and afterwards they are as before. Each check has functions
 * that nothing else here calls, so that their pointers are not bound yet. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/depot.h>

#include "image_words.h"
#include "os_images.h"
#include "workers.h"

extern uint64_t sim_lazy_binds;
extern void (*sim_on_lazy_bind)(const char *name);

enum { ATOI, GETPPID, ASPRINTF, STRPBRK, NAMES };
static const char *const names[NAMES] = {"atoi", "getppid", "asprintf", "strpbrk"};
static const char *volatile number = "21"; /* no constant for the compiler */

static struct sonde_depot *depot;
static uint64_t calls[NAMES];
static const char *module, *reason;

static struct image_words *before, *now; /* apart from the image, so that they do not change it */

static int add_entry(void *ctx, const struct sonde_audit_entry *entry)
{
    (void)ctx;
    calls[entry->label] += entry->count;
    return 0;
}

static uint64_t calls_of(unsigned name)
{
    memset(calls, 0, sizeof calls);
    CHECK(sonde_audit_entries(depot, add_entry, NULL) == SONDE_OK);
    return calls[name];
}

static int see_blind_spot(void *ctx, const struct sonde_audit_blind_spot *spot)
{
    if (spot->function != NULL && strcmp(spot->function, ctx) == 0 &&
        strstr(spot->why, "first call had begun") != NULL) {
        module = spot->image;
        reason = spot->why;
    }
    return 0;
}

static struct sonde_audit *start(void)
{
    struct sonde_audit *audit = NULL;
    struct sonde_error error;
    CHECK(sonde_audit_start(depot, names, NAMES, &audit, &error) == SONDE_OK);
    return audit;
}

/* The word of this program that changed; null: none, or several. */
static const uint64_t *changed(void)
{
    const uint64_t *at[IMAGE_WORDS_CHANGED_MAX];
    return image_words_changed(before, now, at) == 1 ? at[0] : NULL;
}

/* Without hooks: the first call binds, and the second does not. Returns the pointer. */
static const uint64_t *check_binding(void)
{
    image_words_copy(before, names); /* binds what it needs itself */
    image_words_copy(before, names);
    uint64_t binds = sim_lazy_binds;
    CHECK(atoi(number) == 21);
    CHECK(sim_lazy_binds == binds + 1);
    image_words_copy(now, names);
    CHECK(atoi(number) == 21 && sim_lazy_binds == binds + 1);
    const uint64_t *slot = changed();
    CHECK(slot != NULL && *slot == (uint64_t)dlsym(RTLD_DEFAULT, "atoi"));
    return slot;
}

__attribute__((noinline)) static int is_formatted(void)
{
    char *line = NULL;
    volatile double half = 0.5;
    int length = asprintf(&line, "%d %s %g %g %d %d", 1, "two", half, half * 6, 4, 5);
    int is_right = length == 15 && strcmp(line, "1 two 0.5 3 4 5") == 0;
    free(line);
    return is_right;
}

/* Hooked before the first call: all calls count, none binds, and the first one afterwards does. */
static void check_unbound(const uint64_t *bound)
{
    uint64_t binds = sim_lazy_binds, value = *bound;
    pid_t parent = 0;
    struct sonde_audit *audit = start();
    CHECK(*bound != value);
    CHECK(atoi(number) == 21 && calls_of(ATOI) == 1);
    binds = sim_lazy_binds;
    for (int i = 0; i < 3; i++) {
        pid_t is = getppid();
        CHECK(is != 0 && (i == 0 || is == parent));
        parent = is;
        CHECK(is_formatted());
    }
    CHECK(sim_lazy_binds == binds && calls_of(GETPPID) == 3 && calls_of(ASPRINTF) == 3);
    sonde_audit_stop(audit);
    CHECK(*bound == value);
    binds = sim_lazy_binds;
    image_words_copy(before, names);
    CHECK(getppid() == parent && sim_lazy_binds == binds + 1); /* through __stub_helper */
    image_words_copy(now, names);
    CHECK(changed() != NULL && *changed() == (uint64_t)dlsym(RTLD_DEFAULT, "getppid"));
    CHECK(is_formatted() && sim_lazy_binds == binds + 2);
    CHECK(getppid() == parent && is_formatted() && sim_lazy_binds == binds + 2);
    CHECK(calls_of(GETPPID) == 3 && calls_of(ASPRINTF) == 3 && atoi(number) == 21);
}

static struct sonde_audit *begun;

/* While the first call of strpbrk() is being bound. */
static void begin_meanwhile(const char *name)
{
    (void)name;
    sim_on_lazy_bind = NULL;
    begun = start();
}

/* dyld binds a pointer after it was hooked: its calls are not seen until sonde looks again, which
 * it says. */
static void check_overwritten(void)
{
    sim_on_lazy_bind = begin_meanwhile;
    const char *found = strpbrk(number, "1");
    CHECK(begun != NULL);
    CHECK(strpbrk(number, "1") == found && calls_of(STRPBRK) == 0); /* dyld has overwritten it */
    CHECK(sonde_audit_blind_spots(begun, see_blind_spot, (void *)"strpbrk") == SONDE_OK);
    CHECK(reason == NULL); /* nobody has looked */
    CHECK(sonde_audit_refresh(begun) == SONDE_OK);
    CHECK(sonde_audit_blind_spots(begun, see_blind_spot, (void *)"strpbrk") == SONDE_OK);
    CHECK(reason != NULL && module != NULL && module[0] == '\0');
    CHECK(strpbrk(number, "1") == found && calls_of(STRPBRK) == 1);
    sonde_audit_stop(begun);
    CHECK(strpbrk(number, "1") == found && calls_of(STRPBRK) == 1);
}

/* --- sonde's own --- */

static volatile int has_list, is_looking;
static unsigned binds_seen;

static void *take_list(void *unused)
{
    sonde__os_images_hold();
    sonde__os_images_release();
    has_list = 1;
    return unused;
}

/* A thread that loads an image waits for the list while it has dyld's lock, for which the bind
 * waits. So the list is free now. */
static void see_own(const char *name)
{
    pthread_t thread;
    if (is_looking) {
        return;
    }
    is_looking = 1;
    has_list = 0;
    CHECK(pthread_create(&thread, NULL, take_list, NULL) == 0);
    for (int i = 0; i < 3000 && !has_list; i++) {
        usleep(1000);
    }
    if (!has_list) {
        printf("%s is bound while the list of images is held\n", name);
        mistakes++;
    }
    binds_seen++;
    (void)pthread_detach(thread);
    is_looking = 0;
}

static void check_own(void)
{
    sim_on_lazy_bind = see_own;
    struct sonde_audit *audit = start();
    sonde_audit_stop(audit);
    sim_on_lazy_bind = NULL;
    CHECK(binds_seen > 0);
}

int main(void)
{
    before = calloc(1, sizeof *before);
    now = calloc(1, sizeof *now);
    CHECK(sonde_depot_create(1 << 12, &depot) == SONDE_OK);
    check_own();
    const uint64_t *slot = check_binding();
    if (slot != NULL) {
        check_unbound(slot);
        check_overwritten();
    }
    sonde_depot_destroy(depot);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
