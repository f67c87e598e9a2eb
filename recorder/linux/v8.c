// SPDX-License-Identifier: Apache-2.0
/* Finds V8 in the program, and lets recorded calls have functions of JavaScript (record_v8.h). Its
 * code has no call frame information and keeps frame records (capture_record.h). */
#include <dlfcn.h>
#include <string.h>

#include "capture_images.h"
#include "capture_record.h"
#include "record_v8.h"
#include "recorder.h"
#include "runtime_copied.h"

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

static enum sonde_status make_plan(const struct sonde__elf *elf, uint64_t bias, void *ret_layout,
                                   struct sonde_error *error)
{
    (void)bias;
    return sonde__runtime_plan_v8(elf, ret_layout, error);
}

static void begin(uint64_t address)
{
    struct sonde__script_page *page = &recorder_page->script;
    struct sonde__capture_pin pin = sonde__capture_pin();
    const struct sonde__image *image = recorder_image_of(pin.images, address);
    struct v8_layout layout = {.arch = 0};
    struct sonde_error error = {0};
    if (image != NULL && atomic_load(&page->is_set) == SONDE__SCRIPT_UNSET) {
        enum sonde_status status = recorder_read_image(image, make_plan, &layout, &error);
        if (status != SONDE_OK) {
            recorder_refuse_script(error.what[0] != '\0' ? error.what : sonde_status_text(status));
        } else if (!sonde__record_v8_begin(&layout)) {
            recorder_refuse_script("out of memory");
        } else {
            page->runtime = address;
            atomic_store_explicit(&page->is_set, SONDE__SCRIPT_JAVASCRIPT, memory_order_release);
        }
    }
    sonde__capture_unpin(pin);
}

void recorder_look_for_v8(void)
{
    static bool is_found;
    uint64_t start = 0, end = 0;
    if (is_found) {
        return;
    }
    const void *stated = dlsym(RTLD_DEFAULT, "v8dbg_off_fp_function");
    const void *other = stated == NULL ? dlsym(RTLD_DEFAULT, "napi_create_function") : NULL;
    is_found = stated != NULL || other != NULL;
    if (stated != NULL) {
        find_own_code(&start, &end);
        sonde__capture_expect_records(start, end);
        begin((uint64_t)(uintptr_t)stated);
    } else if (other != NULL) { /* an engine that is not read (runtime.c) */
        begin((uint64_t)(uintptr_t)other);
    }
    (void)dlerror(); /* not the program's error */
}
