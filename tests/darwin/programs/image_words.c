// SPDX-License-Identifier: Apache-2.0
#include "image_words.h"

#include <dlfcn.h>
#include <mach-o/loader.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <mach/vm_page_size.h>
#include <stdlib.h>
#include <string.h>

int image_words_protection(uint64_t address)
{
    vm_address_t start = address;
    vm_size_t size = 0;
    vm_region_basic_info_data_64_t info;
    mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
    mach_port_t object;
    return vm_region_64(mach_task_self(), &start, &size, VM_REGION_BASIC_INFO_64,
                        (vm_region_info_t)&info, &count, &object) == KERN_SUCCESS &&
                   start <= address
               ? info.protection
               : -1;
}

/* The image's end in memory, from its header. */
static uint64_t end_of(const struct mach_header_64 *header)
{
    const char *at = (const char *)(header + 1);
    uint64_t end = 0, text = 0;
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        if (segment->cmd == LC_SEGMENT_64 && segment->vmaddr + segment->vmsize > end) {
            end = segment->vmaddr + segment->vmsize;
        }
        if (segment->cmd == LC_SEGMENT_64 && strcmp(segment->segname, "__TEXT") == 0) {
            text = segment->vmaddr;
        }
        at += segment->cmdsize;
    }
    return end - text + (uint64_t)header;
}

void image_words_copy(struct image_words *words, const void *in_image)
{
    Dl_info info;
    if (dladdr(in_image, &info) == 0) {
        abort();
    }
    uint64_t start = (uint64_t)info.dli_fbase, size = end_of(info.dli_fbase) - start;
    free(words->values);
    free(words->protections);
    words->start = start;
    words->count = (unsigned)(size / sizeof(uint64_t));
    words->page_count = (unsigned)((size + vm_page_size - 1) / vm_page_size);
    words->values = calloc(words->count, sizeof *words->values);
    words->protections = calloc(words->page_count, sizeof *words->protections);
    for (unsigned i = 0; i < words->page_count; i++) {
        words->protections[i] = image_words_protection(start + i * vm_page_size);
        for (unsigned k = i * (unsigned)vm_page_size / 8;
             k < words->count && k < (i + 1) * (unsigned)vm_page_size / 8 &&
             (words->protections[i] & VM_PROT_READ) != 0;
             k++) {
            words->values[k] = ((const uint64_t *)start)[k];
        }
    }
}

unsigned image_words_changed(const struct image_words *a, const struct image_words *b,
                             const uint64_t *ret_at[IMAGE_WORDS_CHANGED_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < a->count && i < b->count; i++) {
        if (a->values[i] != b->values[i]) {
            if (count < IMAGE_WORDS_CHANGED_MAX) {
                ret_at[count] = (const uint64_t *)a->start + i;
            }
            count++;
        }
    }
    return count;
}

int image_words_protected_alike(const struct image_words *a, const struct image_words *b)
{
    return a->page_count == b->page_count &&
           memcmp(a->protections, b->protections, a->page_count * sizeof a->protections[0]) == 0;
}
