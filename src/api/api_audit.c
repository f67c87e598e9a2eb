// SPDX-License-Identifier: Apache-2.0
#include <sonde/audit.h>

#include <pthread.h>
#include <string.h>

#include <sonde/stack.h>

#include "base_status.h"
#include "hook.h"
#include "hook_method.h"
#include "mem_heap.h"
#include "record_hooked.h"
#include "target_self.h"

/* Thunks reserved for further definitions of the functions. */
#define FUNCTIONS_MAX (SONDE_AUDIT_LABELS / 2)

/* Of what sweeps: the program's calls, and the loader's callback (sonde__hook_set_loaded()). The
 * callback does not wait; who has it hooks until nothing is new. */
static pthread_mutex_t sweeping = PTHREAD_MUTEX_INITIALIZER;
static struct sonde_audit *current; /* guarded by it */

struct sonde_audit {
    struct sonde__hooks *hooks;
    struct sonde__record *record;
    const char **names; /* followed by their text */
    uint32_t count;
};

static const char **copy_names(const char *const *functions, uint32_t count)
{
    size_t size = count * sizeof(char *);
    for (uint32_t i = 0; i < count; i++) {
        size += strlen(functions[i]) + 1;
    }
    const char **names = sonde__mem_alloc_array(size, 1);
    char *text = (char *)names + count * sizeof(char *);
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        size_t length = strlen(functions[i]) + 1;
        memcpy(text, functions[i], length);
        names[i] = text;
        text += length;
    }
    return names;
}

static bool are_names(const char *const *functions, uint32_t count)
{
    if (functions == NULL || count == 0 || count > FUNCTIONS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (functions[i] == NULL || functions[i][0] == '\0') {
            return false;
        }
    }
    return true;
}

static enum sonde_status refresh(struct sonde_audit *audit)
{
    enum sonde_status status = sonde_stack_prepare();
    if (status == SONDE_OK) {
        status = sonde__record_inspect_images(audit->record);
    }
    sonde__target_self_enter();
    enum sonde_status swept = sonde__hook_sweep(audit->hooks);
    sonde__target_self_leave();
    return status != SONDE_OK ? status : swept;
}

static void see_loaded(void)
{
    if (pthread_mutex_trylock(&sweeping) == 0) {
        if (current != NULL) {
            (void)refresh(current);
        }
        pthread_mutex_unlock(&sweeping);
    }
}

static void begin(struct sonde_audit *audit)
{
    (void)sonde__hook_look_for_methods(audit->hooks);
    sonde__record_set_hooked(audit->record);
    sonde__probe_hook_set_recorder(sonde__record_hooked);
    pthread_mutex_lock(&sweeping);
    current = audit;
    pthread_mutex_unlock(&sweeping);
    sonde__hook_set_loaded(see_loaded);
    see_loaded(); /* since the first sweep */
}

enum sonde_status sonde_audit_start(struct sonde_depot *depot, const char *const *functions,
                                    uint32_t count, struct sonde_audit **ret_audit,
                                    struct sonde_error *ret_error)
{
    if (depot == NULL || ret_audit == NULL || !are_names(functions, count)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "needs a depot and 1 to 512 function names",
                                NULL, 0, 0);
    }
    struct sonde_audit *audit = sonde__mem_alloc_zeroed(sizeof *audit);
    if (audit != NULL) {
        audit->names = copy_names(functions, count);
    }
    if (audit == NULL || audit->names == NULL) {
        sonde__mem_free(audit);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    audit->record = (struct sonde__record *)(void *)depot;
    audit->count = count;
    (void)!sonde_stack_prepare(); /* without it captures are slower */
    enum sonde_status status = sonde__record_inspect_images(audit->record);
    if (status != SONDE_OK) {
        (void)sonde__base_fail(ret_error, status, "no memory", NULL, 0, 0);
    } else {
        sonde__target_self_enter();
        status = sonde__hook_start(audit->names, count, 0, &audit->hooks, ret_error);
        sonde__target_self_leave();
    }
    if (status != SONDE_OK) {
        sonde__mem_free(audit->names);
        sonde__mem_free(audit);
        return status;
    }
    begin(audit);
    *ret_audit = audit;
    return SONDE_OK;
}

enum sonde_status sonde_audit_refresh(struct sonde_audit *audit)
{
    if (audit == NULL) {
        return SONDE_USAGE;
    }
    pthread_mutex_lock(&sweeping);
    enum sonde_status status = refresh(audit);
    pthread_mutex_unlock(&sweeping);
    (void)sonde__hook_look_for_methods(audit->hooks);
    return status;
}

enum sonde_status sonde_audit_blind_spots(const struct sonde_audit *audit,
                                          int (*each)(void *ctx,
                                                      const struct sonde_audit_blind_spot *blind),
                                          void *ctx)
{
    size_t count = 0;
    uint32_t method_count = 0;
    if (audit == NULL || each == NULL) {
        return SONDE_USAGE;
    }
    const struct sonde__hook_blind *blind_spots = sonde__hook_blind_spots(audit->hooks, &count);
    for (size_t i = 0; i < count; i++) {
        const struct sonde_audit_blind_spot blind = {
            blind_spots[i].module, blind_spots[i].function,
            sonde__hook_reason_text(blind_spots[i].reason)};
        if (each(ctx, &blind) != 0) {
            return SONDE_OK;
        }
    }
    const struct sonde__hook_method *methods = sonde__hook_methods(audit->hooks, &method_count);
    for (uint32_t i = 0; i < method_count; i++) {
        const char *why = sonde__hook_method_text(atomic_load(&methods[i].state));
        const struct sonde_audit_blind_spot blind = {NULL, methods[i].name, why};
        if (why != NULL && each(ctx, &blind) != 0) {
            return SONDE_OK;
        }
        char text[256];
        const struct sonde_audit_blind_spot overridden = {NULL, methods[i].name, text};
        if (sonde__hook_override_text(methods[i].overrider, methods[i].overriders, text,
                                      sizeof text) &&
            each(ctx, &overridden) != 0) {
            return SONDE_OK;
        }
    }
    return SONDE_OK;
}

void sonde_audit_stop(struct sonde_audit *audit)
{
    if (audit == NULL) {
        return;
    }
    sonde__hook_set_loaded(NULL);
    pthread_mutex_lock(&sweeping);
    current = NULL;
    sonde__target_self_enter();
    sonde__hook_stop(audit->hooks);
    sonde__target_self_leave();
    pthread_mutex_unlock(&sweeping);
    sonde__record_set_hooked(NULL);
    sonde__mem_free(audit->names);
    sonde__mem_free(audit);
}
