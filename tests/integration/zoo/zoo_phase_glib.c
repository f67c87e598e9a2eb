// SPDX-License-Identifier: Apache-2.0
/* A GMainLoop that stalls in the phase of its turn that its last argument names: prepare, check or
 * dispatch. */
#include <glib.h>
#include <string.h>

#include "inject.h"

static GMainLoop *loop;
static const char *phase;

static void tick(const char *here)
{
    if (strcmp(phase, here) == 0 && !inject_tick()) {
        g_main_loop_quit(loop);
    }
}

static gboolean prepare(GSource *source, gint *timeout)
{
    (void)source;
    *timeout = -1;
    tick("prepare");
    return FALSE;
}

static gboolean check(GSource *source)
{
    (void)source;
    tick("check");
    return FALSE;
}

static gboolean never(GSource *source, GSourceFunc function, gpointer data)
{
    (void)source, (void)function, (void)data;
    return G_SOURCE_CONTINUE;
}

static gboolean on_timeout(gpointer data)
{
    (void)data;
    tick("dispatch");
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    GSourceFuncs functions = {.prepare = prepare, .check = check, .dispatch = never};
    phase = argv[--argc];
    argv[argc] = NULL;
    inject_start(argc, argv);
    loop = g_main_loop_new(NULL, FALSE);
    GSource *source = g_source_new(&functions, sizeof *source);
    g_source_attach(source, NULL);
    g_timeout_add(INJECT_TICK_MS, on_timeout, NULL);
    g_main_loop_run(loop);
    g_source_unref(source);
    g_main_loop_unref(loop);
    return 0;
}
