// SPDX-License-Identifier: Apache-2.0
/* Finds V8 in the program. Its code has no call frame information and keeps frame records
 * (capture_record.h). */
#include <dlfcn.h>
#include <string.h>

#include "capture_record.h"
#include "recorder.h"

/* V8's own code in its image, which versions up to 12.4 tell
 * (v8::internal::DefaultEmbeddedBlobCode). Where there is memory enough, V8 runs a copy of it. */
static void find_own_code(uint64_t *ret_start, uint64_t *ret_end)
{
    void *code = dlsym(RTLD_DEFAULT, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv");
    void *size = dlsym(RTLD_DEFAULT, "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv");
    const uint8_t *(*get_code)(void);
    uint32_t (*get_size)(void);
    *ret_start = *ret_end = 0;
    if (code != NULL && size != NULL) {
        memcpy(&get_code, &code, sizeof get_code);
        memcpy(&get_size, &size, sizeof get_size);
        *ret_start = (uint64_t)(uintptr_t)get_code();
        *ret_end = *ret_start + get_size();
    }
}

void recorder_look_for_v8(void)
{
    static bool is_found;
    uint64_t start = 0, end = 0;
    if (is_found) {
        return;
    }
    is_found = dlsym(RTLD_DEFAULT, "v8dbg_off_fp_function") != NULL;
    if (is_found) {
        find_own_code(&start, &end);
        sonde__capture_expect_records(start, end);
    }
    (void)dlerror(); /* not the program's error */
}
