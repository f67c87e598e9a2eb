// SPDX-License-Identifier: Apache-2.0
#include "drain_jit.h"

#include "os.h"
#include "symfile_jit.h"
#include "target_jit.h"

#define PAUSE_NS     1000000000u
#define PAUSE_FACTOR 50u /* times the duration of the last reading */

void drain_jit_done(struct drain_jit *jit)
{
    sonde__jit_done(&jit->names);
}

/* Add an ELF of GDB's list. */
static enum sonde_status add_elf(void *ctx, const void *data, size_t size)
{
    struct drain_jit *jit = ctx;
    enum sonde_status status = sonde__jit_add_elf(&jit->names, data, size);
    return status == SONDE_UNSUPPORTED ? SONDE_OK : status;
}

static void read_all(struct drain_jit *jit, struct sonde__report *report)
{
    char note[SONDE__SYMFILE_JIT_NOTE] = "";
    uint64_t begin_ns = sonde__os_now_ns();
    enum sonde_status status = SONDE_OK;
    sonde__jit_done(&jit->names);
    if (sonde__target_is_live(jit->target)) {
        status = sonde__symfile_jit(sonde__target_pid(jit->target), sonde__target_root(jit->target),
                                    &jit->names, note);
    }
    if (status == SONDE_OK) {
        status = sonde__target_each_jit_elf(jit->target, add_elf, jit, &jit->names.bad);
    }
    if (status != SONDE_OK || sonde__jit_settle(&jit->names) != SONDE_OK) {
        sonde__jit_done(&jit->names);
    }
    if (note[0] != '\0' && jit->noted == 0) {
        sonde__report_add_note(report, note);
        jit->noted++;
    }
    jit->is_read = true;
    uint64_t now_ns = sonde__os_now_ns();
    jit->next_ns = now_ns + PAUSE_NS + PAUSE_FACTOR * (now_ns - begin_ns);
}

bool drain_jit_find(struct drain_jit *jit, struct sonde__report *report, uint64_t address,
                    struct sonde__jit_code *ret_code)
{
    if (jit->target == NULL || jit->symbols == NULL) {
        return false;
    }
    if (!jit->is_read || sonde__os_now_ns() >= jit->next_ns) {
        read_all(jit, report);
    }
    return sonde__jit_find(&jit->names, address, ret_code);
}
