// SPDX-License-Identifier: Apache-2.0
/* A GMainLoop. The kind `nested` runs a second main loop inside a callback for 900 ms, as a modal
 * dialog does: that is no stall. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "inject.h"

static GMainLoop *loop;
static gboolean nest;

static gboolean end_nested(gpointer nested)
{
    g_main_loop_quit(nested);
    return G_SOURCE_REMOVE;
}

static gboolean tick(gpointer data)
{
    (void)data;
    if (nest) {
        GMainLoop *nested = g_main_loop_new(NULL, FALSE);
        nest = FALSE;
        g_timeout_add(900, end_nested, nested);
        g_main_loop_run(nested);
        g_main_loop_unref(nested);
        printf("nested\n");
        fflush(stdout);
    }
    if (!inject_tick()) {
        g_main_loop_quit(loop);
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

static gboolean begin_nested(gpointer data)
{
    (void)data;
    nest = TRUE;
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[3], "nested") == 0) {
        argv[3] = NULL;
        argc = 3;
        g_timeout_add(1000, begin_nested, NULL);
    }
    inject_start(argc, argv);
    loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(INJECT_TICK_MS, tick, NULL);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    return 0;
}
