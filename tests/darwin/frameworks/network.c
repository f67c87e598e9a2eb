// SPDX-License-Identifier: Apache-2.0
/* Network.framework, as far as sonde asks it: one path, which SIM_NETWORK describes by the words
 * none, expensive and constrained. It is told on a thread of its own, or with "silent" never, and
 * with "late" two seconds later. */
#include <Block.h>
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prototypes of <Network/path_monitor.h> and <Network/path.h>. */
struct monitor {
    dispatch_queue_t queue;
    void (^handler)(void *path);
    _Atomic bool is_cancelled;
};
void *nw_path_monitor_create(void);
void nw_path_monitor_set_queue(struct monitor *monitor, dispatch_queue_t queue);
void nw_path_monitor_set_update_handler(struct monitor *monitor, void (^handler)(void *path));
void nw_path_monitor_start(struct monitor *monitor);
void nw_path_monitor_cancel(struct monitor *monitor);
void nw_release(void *object);
int nw_path_get_status(void *path);
bool nw_path_is_expensive(void *path);
bool nw_path_is_constrained(void *path);

/* For tests: monitors that were not cancelled and released. */
extern int network_monitors;
int network_monitors;

static bool has(const char *word)
{
    const char *text = getenv("SIM_NETWORK");
    return text != NULL && strstr(text, word) != NULL;
}

static int the_path;

void *nw_path_monitor_create(void)
{
    network_monitors++;
    return calloc(1, sizeof(struct monitor));
}

void nw_path_monitor_set_queue(struct monitor *monitor, dispatch_queue_t queue)
{
    monitor->queue = queue;
}

void nw_path_monitor_set_update_handler(struct monitor *monitor, void (^handler)(void *path))
{
    monitor->handler = Block_copy(handler);
}

/* A monitor without a queue tells nothing. */
static void *tell(void *argument)
{
    struct monitor *monitor = argument;
    if (has("late")) {
        usleep(2000000);
    }
    if (!monitor->is_cancelled && monitor->queue != NULL) {
        monitor->handler(&the_path);
    }
    return NULL;
}

void nw_path_monitor_start(struct monitor *monitor)
{
    pthread_t thread;
    if (!has("silent")) {
        pthread_create(&thread, NULL, tell, monitor);
    }
}

void nw_path_monitor_cancel(struct monitor *monitor)
{
    monitor->is_cancelled = true;
}

/* Its memory stays, for its thread. */
void nw_release(void *object)
{
    network_monitors -= ((struct monitor *)object)->is_cancelled;
}

int nw_path_get_status(void *path)
{
    return path == &the_path && !has("none") ? 1 : 2;
}

bool nw_path_is_expensive(void *path)
{
    return path == &the_path && has("expensive");
}

#ifndef WITHOUT_CONSTRAINED
bool nw_path_is_constrained(void *path)
{
    return path == &the_path && has("constrained");
}
#endif
