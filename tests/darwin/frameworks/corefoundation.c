// SPDX-License-Identifier: Apache-2.0
/* CoreFoundation, as far as sonde and its tests ask it: strings, and the main thread's run loop in
 * the order of activities that Apple documents ("Run Loops" in the Threading Programming Guide,
 * "The Run Loop Sequence of Events"):
 *
 *   entry; then again and again: before timers, before sources, the sources that are signalled;
 *   unless one was handled: before waiting, a sleep until a timer is due or the loop is woken,
 *   after waiting; the timers that are due; ... and in the end exit.
 *
 * The main thread's loop is the only one. Observers run in the order of their numbers. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- strings and references --- */

typedef struct object {
    int32_t references;
    char text[64];
} * CFStringRef;

#define NAME(variable, value)                                                                      \
    static struct object variable##_object = {1, value};                                           \
    const CFStringRef variable = &variable##_object;
extern const CFStringRef kCFRunLoopCommonModes, kCFRunLoopDefaultMode;
NAME(kCFRunLoopCommonModes, "kCFRunLoopCommonModes")
NAME(kCFRunLoopDefaultMode, "kCFRunLoopDefaultMode")

void CFRelease(void *object);
void *CFRetain(void *object);
CFStringRef CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding);
unsigned char CFStringGetCString(CFStringRef string, char *buffer, long size, uint32_t encoding);

void *CFRetain(void *object)
{
    __atomic_fetch_add((int32_t *)object, 1, __ATOMIC_SEQ_CST);
    return object;
}

/* Nothing is freed: a test counts. */
void CFRelease(void *object)
{
    if (__atomic_fetch_sub((int32_t *)object, 1, __ATOMIC_SEQ_CST) <= 0) {
        abort();
    }
}

CFStringRef CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding)
{
    CFStringRef string = calloc(1, sizeof *string);
    (void)allocator, (void)encoding;
    string->references = 1;
    strlcpy(string->text, text, sizeof string->text);
    return string;
}

unsigned char CFStringGetCString(CFStringRef string, char *buffer, long size, uint32_t encoding)
{
    (void)encoding;
    return strlcpy(buffer, string->text, (size_t)size) < (size_t)size;
}

/* --- what a mode has --- */

enum { ITEMS_MAX = 512, ENTRY = 1, TIMERS = 2, SOURCES = 4, WAITING = 32, WOKE = 64, LEAVE = 128 };
enum { FINISHED = 1, STOPPED, TIMED_OUT, HANDLED_SOURCE };
enum kind { OBSERVER, SOURCE, TIMER };
#define SECOND_NS 1000000000.0

typedef struct item {
    int32_t references;
    enum kind kind;
    unsigned long activities;
    long order;
    void (*call)(struct item *item, unsigned long activity, void *info);
    void (*perform)(void *info);
    void *info;
    bool is_signalled;
    double due, interval; /* of a timer, in seconds; without an interval it is due once */
} * item;

static struct {
    item item;
    CFStringRef mode;
} members[ITEMS_MAX];
static unsigned member_count;
static CFStringRef current;
static bool is_stopped, is_woken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int loop; /* its address is the loop */

static double now(void)
{
    return (double)clock_gettime_nsec_np(CLOCK_UPTIME_RAW) / SECOND_NS;
}

static item make(enum kind kind, void *info)
{
    item made = calloc(1, sizeof *made);
    made->references = 1;
    made->kind = kind;
    made->info = info;
    return made;
}

static void add(item added, CFStringRef mode)
{
    pthread_mutex_lock(&lock);
    if (member_count == ITEMS_MAX) {
        abort();
    }
    members[member_count].item = CFRetain(added);
    members[member_count++].mode = mode == kCFRunLoopCommonModes ? mode : CFRetain(mode);
    pthread_mutex_unlock(&lock);
}

/* Only the default mode and this one, as AppKit's and UIKit's, are common. */
static bool is_common(CFStringRef mode)
{
    return mode == kCFRunLoopDefaultMode || strcmp(mode->text, "EventTrackingMode") == 0;
}

static bool is_in(unsigned i, enum kind kind, CFStringRef mode)
{
    return members[i].item->kind == kind &&
           (strcmp(members[i].mode->text, mode->text) == 0 ||
            (members[i].mode == kCFRunLoopCommonModes && is_common(mode)));
}

/* --- the loop --- */

/* By order; two of the same order, as they were added. */
static void observe(unsigned long activity, CFStringRef mode)
{
    item list[ITEMS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < member_count; i++) {
        if (is_in(i, OBSERVER, mode) && (members[i].item->activities & activity) != 0) {
            unsigned at = count++;
            for (; at > 0 && list[at - 1]->order > members[i].item->order; at--) {
                list[at] = list[at - 1];
            }
            list[at] = members[i].item;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        list[i]->call(list[i], activity, list[i]->info);
    }
}

__attribute__((noinline)) static void
__CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE0_PERFORM_FUNCTION__(void (*perform)(void *), void *info)
{
    perform(info);
    __asm__ volatile("");
}

static bool do_sources(CFStringRef mode)
{
    bool any = false;
    for (unsigned i = 0; i < member_count; i++) {
        if (is_in(i, SOURCE, mode) && members[i].item->is_signalled) {
            members[i].item->is_signalled = false;
            any = true;
            __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE0_PERFORM_FUNCTION__(members[i].item->perform,
                                                                       members[i].item->info);
        }
    }
    return any;
}

__attribute__((noinline)) static void
__CFRUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION__(item timer)
{
    timer->call(timer, 0, timer->info);
    __asm__ volatile("");
}

static void do_timers(CFStringRef mode)
{
    double time = now();
    for (unsigned i = 0; i < member_count; i++) {
        item timer = members[i].item;
        if (is_in(i, TIMER, mode) && timer->due <= time) {
            timer->due = timer->interval > 0 ? time + timer->interval : __builtin_inf();
            __CFRUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION__(timer);
        }
    }
}

static double next_timer(CFStringRef mode, double until)
{
    for (unsigned i = 0; i < member_count; i++) {
        if (is_in(i, TIMER, mode) && members[i].item->due < until) {
            until = members[i].item->due;
        }
    }
    return until;
}

static void sleep_until(double until)
{
    pthread_mutex_lock(&lock);
    while (!is_woken && now() < until) {
        double left = until - now() < 1 ? until - now() : 1;
        uint64_t end = clock_gettime_nsec_np(CLOCK_REALTIME) + (uint64_t)(left * SECOND_NS);
        const struct timespec time = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
        (void)pthread_cond_timedwait(&change, &lock, &time);
    }
    is_woken = false;
    pthread_mutex_unlock(&lock);
}

int32_t CFRunLoopRunInMode(CFStringRef mode, double seconds, unsigned char after_source);
int32_t CFRunLoopRunInMode(CFStringRef mode, double seconds, unsigned char after_source)
{
    double end = now() + seconds;
    CFStringRef outer = current;
    int32_t result = 0;
    current = mode;
    observe(ENTRY, mode);
    while (result == 0) {
        observe(TIMERS, mode);
        observe(SOURCES, mode);
        bool handled = do_sources(mode);
        if (!handled && now() < end && !is_stopped) {
            observe(WAITING, mode);
            sleep_until(next_timer(mode, end));
            observe(WOKE, mode);
        }
        do_timers(mode);
        result = is_stopped                ? STOPPED
                 : handled && after_source ? HANDLED_SOURCE
                 : now() >= end            ? TIMED_OUT
                                           : 0;
    }
    is_stopped = false;
    observe(LEAVE, mode);
    current = outer;
    return result;
}

void *CFRunLoopGetMain(void);
void *CFRunLoopGetMain(void)
{
    return &loop;
}

void *CFRunLoopCopyCurrentMode(void *of);
void *CFRunLoopCopyCurrentMode(void *of)
{
    return of == &loop && current != NULL ? CFRetain(current) : NULL;
}

void CFRunLoopWakeUp(void *of);
void CFRunLoopWakeUp(void *of)
{
    (void)of;
    pthread_mutex_lock(&lock);
    is_woken = true;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

void CFRunLoopStop(void *of);
void CFRunLoopStop(void *of)
{
    is_stopped = true;
    CFRunLoopWakeUp(of);
}

/* --- observers, sources, timers --- */

item CFRunLoopObserverCreate(const void *allocator, unsigned long activities, unsigned char repeats,
                             long order, void (*call)(item, unsigned long, void *), void *context);
item CFRunLoopObserverCreate(const void *allocator, unsigned long activities, unsigned char repeats,
                             long order, void (*call)(item, unsigned long, void *), void *context)
{
    item observer = make(OBSERVER, NULL);
    (void)allocator, (void)context;
    if (!repeats) {
        abort();
    }
    observer->activities = activities;
    observer->order = order;
    observer->call = call;
    return observer;
}

void CFRunLoopAddObserver(void *of, item observer, CFStringRef mode);
void CFRunLoopAddObserver(void *of, item observer, CFStringRef mode)
{
    (void)of;
    add(observer, mode);
}

/* CFRunLoopSourceContext, version 0 */
struct source_context {
    long version;
    void *info;
    void *unused[7];
    void (*perform)(void *info);
};

item CFRunLoopSourceCreate(const void *allocator, long order, struct source_context *context);
item CFRunLoopSourceCreate(const void *allocator, long order, struct source_context *context)
{
    item source = make(SOURCE, context->info);
    (void)allocator, (void)order;
    source->perform = context->perform;
    return source;
}

void CFRunLoopAddSource(void *of, item source, CFStringRef mode);
void CFRunLoopAddSource(void *of, item source, CFStringRef mode)
{
    (void)of;
    add(source, mode);
}

void CFRunLoopSourceSignal(item source);
void CFRunLoopSourceSignal(item source)
{
    source->is_signalled = true;
}

item CFRunLoopTimerCreate(const void *allocator, double due, double interval, unsigned long flags,
                          long order, void (*call)(item, unsigned long, void *), void *context);
double CFAbsoluteTimeGetCurrent(void);

double CFAbsoluteTimeGetCurrent(void)
{
    return now();
}

item CFRunLoopTimerCreate(const void *allocator, double due, double interval, unsigned long flags,
                          long order, void (*call)(item, unsigned long, void *), void *context)
{
    item timer = make(TIMER, NULL);
    (void)allocator, (void)flags, (void)order, (void)context;
    timer->due = due;
    timer->interval = interval;
    timer->call = call;
    return timer;
}

void CFRunLoopAddTimer(void *of, item timer, CFStringRef mode);
void CFRunLoopAddTimer(void *of, item timer, CFStringRef mode)
{
    (void)of;
    add(timer, mode);
}

/* --- the local notification centre --- */

enum { LISTENERS_MAX = 32 };
typedef void listener(void *centre, void *observer, CFStringRef name, const void *object,
                      const void *info);
static struct {
    void *observer;
    listener *called;
    CFStringRef name;
} listeners[LISTENERS_MAX];
static unsigned listener_count;
static int local_centre; /* its address is the centre */

void *CFNotificationCenterGetLocalCenter(void);
void *CFNotificationCenterGetLocalCenter(void)
{
    return &local_centre;
}

void CFNotificationCenterAddObserver(void *centre, void *observer, listener *called,
                                     CFStringRef name, const void *object, long suspension);
void CFNotificationCenterAddObserver(void *centre, void *observer, listener *called,
                                     CFStringRef name, const void *object, long suspension)
{
    (void)suspension;
    if (centre != &local_centre || object != NULL || listener_count == LISTENERS_MAX) {
        abort();
    }
    listeners[listener_count].observer = observer;
    listeners[listener_count].called = called;
    listeners[listener_count++].name = CFRetain(name);
}

void CFNotificationCenterPostNotification(void *centre, CFStringRef name, const void *object,
                                          const void *info, unsigned char immediately);
void CFNotificationCenterPostNotification(void *centre, CFStringRef name, const void *object,
                                          const void *info, unsigned char immediately)
{
    (void)immediately;
    for (unsigned i = 0; i < listener_count; i++) {
        if (strcmp(listeners[i].name->text, name->text) == 0) {
            listeners[i].called(centre, listeners[i].observer, name, object, info);
        }
    }
}
