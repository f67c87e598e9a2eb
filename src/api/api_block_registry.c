// SPDX-License-Identifier: Apache-2.0
#include <sonde/block_registry.h>

#include <pthread.h>

#include <sonde/stack.h>

#include "base_status.h"
#include "hook.h"
#include "host_run.h"
#include "mem_heap.h"
#include "os.h"
#include "registry_door.h"
#include "registry_group.h"
#include "registry_hooked.h"
#include "target_self.h"

struct sonde_block_registry {
    struct sonde__registry_calls calls; /* first: registry_public.c */
    struct sonde__hooks *hooks;         /* null: stopped */
    void *door;                         /* null: cannot be found from outside */
};

struct sonde_block_snapshot {
    struct sonde__registry_group *groups; /* in order */
    uint32_t count;
};

/* The child has a copy of the table, and one thread with a new id. */
static void after_fork_child(void)
{
    sonde__registry_set_hooked(NULL);
    sonde__registry_forget_thread();
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_child);
}

static void open_door(struct sonde_block_registry *registry)
{
    const struct sonde__record *record = registry->calls.record;
    const struct sonde__registry_door door = {
        .version = SONDE__REGISTRY_DOOR_VERSION,
        .lines = registry->calls.registry.lines,
        .nodes = sonde__record_nodes(record),
        .table = (uintptr_t)registry->calls.registry.memory,
        .depot = (uintptr_t)sonde__record_depot(record),
    };
    if (sonde__host_landmark_create(SONDE__REGISTRY_DOOR_NAME, &door, sizeof door,
                                    &registry->door) != SONDE_OK) {
        registry->door = NULL;
    }
}

enum sonde_status sonde_block_registry_start(struct sonde_depot *depot,
                                             struct sonde_block_registry **ret_registry,
                                             struct sonde_error *ret_error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (depot == NULL || ret_registry == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no depot", NULL, 0, 0);
    }
    struct sonde_block_registry *registry = sonde__mem_alloc_zeroed(sizeof *registry);
    uint8_t *memory = sonde__os_map(sonde__registry_size(SONDE__REGISTRY_LINES));
    if (registry == NULL || memory == NULL) {
        sonde__mem_free(registry);
        if (memory != NULL) {
            sonde__os_unmap(memory, sonde__registry_size(SONDE__REGISTRY_LINES));
        }
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    registry->calls = (struct sonde__registry_calls){
        .registry = {memory, SONDE__REGISTRY_LINES},
        .record = (struct sonde__record *)(void *)depot,
        .now_ns = sonde__os_now_ns,
    };
    (void)!sonde_stack_prepare(); /* without it captures are slower */
    (void)pthread_once(&once, watch_forks);
    enum sonde_status status = sonde__record_inspect_images(registry->calls.record);
    if (status != SONDE_OK) {
        (void)sonde__base_fail(ret_error, status, "no memory", NULL, 0, 0);
    } else {
        sonde__target_self_enter();
        status = sonde__hook_start(sonde__registry_functions, SONDE__REGISTRY_FUNCTIONS, 0,
                                   &registry->hooks, ret_error);
        sonde__target_self_leave();
    }
    if (status != SONDE_OK) {
        sonde_block_registry_destroy(registry);
        return status;
    }
    sonde__registry_set_hooked(&registry->calls);
    sonde__probe_hook_set_recorder(sonde__registry_hooked);
    open_door(registry);
    *ret_registry = registry;
    return SONDE_OK;
}

enum sonde_status sonde_block_registry_refresh(struct sonde_block_registry *registry)
{
    if (registry == NULL || registry->hooks == NULL) {
        return SONDE_USAGE;
    }
    enum sonde_status status = sonde_stack_prepare();
    if (status == SONDE_OK) {
        status = sonde__record_inspect_images(registry->calls.record);
    }
    sonde__target_self_enter();
    enum sonde_status swept = sonde__hook_sweep(registry->hooks);
    sonde__target_self_leave();
    return status != SONDE_OK ? status : swept;
}

void sonde_block_registry_stop(struct sonde_block_registry *registry)
{
    if (registry != NULL && registry->hooks != NULL) {
        sonde__target_self_enter();
        sonde__hook_stop(registry->hooks);
        sonde__target_self_leave();
        sonde__registry_set_hooked(NULL);
        registry->hooks = NULL;
    }
}

void sonde_block_registry_destroy(struct sonde_block_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    sonde_block_registry_stop(registry);
    if (registry->door != NULL) {
        sonde__os_unmap(registry->door, sizeof(struct sonde__registry_door));
    }
    sonde__os_unmap(registry->calls.registry.memory, sonde__registry_size(SONDE__REGISTRY_LINES));
    sonde__mem_free(registry);
}

enum sonde_status sonde_block_snapshot_take(const struct sonde_block_registry *registry,
                                            struct sonde_block_snapshot **ret_snapshot)
{
    if (registry == NULL || ret_snapshot == NULL) {
        return SONDE_USAGE;
    }
    const struct sonde__registry *table = &registry->calls.registry;
    /* other threads keep running */
    uint32_t blocks, most = sonde__registry_count(table) + 1024;
    struct sonde_block_snapshot *snapshot = sonde__mem_alloc_zeroed(sizeof *snapshot);
    struct sonde__registry_group *groups = sonde__mem_alloc_array(most, sizeof *groups);
    if (snapshot == NULL || groups == NULL) {
        sonde__mem_free(snapshot);
        sonde__mem_free(groups);
        return SONDE_MEMORY;
    }
    snapshot->count = sonde__registry_groups(table, groups, most, &blocks);
    snapshot->groups = groups;
    *ret_snapshot = snapshot;
    return SONDE_OK;
}

void sonde_block_snapshot_destroy(struct sonde_block_snapshot *snapshot)
{
    if (snapshot != NULL) {
        sonde__mem_free(snapshot->groups);
        sonde__mem_free(snapshot);
    }
}

enum sonde_status sonde_block_snapshot_growth(
    const struct sonde_block_snapshot *before, const struct sonde_block_snapshot *now,
    int (*each)(void *ctx, const struct sonde_block_growth *growth), void *ctx)
{
    if (now == NULL || each == NULL) {
        return SONDE_USAGE;
    }
    uint32_t before_count = before != NULL ? before->count : 0;
    for (uint32_t i = 0, k = 0; i < now->count || k < before_count;) {
        int order = i == now->count ? 1
                    : k == before_count
                        ? -1
                        : sonde__registry_group_order(&now->groups[i], &before->groups[k]);
        const struct sonde__registry_group *one = order <= 0 ? &now->groups[i] : &before->groups[k];
        struct sonde_block_growth growth = {.stack = one->stack, .invoke = one->invoke};
        if (order <= 0) {
            growth.count = now->groups[i].count;
            growth.size_bytes = now->groups[i++].size_bytes;
        }
        if (order >= 0) {
            growth.count_before = before->groups[k].count;
            growth.size_bytes_before = before->groups[k++].size_bytes;
        }
        if ((growth.count != growth.count_before ||
             growth.size_bytes != growth.size_bytes_before) &&
            each(ctx, &growth) != 0) {
            break;
        }
    }
    return SONDE_OK;
}
