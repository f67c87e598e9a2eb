// SPDX-License-Identifier: Apache-2.0
/* Reads JavaScript functions from recorded memory (recorded_v8.h). */
#include "fuzz.h"
#include "recorded_v8.h"

static void check(const struct sonde__script *script, const struct sonde__runtime *runtime,
                  const struct sonde_stack *stack)
{
    FUZZ_MUST((script->state == SONDE__SCRIPT_READ) == (script->count != 0 && script->why == NULL));
    FUZZ_MUST((script->why != NULL) == (script->state == SONDE__SCRIPT_DAMAGED));
    for (uint32_t i = 0; i < script->count && script->why == NULL; i++) {
        FUZZ_MUST(script->frames[i].function[0] != '\0' && script->frames[i].file != NULL);
        FUZZ_MUST(runtime->natives[i] < stack->count);
        FUZZ_MUST(i == 0 || runtime->natives[i] > runtime->natives[i - 1]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct recorded_v8 recorded;
    struct sonde__runtime *runtime;
    struct sonde__script script;
    if (!recorded_v8_open(data, size, &recorded)) {
        return 0;
    }
    const struct sonde__runtime_memory memory = {recorded_read, &recorded.memory};
    const struct sonde__runtime_native native = {.stack = &recorded.stack, .fps = recorded.fps};
    if (sonde__runtime_open_v8(&recorded.stated, &memory, &runtime, NULL) != SONDE_OK) {
        return 0;
    }
    for (int again = 0; again < 2; again++) { /* again, with what is known by now */
        sonde__runtime_read_stack(runtime, recorded.memory.tid, &native, &script);
        check(&script, runtime, &recorded.stack);
    }
    sonde__runtime_close(runtime);
    return 0;
}
