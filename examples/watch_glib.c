// SPDX-License-Identifier: Apache-2.0
/* Watch a GLib main loop. A callback that takes 500 ms is reported. A callback that runs a nested
 * main loop for that long is not, because the nested loop waits. */
#include <sonde/hooks/glib.h>

#include "stalls.h"

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gboolean tick(gpointer ctx)
{
    (void)ctx;
    return G_SOURCE_CONTINUE;
}

static gboolean show_dialog(gpointer ctx)
{
    GMainLoop *dialog = g_main_loop_new(NULL, FALSE);
    (void)ctx;
    g_timeout_add(500, quit, dialog);
    g_main_loop_run(dialog);
    g_main_loop_unref(dialog);
    return G_SOURCE_REMOVE;
}

static gboolean save(gpointer ctx)
{
    (void)ctx;
    save_document(500);
    return G_SOURCE_REMOVE;
}

int main(void)
{
    int count = 0;
    struct sonde_watch *watch = start_watch(&count);
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    if (watch == NULL) {
        return 1;
    }
    sonde_glib_attach(NULL);
    g_timeout_add(5, tick, NULL);
    g_timeout_add(100, save, NULL);
    g_timeout_add(700, show_dialog, NULL);
    g_timeout_add(1400, quit, loop);
    g_main_loop_run(loop);
    sonde_glib_detach(NULL);
    g_main_loop_unref(loop);
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    return 0;
}
