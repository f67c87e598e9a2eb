// SPDX-License-Identifier: Apache-2.0
/* Notifications of the app, through CoreFoundation's local centre, which is the default centre of
 * Foundation. Functions are looked up; the prototypes are those of CFNotificationCenter.h. The
 * names are the values of UIKit's and AppKit's constants: an app has one of the two, and nobody
 * posts the names of the other. */
#include "host_app.h"

#include <sonde/watch.h>

#include "host_lookup.h"

enum { UTF8 = 0x08000100, DELIVER_IMMEDIATELY = 4 };

static const struct event {
    const char *name;
    uint32_t state;
} events[] = {
    {"UIApplicationDidBecomeActiveNotification", SONDE_APP_ACTIVE},
    {"UIApplicationWillResignActiveNotification", SONDE_APP_INACTIVE},
    {"UIApplicationDidEnterBackgroundNotification", SONDE_APP_BACKGROUND},
    {"UIApplicationWillEnterForegroundNotification", SONDE_APP_INACTIVE},
    {"UIApplicationWillTerminateNotification", SONDE_APP_ENDS},
    {"NSApplicationDidBecomeActiveNotification", SONDE_APP_ACTIVE},
    {"NSApplicationDidResignActiveNotification", SONDE_APP_INACTIVE},
    {"NSApplicationWillTerminateNotification", SONDE_APP_ENDS},
};

typedef void callout(void *centre, void *observer, const void *name, const void *object,
                     const void *info);

static struct {
    void *(*centre)(void);
    void (*add)(void *centre, const void *observer, callout *called, const void *name,
                const void *object, long suspension);
    void *(*make_string)(const void *allocator, const char *text, uint32_t encoding);
    void (*release)(const void *object);
} cf;

static sonde__host_app_told *tell;

static void on_event(void *centre, void *observer, const void *name, const void *object,
                     const void *info)
{
    (void)centre, (void)name, (void)object, (void)info;
    tell(((const struct event *)observer)->state);
}

enum sonde_status sonde__host_app_observe(sonde__host_app_told *told)
{
    const struct host_wanted functions[] = {
        {"CFNotificationCenterGetLocalCenter", &cf.centre},
        {"CFNotificationCenterAddObserver", &cf.add},
        {"CFStringCreateWithCString", &cf.make_string},
        {"CFRelease", &cf.release},
    };
    if (!host_lookup(functions, sizeof functions / sizeof *functions)) {
        return SONDE_UNSUPPORTED;
    }
    tell = told;
    for (const struct event *event = events; event < events + sizeof events / sizeof *events;
         event++) {
        void *name = cf.make_string(NULL, event->name, UTF8);
        if (name == NULL) {
            return SONDE_MEMORY;
        }
        cf.add(cf.centre(), event, on_event, name, NULL, DELIVER_IMMEDIATELY);
        cf.release(name);
    }
    return SONDE_OK;
}
