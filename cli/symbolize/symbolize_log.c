// SPDX-License-Identifier: Apache-2.0
#include "symbolize_log.h"

#include <string.h>

#include "mem_heap.h"

/* More than any process has. */
enum { IMAGES_MAX = 4096 };

bool symbolize_log_add(struct symbolize_log *images, const struct symbolize_log_image *image)
{
    if (images->count == IMAGES_MAX) {
        return true;
    }
    return SONDE__MEM_ADD(images->all, images->count, images->capacity, *image);
}

const struct symbolize_log_image *symbolize_log_at(const struct symbolize_log *images,
                                                   uint64_t address)
{
    const struct symbolize_log_image *found = NULL;
    for (size_t i = 0; i < images->count; i++) {
        const struct symbolize_log_image *image = &images->all[i];
        if (address >= image->base && address <= image->end &&
            (found == NULL || image->base > found->base ||
             (image->base == found->base && image->end < found->end))) {
            found = image;
        }
    }
    return found;
}

void symbolize_log_uuid(const char *text, size_t size, char ret_digits[SYMBOLIZE_LOG_UUID])
{
    size_t digits = 0;
    for (size_t i = 0; i < size; i++) {
        char c = (char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] | 0x20 : text[i]);
        if (((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) && digits < 32) {
            ret_digits[digits++] = c;
        } else if (c != '-') {
            digits = 0;
            break;
        }
    }
    ret_digits[digits == 32 ? digits : 0] = '\0';
    if (strspn(ret_digits, "0") == digits) {
        ret_digits[0] = '\0'; /* the system did not know it */
    }
}
