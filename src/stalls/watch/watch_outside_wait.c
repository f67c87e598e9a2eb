// SPDX-License-Identifier: Apache-2.0
#include "watch_outside_wait.h"

#include <string.h>

#include "arch_syscall.h"
#include "base_text.h"
#include "host_run.h"
#include "image_set.h"
#include "os_context.h"
#include "probe_runtime.h"
#include "target_place.h"

enum call {
    EPOLL_WAIT,   /* the time-out is argument 3, a number */
    EPOLL_PWAIT2, /* argument 3, a pointer */
    POLL,         /* argument 2, a number */
    PPOLL,        /* argument 2, a pointer */
    SELECT,       /* argument 4 */
    URING,
    SIGNAL,
    SIGTIMEDWAIT, /* argument 2 */
    READ,
    FUTEX, /* argument 3 */
    SLEEP,
    CHILD,
};

static const struct {
    const char *name;
    uint8_t call;
} known[] = {
    {"epoll_wait", EPOLL_WAIT},
    {"epoll_pwait", EPOLL_WAIT},
    {"epoll_pwait2", EPOLL_PWAIT2},
    {"poll", POLL},
    {"ppoll", PPOLL},
    {"select", SELECT},
    {"pselect6", SELECT},
    {"io_uring_enter", URING},
    {"pause", SIGNAL},
    {"rt_sigsuspend", SIGNAL},
    {"rt_sigtimedwait", SIGTIMEDWAIT},
    {"read", READ},
    {"futex", FUTEX},
    {"nanosleep", SLEEP},
    {"clock_nanosleep", SLEEP},
    {"wait4", CHILD},
    {"waitid", CHILD},
};

void sonde__watch_outside_calls_init(struct sonde__watch_outside_calls *calls)
{
    calls->count = sizeof known / sizeof known[0];
    for (uint32_t i = 0; i < calls->count; i++) {
        calls->list[i].number = sonde__arch_syscall_number(SONDE__ARCH_HOST, known[i].name);
        calls->list[i].call = known[i].call;
    }
}

/* futex(2): the operation without its flags. glibc's conditions and semaphores wait by WAIT_BITSET.
 * Mutexes of all C libraries wait by WAIT, which shows nothing: it may be part of a wait on a
 * condition. */
enum { FUTEX_OPERATION = 0x7f, FUTEX_WAIT_FOR_BITS = 9 };
/* glibc's condition has two adjacent words that are waited for by turns. */
#define FUTEX_PAIR 7u

/* The first descriptor of a poll identifies it, because its array may be anywhere. */
static uint64_t first_descriptor(struct sonde__target *target, uint64_t address)
{
    int32_t fd;
    return sonde__target_read(target, address, &fd, sizeof fd) == sizeof fd ? (uint32_t)fd
                                                                            : UINT64_MAX;
}

static void be(struct sonde__probe_wait *wait, uint32_t kind, uint64_t object, bool timed)
{
    wait->kind = kind;
    wait->object = object;
    wait->timed = timed;
    wait->learn = wait->note = true;
}

/* Find the object of the wait from the call alone. For a mere pause, the caller is the object. */
static bool describe_call(enum call call, const uint64_t args[6], struct sonde__target *target,
                          uint64_t tid, struct sonde__probe_wait *wait)
{
    const uint64_t caller = wait->caller;
    switch (call) {
    case EPOLL_WAIT:
        be(wait, SONDE__PROBE_EPOLL, (uint32_t)args[0], (int32_t)args[3] > 0);
        return true;
    case EPOLL_PWAIT2:
        be(wait, SONDE__PROBE_EPOLL, (uint32_t)args[0], args[3] != 0);
        return true;
    case POLL:
    case PPOLL:
        be(wait, args[1] != 0 ? SONDE__PROBE_POLL : SONDE__PROBE_SLEEP,
           args[1] != 0 ? first_descriptor(target, args[0]) : caller,
           call == POLL ? (int32_t)args[2] > 0 : args[2] != 0);
        return true;
    case SELECT:
        be(wait, (int32_t)args[0] > 0 ? SONDE__PROBE_SELECT : SONDE__PROBE_SLEEP,
           (int32_t)args[0] > 0 ? (uint32_t)args[0] : caller, args[4] != 0);
        return true;
    case URING:
        be(wait, SONDE__PROBE_OTHER, (uint32_t)args[0], false);
        return true;
    case SIGNAL:
    case SIGTIMEDWAIT:
        be(wait, SONDE__PROBE_SIGNAL, call, call == SIGTIMEDWAIT && args[2] != 0);
        return true;
    case READ:
        if (sonde__host_look_descriptor(sonde__target_pid(target), tid, (int32_t)args[0]) !=
            SONDE__HOST_TIMER) {
            return false;
        }
        be(wait, SONDE__PROBE_TIMER, (uint32_t)args[0], false);
        return true;
    case FUTEX:
        be(wait, SONDE__PROBE_FUTEX, args[0] & ~(uint64_t)FUTEX_PAIR, args[3] != 0);
        return (args[1] & FUTEX_OPERATION) == FUTEX_WAIT_FOR_BITS;
    case SLEEP:
        be(wait, SONDE__PROBE_SLEEP, caller, true);
        return true;
    case CHILD:
        be(wait, SONDE__PROBE_CHILD, 0, false);
        wait->learn = false;
        return true;
    }
    return false;
}

static const char *name_of(const struct sonde__image *image)
{
    return image != NULL ? sonde__base_file_name(image->path) : "";
}

static bool is_libc(const struct sonde__image *image)
{
    const char *name = name_of(image);
    return sonde__base_starts_with(name, "libc.so") || sonde__base_starts_with(name, "libc-2.") ||
           sonde__base_starts_with(name, "libpthread") || sonde__base_starts_with(name, "ld-musl");
}

/* The frame that waits: the first one outside libc, or the caller of a function of the program that
 * makes the call. */
static uint32_t find_caller(const struct sonde__image_set *images,
                            const struct sonde__target_place *place)
{
    uint32_t i = 1;
    if (place->count > 0 && is_libc(sonde__image_find(images, place->pcs[0]))) {
        while (i < place->count && is_libc(sonde__image_find(images, place->pcs[i]))) {
            i++;
        }
    }
    return i < place->count ? i : place->count - 1;
}

/* The probe's rules for weak kinds (preload/waits.c): a worker that waits for work has no event
 * loop. */
static void judge(struct sonde__probe_wait *wait, const struct sonde__image *of, bool main)
{
    const char *name = name_of(of);
    bool lock = wait->kind == SONDE__PROBE_FUTEX;
    if (wait->kind == SONDE__PROBE_POLL && sonde__base_starts_with(name, "libxcb")) {
        wait->learn = wait->note = false; /* a round trip or the loop: these look the same */
    } else if (sonde__probe_is_weak(wait->kind)) {
        wait->note = !(lock && (of == NULL || sonde__probe_is_runtime(name)));
        wait->learn = wait->learn && wait->note && main;
    }
}

bool sonde__watch_outside_is_same(const struct sonde__os_wait *a, const struct sonde__os_wait *b)
{
    const struct sonde__os_call x = sonde__os_wait_call(a), y = sonde__os_wait_call(b);
    struct sonde__regs at, there;
    if (x.number != y.number || x.args[0] != y.args[0] || x.args[1] != y.args[1] ||
        sonde__os_wait_sp(a) != sonde__os_wait_sp(b)) {
        return false;
    }
    sonde__os_wait_regs(a, &at);
    sonde__os_wait_regs(b, &there);
    return at.pc == there.pc;
}

static int find_call(const struct sonde__watch_outside_calls *calls, int64_t number)
{
    for (uint32_t i = 0; number >= 0 && i < calls->count; i++) {
        if (calls->list[i].number == number) {
            return calls->list[i].call;
        }
    }
    return -1;
}

/* Is the wait useless for a thread that is not watched otherwise (describe(): any)? */
static bool is_of_workers(enum call call)
{
    return call == FUTEX || call == SLEEP || call == CHILD;
}

/* Describe everything but the place, which is already in *wait_is. */
static void describe_again(enum call call, struct sonde__target *target, uint64_t tid, bool main,
                           const struct sonde__os_wait *wait, struct sonde__probe_wait *wait_is)
{
    const struct sonde__os_call made = sonde__os_wait_call(wait);
    if (wait_is->sp != 0 && describe_call(call, made.args, target, tid, wait_is)) {
        judge(wait_is, sonde__image_find(sonde__target_images(target), wait_is->caller), main);
    } else {
        wait_is->learn = wait_is->note = false;
    }
}

static void describe_anew(enum call call, struct sonde__target *target, uint64_t tid, bool main,
                          const struct sonde__os_wait *wait, struct sonde__probe_wait *ret_wait)
{
    struct sonde__target_place place;
    sonde__target_place(target, wait, &place);
    if (place.count == 0) {
        return;
    }
    const struct sonde__image_set *images = sonde__target_images(target);
    uint32_t at = find_caller(images, &place);
    *ret_wait = (struct sonde__probe_wait){
        .sp = sonde__os_wait_sp(wait), .caller = place.pcs[at], .level = place.begins[at]};
    describe_again(call, target, tid, main, wait, ret_wait);
}

bool sonde__watch_outside_describe(const struct sonde__watch_outside_calls *calls,
                                   struct sonde__watch_outside_places *places,
                                   struct sonde__target *target, uint64_t tid, bool main, bool any,
                                   const struct sonde__os_wait *wait, uint64_t now_ns,
                                   struct sonde__probe_wait *ret_wait)
{
    int call = find_call(calls, sonde__os_wait_call(wait).number);
    uint32_t i = 0;
    *ret_wait = (struct sonde__probe_wait){0};
    if (call < 0 || (!main && !any && is_of_workers((enum call)call))) {
        return false;
    }
    while (i < SONDE__WATCH_OUTSIDE_PLACES &&
           !sonde__watch_outside_is_same(&places->list[i].wait, wait)) {
        i++;
    }
    if (i == SONDE__WATCH_OUTSIDE_PLACES) {
        struct sonde__probe_wait is = {0};
        describe_anew((enum call)call, target, tid, main, wait, &is);
        i = places->next++ % SONDE__WATCH_OUTSIDE_PLACES;
        places->list[i].wait = *wait;
        places->list[i].is = is;
    } else if (call != READ) { /* its time-out, or the memory that it points to, may have changed */
        describe_again((enum call)call, target, tid, main, wait, &places->list[i].is);
    }
    *ret_wait = places->list[i].is;
    ret_wait->now_ns = now_ns;
    return ret_wait->learn || ret_wait->note;
}

bool sonde__watch_outside_is_go(struct sonde__target *target, const struct sonde__os_wait *wait)
{
    struct sonde__regs regs;
    sonde__os_wait_regs(wait, &regs);
    const struct sonde__image *image = sonde__image_find(sonde__target_images(target), regs.pc);
    return image != NULL && image->go.data != NULL;
}

bool sonde__watch_outside_is_go_program(struct sonde__target *target)
{
    const struct sonde__image_set *images = sonde__target_images(target);
    for (uint32_t i = 0; i < images->image_count; i++) {
        if ((images->images[i].flags & SONDE__IMAGE_MAIN) != 0) {
            return images->images[i].go.data != NULL;
        }
    }
    return false;
}
