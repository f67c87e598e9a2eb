// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: memory of an interpreter, of any content. The input is a recording of what was read
 * (recorded_memory.h). */
#include "fuzz.h"
#include "recorded_memory.h"

static void check(const struct sonde__script *script)
{
    FUZZ_MUST(script->count <= SONDE__SCRIPT_FRAMES_MAX);
    FUZZ_MUST((script->state == SONDE__SCRIPT_READ) == (script->count != 0));
    FUZZ_MUST((script->why != NULL) == (script->state == SONDE__SCRIPT_DAMAGED));
    FUZZ_MUST(script->waiting_count <= SONDE__RUNTIME_WAITING);
    FUZZ_MUST(script->waiting_count == 0 ||
              script->waiting[script->waiting_count - 1].task != NULL);
    for (uint32_t i = 0; i < script->waiting_count; i++) {
        FUZZ_MUST(script->waiting[i].function != NULL && script->waiting[i].file != NULL);
    }
    for (uint32_t i = 0; i < script->parked_count; i++) {
        const struct sonde__script_parked *parked = &script->parked[i];
        FUZZ_MUST(parked->tasks > 0 && parked->count > 0);
        FUZZ_MUST(parked->frames[parked->count - 1].task != NULL);
    }
    for (uint32_t i = 0; i < script->count; i++) {
        FUZZ_MUST(script->frames[i].function[0] != '\0' || script->frames[i].file != NULL);
        FUZZ_MUST(i == 0 || script->frames[i].run >= script->frames[i - 1].run);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recorded_memory recorded;
    struct sonde__runtime *runtime;
    struct sonde__script script;
    if (!recorded_open(data, size, &recorded)) {
        return 0;
    }
    const struct sonde__runtime_memory memory = {recorded_read, &recorded};
    if (sonde__runtime_open_at(recorded.runtime, recorded.version, &memory, &runtime, NULL) !=
        SONDE_OK) {
        return 0;
    }
    for (int again = 0; again < 2; again++) { /* again, with what is known by now */
        sonde__runtime_read(runtime, recorded.tid, &script);
        sonde__runtime_read_loop(runtime, &script);
        check(&script);
    }
    sonde__runtime_close(runtime);
    return 0;
}
