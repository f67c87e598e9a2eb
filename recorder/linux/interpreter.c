// SPDX-License-Identifier: Apache-2.0
/* What the search for an interpreter needs, of each language. */
#include <string.h>

#include "base_status.h"
#include "capture_images.h"
#include "host_file.h"
#include "image_elf.h"
#include "recorder.h"

#define FILE_MAX ((uint64_t)1 << 32)

const struct sonde__image *recorder_image_of(const struct sonde__image_set *images,
                                             uint64_t address)
{
    for (uint32_t i = 0; images != NULL && i < images->image_count; i++) {
        if (address >= images->images[i].start && address < images->images[i].end) {
            return &images->images[i];
        }
    }
    return NULL;
}

static bool is_same_build(const struct sonde__elf *elf, const struct sonde__image *image)
{
    struct sonde__build_id id = {.size = 0};
    (void)sonde__elf_build_id(elf, &id);
    return id.size == image->build_id.size && memcmp(id.bytes, image->build_id.bytes, id.size) == 0;
}

enum sonde_status recorder_read_image(const struct sonde__image *image, recorder_read *read,
                                      void *ret, struct sonde_error *error)
{
    struct sonde__host_file file;
    struct sonde__elf elf;
    enum sonde_status status = sonde__host_file_map(NULL, image->path, FILE_MAX, &file, error);
    if (status == SONDE_OK) {
        status = sonde__elf_open(file.data, file.size, &elf, error);
        if (status == SONDE_OK && !is_same_build(&elf, image)) {
            status = sonde__base_fail(error, SONDE_ABSENT, "its file was replaced", NULL, 0, 0);
        }
        if (status == SONDE_OK) {
            status = read(&elf, image->bias, ret, error);
        }
        sonde__host_file_unmap(&file);
    }
    return status;
}

void recorder_refuse_script(const char *why)
{
    char *to = recorder_page->script.unread;
    size_t most = sizeof recorder_page->script.unread - 1, size = strlen(why);
    memcpy(to, why, size < most ? size : most);
}
