// SPDX-License-Identifier: Apache-2.0
/* A registry in the process itself, over the small runtime of the example. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/block_registry.h>

#include "test.h"

void *_Block_copy(const void *block);   /* NOLINT: the runtime's names */
void _Block_release(const void *block); /* NOLINT */

static const uint64_t descriptor[2] = {0, 32};
static const struct {
    const void *isa;
    uint32_t flags, reserved;
    void (*invoke)(void);
    const void *descriptor;
} block = {NULL, 0, 0, NULL, descriptor};

static struct sonde_depot *depot;
static struct sonde_block_registry *registry;

static void start(void)
{
    struct sonde_error error;
    CHECK_EQ(sonde_depot_create(0, &depot), SONDE_OK);
    CHECK_EQ(sonde_block_registry_start(depot, &registry, &error), SONDE_OK);
}

static void end(void)
{
    sonde_block_registry_destroy(registry);
    sonde_depot_destroy(depot);
}

static bool is_noted(const void *at)
{
    struct sonde_block_made made = {.struct_bytes = sizeof made};
    return sonde_block_registry_find(registry, (uintptr_t)at, &made) == SONDE_OK;
}

static uint64_t made_count(void)
{
    struct sonde_block_registry_stat stat = {.struct_bytes = sizeof stat};
    CHECK_EQ(sonde_block_registry_stat(registry, &stat), SONDE_OK);
    return stat.made;
}

TEST(keeps_a_block_until_it_is_freed)
{
    struct sonde_block_made made = {.struct_bytes = sizeof made};
    start();
    void *at = _Block_copy(&block);
    CHECK_EQ(sonde_block_registry_find(registry, (uintptr_t)at, &made), SONDE_OK);
    CHECK_EQ(made.address, (uintptr_t)at);
    CHECK_EQ(made.tid, getpid()); /* of the main thread */
    CHECK_EQ(made.size_bytes, 32);
    CHECK(made.stack != 0);
    CHECK(_Block_copy(at) == at);
    _Block_release(at);
    CHECK(is_noted(at));
    _Block_release(at);
    CHECK(!is_noted(at));
    end();
}

TEST(keeps_blocks_after_the_stop)
{
    struct sonde_block_snapshot *snapshot;
    start();
    void *at = _Block_copy(&block);
    sonde_block_registry_stop(registry);
    void *later = _Block_copy(&block);
    CHECK(is_noted(at));
    CHECK(!is_noted(later));
    CHECK_EQ(made_count(), 1);
    CHECK_EQ(sonde_block_registry_refresh(registry), SONDE_USAGE);
    CHECK_EQ(sonde_block_snapshot_take(registry, &snapshot), SONDE_OK);
    sonde_block_snapshot_destroy(snapshot);
    _Block_release(at);
    _Block_release(later);
    end();
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
}

/* Signal actions are the embedder's, with their flags and masks. */
TEST(changes_no_signal_action)
{
    struct sigaction before[NSIG], after,
        own = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    sigaddset(&own.sa_mask, SIGUSR1);
    for (int i = 1; i < NSIG; i++) {
        (void)sigaction(i, &own, NULL); /* those that may be caught */
        memset(&before[i], 0, sizeof before[i]);
        (void)sigaction(i, NULL, &before[i]);
    }
    start();
    end();
    for (int i = 1; i < NSIG; i++) {
        memset(&after, 0, sizeof after);
        (void)sigaction(i, NULL, &after);
        CHECK(after.sa_sigaction == before[i].sa_sigaction);
        CHECK_EQ(after.sa_flags, before[i].sa_flags);
        CHECK_EQ(memcmp(&after.sa_mask, &before[i].sa_mask, 8), 0); /* what the kernel has */
    }
}

TEST(allows_one_registry_at_a_time)
{
    struct sonde_block_registry *second;
    struct sonde_error error;
    start();
    CHECK_EQ(sonde_block_registry_start(depot, &second, &error), SONDE_BUSY);
    CHECK_EQ(sonde_block_registry_start(NULL, &second, &error), SONDE_USAGE);
    end();
    start();
    end();
}

TEST(records_nothing_in_a_fork_child)
{
    int status;
    start();
    void *at = _Block_copy(&block);
    pid_t child = fork();
    if (child == 0) {
        void *other = _Block_copy(&block);
        bool is_right = is_noted(at) && !is_noted(other) && made_count() == 1;
        struct sonde_block_made made = {.struct_bytes = sizeof made};
        sonde_block_registry_destroy(registry);
        start(); /* one of its own */
        other = _Block_copy(&block);
        (void)!sonde_block_registry_find(registry, (uintptr_t)other, &made);
        _exit(is_right && made.tid == (uint64_t)getpid() ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(made_count(), 1);
    _Block_release(at);
    end();
}
