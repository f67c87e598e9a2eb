// SPDX-License-Identifier: Apache-2.0
/* Wraps the recorder's hot half (recorder/call.c and count.c, compiled here unchanged except for
 * its two outer names); its walks are not limited. Compiled as handler code. */
#include "checked.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_memo.h"
#include "capture_walk.h"
#include "recorder.h"

static struct checked_log *entries;

uint64_t checked_recorder_call(const struct sonde__probe_hook *hook,
                               const struct sonde__regs *regs);
uint32_t checked_record_count(struct sonde__record *record, uint32_t label, uint32_t stack,
                              bool is_stranger);

void checked_limit_walks(struct sonde__record *record);

uint32_t checked_script_stack(struct sonde__record *record, struct sonde__script_page *page,
                              uint32_t native);

static __thread const struct sonde__regs *caller;
static __thread uint32_t native_stack; /* without functions of scripts */

/* Stacks are compared as wholes. */
void checked_limit_walks(struct sonde__record *record)
{
    (void)record;
}

/* A walk without the memo, frame by frame: independent of the recorder. */
static void note(const struct sonde__regs *regs, uint32_t label, uint32_t id)
{
    uint64_t pcs[SONDE__RECORD_DEPTH];
    uint8_t how[SONDE__RECORD_DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE__RECORD_DEPTH, SONDE__RECORD_OUTER);
    sonde__capture_memo_disable(true);
    sonde__capture_walk(&stack, regs, false, 0, SONDE__CAPTURE_OWN);
    sonde__capture_memo_disable(false);
    uint64_t size = sizeof(struct checked_entry) + stack.count * sizeof pcs[0];
    uint64_t at = atomic_fetch_add(&entries->used, size);
    if (at + size > entries->size - sizeof *entries) {
        atomic_fetch_add(&entries->missing, 1);
        return;
    }
    struct checked_entry *entry = (struct checked_entry *)(void *)&entries->entries[at / 8];
    *entry = (struct checked_entry){
        .label = label,
        .id = id,
        .closed = sonde__depot_stat(sonde__record_depot(recorder_record)).closed,
        .count = (uint16_t)stack.count,
        .lost = (uint16_t)stack.lost_count,
        .end = stack.end,
    };
    for (uint32_t i = 0; i < stack.count; i++) {
        ((uint64_t *)(void *)(entry + 1))[i] = pcs[i];
    }
}

uint32_t checked_script_stack(struct sonde__record *record, struct sonde__script_page *page,
                              uint32_t native)
{
    uint32_t stack = sonde__record_script_stack(record, page, native);
    native_stack = native; /* that of a call in a handler was before */
    return stack;
}

/* The recorder calls this when it has the stack's id. */
uint32_t checked_record_count(struct sonde__record *record, uint32_t label, uint32_t stack,
                              bool is_stranger)
{
    if (entries != NULL) {
        note(caller, label, is_stranger ? stack : native_stack);
    }
    return sonde__record_count(record, label, stack, is_stranger);
}

uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    if (hook->function >= RECORDER_EVENT_FUNCTION || sonde_test_traps_inside == NULL) {
        caller = regs;
        return checked_recorder_call(hook, regs);
    }
    const struct sonde__regs *before = caller;
    caller = regs;
    ++*sonde_test_traps_inside();
    uint64_t target = checked_recorder_call(hook, regs);
    --*sonde_test_traps_inside();
    caller = before; /* that of the call that a handler has interrupted */
    return target;
}

/* Before the recorder starts. Its own mapping, so that a fork child may go on in it. */
static __attribute__((constructor(101))) void open_log(int argc, char **argv, char **envp)
{
    static const char name[] = CHECKED_LOG_VARIABLE "=";
    struct stat status;
    (void)argc, (void)argv;
    for (; *envp != NULL; envp++) {
        unsigned i = 0;
        while (name[i] != '\0' && (*envp)[i] == name[i]) {
            i++;
        }
        int fd = name[i] == '\0' ? open(*envp + i, O_RDWR | O_CLOEXEC) : -1;
        if (fd < 0 || fstat(fd, &status) != 0) {
            continue;
        }
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void)close(fd);
        if (at != MAP_FAILED) {
            entries = at;
            entries->size = (uint64_t)status.st_size;
        }
    }
}
