// SPDX-License-Identifier: Apache-2.0
/* The watch (sonde/watch.h) of a GLib main loop, GTK's included.
 *
 * Wraps the context's poll function, which is the loop's own wait, also for nested main loops.
 * Reports show what the loop was doing: "prepare", or "check and dispatch". Header only; the
 * program links GLib. Include it in one file. */
#ifndef SONDE_HOOKS_GLIB_H
#define SONDE_HOOKS_GLIB_H

#include <glib.h>

#include "sonde/note.h"
#include "sonde/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The contexts' original poll function; global because a poll function has no user argument. */
static GPollFunc sonde_glib_before_;

static inline gint sonde_glib_poll_(GPollFD *fds, guint count, gint timeout_ms)
{
    gint ready;
    sonde_idle_enter();
    ready = sonde_glib_before_(fds, count, timeout_ms);
    sonde_idle_leave();
    sonde_loop_phase("check and dispatch");
    return ready;
}

/* Has the highest priority, so GLib calls it first in each turn. */
static inline gboolean sonde_glib_prepare_(GSource *source, gint *timeout_ms)
{
    (void)source;
    *timeout_ms = -1;
    sonde_loop_phase("prepare");
    return FALSE;
}

static inline gboolean sonde_glib_check_(GSource *source)
{
    (void)source;
    return FALSE;
}

static inline GSourceFuncs *sonde_glib_funcs_(void)
{
    static GSourceFuncs funcs;
    funcs.prepare = sonde_glib_prepare_;
    funcs.check = sonde_glib_check_;
    return &funcs;
}

/* Watch the loops of a context, from the next turn on; null: the default context. Returns FALSE,
 * and changes nothing, if the context is watched already, or if a context with another poll
 * function is. Context: the context's thread, or before it runs. */
static inline gboolean sonde_glib_attach(GMainContext *context)
{
    GPollFunc poll_func = g_main_context_get_poll_func(context);
    GSource *source;
    if (poll_func == sonde_glib_poll_ ||
        (sonde_glib_before_ != NULL && sonde_glib_before_ != poll_func)) {
        return FALSE;
    }
    sonde_glib_before_ = poll_func;
    source = g_source_new(sonde_glib_funcs_(), sizeof(GSource));
    g_source_set_priority(source, G_MININT);
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, context);
    g_source_unref(source);
    g_main_context_set_poll_func(context, sonde_glib_poll_);
    return TRUE;
}

/* Context: the context's thread, outside of its loop. The thread counts as idle afterwards. Call it
 * also when a thread leaves its loop for good and goes on. */
static inline void sonde_glib_detach(GMainContext *context)
{
    GSource *source;
    if (g_main_context_get_poll_func(context) == sonde_glib_poll_) {
        source = g_main_context_find_source_by_funcs_user_data(context, sonde_glib_funcs_(), NULL);
        if (source != NULL) {
            g_source_destroy(source);
        }
        g_main_context_set_poll_func(context, sonde_glib_before_);
    }
    sonde_loop_phase(NULL);
    sonde_idle_enter();
}

#ifdef __cplusplus
}
#endif

#endif
