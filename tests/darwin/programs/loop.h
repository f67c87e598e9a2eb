// SPDX-License-Identifier: Apache-2.0
/* CoreFoundation (frameworks/corefoundation.c), as a program of the tests uses it: loaded from
 * SONDE_COREFOUNDATION, its functions found by name. */
#ifndef SONDE_DARWIN_LOOP_H
#define SONDE_DARWIN_LOOP_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UTF8 = 0x08000100 };

static struct {
    int32_t (*run)(const void *mode, double seconds, unsigned char after_source);
    void *(*get_main)(void);
    void *(*make_source)(const void *allocator, long order, void *context);
    void (*add_source)(void *loop, void *source, const void *mode);
    void (*signal)(void *source);
    void *(*make_timer)(const void *allocator, double due, double interval, unsigned long flags,
                        long order, void (*call)(void *timer, unsigned long unused, void *info),
                        void *context);
    void (*add_timer)(void *loop, void *timer, const void *mode);
    double (*now)(void);
    void *(*make_string)(const void *allocator, const char *text, uint32_t encoding);
    void *(*centre)(void);
    void (*post)(void *centre, const void *name, const void *object, const void *info,
                 unsigned char immediately);
    const void *const *common, *const *standard;
} cf;

/* False: something is missing. */
static inline bool load_loop(void)
{
    const struct {
        const char *name;
        void *place;
    } wanted[] = {{"CFRunLoopRunInMode", &cf.run},
                  {"CFRunLoopGetMain", &cf.get_main},
                  {"CFRunLoopSourceCreate", &cf.make_source},
                  {"CFRunLoopAddSource", &cf.add_source},
                  {"CFRunLoopSourceSignal", &cf.signal},
                  {"CFRunLoopTimerCreate", &cf.make_timer},
                  {"CFRunLoopAddTimer", &cf.add_timer},
                  {"CFAbsoluteTimeGetCurrent", &cf.now},
                  {"CFStringCreateWithCString", &cf.make_string},
                  {"CFNotificationCenterGetLocalCenter", &cf.centre},
                  {"CFNotificationCenterPostNotification", &cf.post},
                  {"kCFRunLoopCommonModes", &cf.common},
                  {"kCFRunLoopDefaultMode", &cf.standard}};
    bool is_whole = dlopen(getenv("SONDE_COREFOUNDATION"), RTLD_NOW) != NULL;
    for (unsigned i = 0; is_whole && i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
        memcpy(wanted[i].place, &found, sizeof found);
        is_whole = found != NULL;
    }
    return is_whole;
}

/* Input for the main thread's loop, handled once. */
static inline void add_input(void (*perform)(void *info))
{
    void *context[10] = {0};
    *(void (**)(void *)) & context[9] = perform;
    void *source = cf.make_source(NULL, 0, context);
    cf.add_source(cf.get_main(), source, *cf.common);
    cf.signal(source);
}

static inline void post_event(const char *name)
{
    cf.post(cf.centre(), cf.make_string(NULL, name, UTF8), NULL, NULL, 1);
}

#endif
