// SPDX-License-Identifier: Apache-2.0
/* glib: containers, variants, expressions, a main loop, signals of objects. */
#include <glib-object.h>
#include <glib.h>
#include <stdlib.h>

#include "victim.h"

static gboolean on_time(gpointer data)
{
    unsigned *left = data;
    return --*left > 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean on_idle(gpointer data)
{
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b);
}

NOINLINE static void containers(void)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GList *list = NULL;
    GString *text = g_string_new(NULL);
    for (int i = 0; i < 30; i++) {
        g_hash_table_insert(table, g_strdup_printf("key %d", i), g_strdup("value"));
        list = g_list_prepend(list, GINT_TO_POINTER(i * 37 % 30));
        g_string_append_printf(text, "%d %s ", i, "word");
    }
    list = g_list_sort(list, compare_numbers);
    g_list_free(list);
    gchar **parts = g_strsplit(text->str, " ", -1);
    g_strfreev(parts);
    g_string_free(text, TRUE);
    g_hash_table_destroy(table);
}

NOINLINE static void variants(void)
{
    GVariant *value = g_variant_new("(sa{sv}i)", "name", NULL, 7);
    gchar *text = g_variant_print(value, TRUE);
    GVariant *parsed = g_variant_parse(NULL, text, NULL, NULL, NULL);
    if (parsed != NULL) {
        g_variant_unref(parsed);
    }
    g_free(text);
    g_variant_unref(value);
    (void)g_regex_match_simple("(a+b|c)*d$", "aabcaabd", 0, 0);
}

NOINLINE static void loops(void)
{
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    unsigned left = 3;
    (void)g_timeout_add(1, on_time, &left);
    (void)g_timeout_add(5, on_idle, loop);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
}

static void on_event(GObject *object, gint number, const gchar *text, gpointer data)
{
    (void)object;
    (void)text;
    *(gint *)data += number;
}

NOINLINE static void objects(void)
{
    static guint event;
    gint sum = 0;
    GObject *object = g_object_new(G_TYPE_OBJECT, NULL);
    if (event == 0) { /* it has no marshaller of its own: libffi calls it */
        event = g_signal_new("event", G_TYPE_OBJECT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                             G_TYPE_NONE, 2, G_TYPE_INT, G_TYPE_STRING);
    }
    (void)g_signal_connect(object, "event", G_CALLBACK(on_event), &sum);
    for (int i = 0; i < 4; i++) {
        g_signal_emit(object, event, 0, i, "text");
    }
    g_object_unref(object);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (argc > 2) {
        MARK();
    }
    (void)argv;
    for (unsigned i = 0; i < rounds; i++) {
        containers();
        variants();
        objects();
        loops();
    }
    return 0;
}
