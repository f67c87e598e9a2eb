// SPDX-License-Identifier: Apache-2.0
/* Observers of the main thread's run loop, through CoreFoundation's C functions, which are looked
 * up: sonde needs libSystem only. The prototypes are those of CFRunLoop.h and CFString.h.
 *
 * The name of the mode is asked when a run begins and ends. Names are kept for ever in a small
 * table, so that another thread may read one at any time. */
#include "host_run_loop.h"

#include <limits.h>
#include <string.h>

#include "host_lookup.h"

enum { NAME_BYTES = 64, NAMES_MAX = 16, DEPTH_MAX = 16 };
enum { UTF8 = 0x08000100 };
enum { ENTRY = 1, BEFORE_SOURCES = 1 << 2, BEFORE_WAITING = 1 << 5, AFTER_WAITING = 1 << 6 };
#define EXIT (1ul << 7)

typedef void callout(void *observer, unsigned long activity, void *info);

static struct {
    void *(*get_main)(void);
    void *(*create)(const void *allocator, unsigned long activities, unsigned char repeats,
                    long order, callout *called, void *context);
    void (*add)(void *loop, void *observer, const void *mode);
    void *(*copy_mode)(void *loop);
    void *(*make_string)(const void *allocator, const char *text, uint32_t encoding);
    unsigned char (*get_string)(const void *string, char *buffer, long size, uint32_t encoding);
    void (*release)(const void *object);
    const void *const *common; /* the variable */
} cf;

static sonde__host_run_loop_told *tell;
static char names[NAMES_MAX][NAME_BYTES]; /* "": free; never changed otherwise */
/* of the runs of the loop, the outermost first; the main thread's */
static const char *modes[DEPTH_MAX];
static unsigned depth;

static bool find_functions(void)
{
    const struct host_wanted functions[] = {
        {"CFRunLoopGetMain", &cf.get_main},
        {"CFRunLoopObserverCreate", &cf.create},
        {"CFRunLoopAddObserver", &cf.add},
        {"CFRunLoopCopyCurrentMode", &cf.copy_mode},
        {"CFStringCreateWithCString", &cf.make_string},
        {"CFStringGetCString", &cf.get_string},
        {"CFRelease", &cf.release},
        {"kCFRunLoopCommonModes", &cf.common},
    };
    return host_lookup(functions, sizeof functions / sizeof functions[0]);
}

static const char *keep_name(const char *name)
{
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        if (names[i][0] == '\0') {
            strlcpy(names[i], name, NAME_BYTES);
        }
        if (strcmp(names[i], name) == 0) {
            return names[i];
        }
    }
    return ""; /* a program with so many modes */
}

static const char *read_mode(void)
{
    char name[NAME_BYTES] = "";
    void *mode = cf.copy_mode(cf.get_main());
    if (mode != NULL) {
        if (cf.get_string(mode, name, sizeof name, UTF8) == 0) {
            name[0] = '\0'; /* it is longer */
        }
        cf.release(mode);
    }
    return name[0] != '\0' ? keep_name(name) : "";
}

static const char *mode_now(void)
{
    return depth > 0 && depth <= DEPTH_MAX && modes[depth - 1] != NULL ? modes[depth - 1] : "";
}

static void enter(void)
{
    if (depth < DEPTH_MAX) {
        modes[depth] = read_mode();
    }
    depth++;
}

static void on_activity(void *observer, unsigned long activity, void *info)
{
    (void)observer, (void)info;
    if (activity == ENTRY) {
        enter();
        tell(SONDE__HOST_ENTERED, mode_now());
    } else if (activity == EXIT) {
        depth -= depth > 0;
        tell(SONDE__HOST_EXITED, mode_now());
    } else {
        tell(activity == BEFORE_SOURCES   ? SONDE__HOST_SOURCES
             : activity == BEFORE_WAITING ? SONDE__HOST_WAITS
                                          : SONDE__HOST_WOKE,
             mode_now());
    }
}

static bool observe(unsigned long activities, long order)
{
    void *observer = cf.create(NULL, activities, 1, order, on_activity, NULL);
    void *launch = cf.make_string(NULL, "UIInitializationRunLoopMode", UTF8);
    if (observer != NULL && launch != NULL) {
        cf.add(cf.get_main(), observer, *cf.common);
        cf.add(cf.get_main(), observer, launch);
    }
    if (launch != NULL) {
        cf.release(launch);
    }
    if (observer != NULL) {
        cf.release(observer); /* the loop keeps it */
    }
    return observer != NULL && launch != NULL;
}

enum sonde_status sonde__host_run_loop_observe(sonde__host_run_loop_told *told)
{
    if (!find_functions()) {
        return SONDE_UNSUPPORTED;
    }
    const char *mode = read_mode();
    tell = told;
    modes[0] = mode;
    depth = mode[0] != '\0'; /* it is running now */
    return observe(ENTRY | BEFORE_SOURCES | AFTER_WAITING, LONG_MIN) &&
                   observe(BEFORE_WAITING | EXIT, LONG_MAX)
               ? SONDE_OK
               : SONDE_MEMORY;
}
