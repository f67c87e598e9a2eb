// SPDX-License-Identifier: Apache-2.0
/* A loader that does not say which images are loaded (glibc before 2.35): a memo gives no frames of
 * code that may be unloaded. */
#include "capture_images.h"
#include "capture_memo.h"
#include "os.h"
#include "test.h"

static bool is_silent;

bool __wrap_sonde__os_loader_answers(void);
bool __wrap_sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image);
bool __real_sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image);

bool __wrap_sonde__os_loader_answers(void)
{
    return !is_silent;
}

bool __wrap_sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image)
{
    return !is_silent && __real_sonde__os_find_image(pc, ret_image);
}

TEST(images_that_may_be_unloaded_are_not_remembered)
{
    struct sonde__os_image found;
    CHECK(sonde__os_find_image((uint64_t)(uintptr_t)test_fail, &found));
    struct sonde__memo_image image = {
        .start = found.start,
        .end = found.end,
        .eh_frame_hdr = (const uint8_t *)(uintptr_t)found.eh_frame_hdr,
        .build_id_at = (const uint8_t *)(uintptr_t)found.start,
        .build_id = {.size = 4, .bytes = {0x7f, 'E', 'L', 'F'}}, /* what stands there, too */
    };
    CHECK(sonde__capture_image_is_still_loaded(&image));
    is_silent = true;
    CHECK(!sonde__capture_image_is_still_loaded(&image));
}
