// SPDX-License-Identifier: Apache-2.0
/* The loaded images, from dyld's callbacks, for look-ups without a lock.
 *
 * dyld calls back for every loaded image and for each one loaded or unloaded later, one call at a
 * time; an image's code runs only after its callback. So a frame's image is in the table as long as
 * the frame exists. A look-up copies an entry and checks its version: an entry that changed
 * meanwhile belongs to an image being loaded or unloaded, which has no frame.
 *
 * The search is linear, newest entry first: a walk looks up once per run of frames in one image,
 * and a program has some hundred images (1 ns each). dyld's own functions were rejected: they take
 * its lock, which a stopped thread may hold. Context: handler (look-up); dyld's callback (the
 * rest). */
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <pthread.h>

#include "base_mem.h"
#include "os.h"
#include "os_images.h"

/* A program with many frameworks has a thousand. Further images are unknown and counted: a walk
 * ends at their frames, and reports why. */
enum { IMAGES_MAX = 4096 };

static struct entry {
    uint32_t version;             /* odd: being changed */
    struct sonde__os_image image; /* end 0: free */
    const char *path;             /* guarded by `hold` */
} entries[IMAGES_MAX];
static uint32_t entry_count; /* later entries were never used */

/* Taken in dyld's callbacks, and by readers of the whole list. Whoever has it calls nothing of
 * dyld's, whose lock a callback has already. */
static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
static uint64_t holder;                      /* thread pointer; 0: nobody */
static uint32_t depth;                       /* guarded by `hold` */
static struct sonde__os_image_counts counts; /* guarded by `hold` */

/* Segment and section names are compared as 16 bytes. */
static bool has_name(const char name[16], const char *wanted)
{
    for (unsigned i = 0; i < 16; i++) {
        if (name[i] != wanted[i]) {
            return false;
        }
        if (wanted[i] == '\0') {
            return true;
        }
    }
    return true;
}

static void note_sections(struct sonde__os_image *image, const struct segment_command_64 *text,
                          uint64_t slide)
{
    const struct section_64 *sections = (const struct section_64 *)(text + 1);
    for (uint32_t i = 0; i < text->nsects; i++) {
        if (has_name(sections[i].sectname, "__unwind_info")) {
            image->unwind_info = sections[i].addr + slide;
            image->unwind_info_size = sections[i].size;
        } else if (has_name(sections[i].sectname, "__eh_frame")) {
            image->eh_frame = sections[i].addr + slide;
            image->eh_frame_size = sections[i].size;
        }
    }
}

/* Read the image's header, which dyld has checked and mapped. */
static bool read_image(const struct mach_header *header, uint64_t slide,
                       struct sonde__os_image *ret_image)
{
    const struct mach_header_64 *header64 = (const struct mach_header_64 *)header;
    const char *at = (const char *)(header64 + 1);
    for (uint32_t i = 0; header->magic == MH_MAGIC_64 && i < header->ncmds; i++) {
        const struct load_command *command = (const struct load_command *)(const void *)at;
        const struct segment_command_64 *segment = (const void *)at;
        if (command->cmd == LC_SEGMENT_64 && has_name(segment->segname, "__TEXT")) {
            struct sonde__os_image image = {
                .start = (uint64_t)(uintptr_t)header,
                .end = segment->vmaddr + slide + segment->vmsize,
                .key = (uint64_t)(uintptr_t)header,
            };
            note_sections(&image, segment, slide);
            *ret_image = image;
            return true;
        }
        at += command->cmdsize;
    }
    return false;
}

static void set_entry(struct entry *entry, const struct sonde__os_image *image)
{
    __atomic_store_n(&entry->version, entry->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    entry->image = *image;
    __atomic_store_n(&entry->version, entry->version + 1, __ATOMIC_RELEASE);
}

static const char *path_of(const struct mach_header *header)
{
    Dl_info info;
    return dladdr(header, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "";
}

static void add_entry(const struct sonde__os_image *image, const char *path)
{
    uint32_t at = 0;
    while (at < entry_count && entries[at].image.end != 0) {
        at++;
    }
    if (at == IMAGES_MAX) {
        counts.lost++;
        return;
    }
    entries[at].path = path;
    set_entry(&entries[at], image);
    if (at == entry_count) {
        __atomic_store_n(&entry_count, at + 1, __ATOMIC_RELEASE);
    }
}

static void add_image(const struct mach_header *header, intptr_t slide)
{
    struct sonde__os_image image;
    if (!read_image(header, (uint64_t)slide, &image)) {
        return;
    }
    const char *path = path_of(header);
    sonde__os_images_hold();
    counts.added++;
    add_entry(&image, path);
    sonde__os_images_release();
}

static void remove_image(const struct mach_header *header, intptr_t slide)
{
    static const struct sonde__os_image none = {.end = 0};
    bool is_found = false;
    (void)slide;
    sonde__os_images_hold();
    for (uint32_t i = 0; i < entry_count; i++) {
        if (entries[i].image.end != 0 && entries[i].image.key == (uint64_t)(uintptr_t)header) {
            set_entry(&entries[i], &none);
            is_found = true;
        }
    }
    counts.removed++;
    counts.lost -= !is_found && counts.lost > 0;
    sonde__os_images_release();
}

/* --- the whole list --- */

void sonde__os_images_hold(void)
{
    uint64_t self = sonde__os_thread_pointer();
    if (__atomic_load_n(&holder, __ATOMIC_RELAXED) != self) {
        (void)pthread_mutex_lock(&hold);
        __atomic_store_n(&holder, self, __ATOMIC_RELAXED);
    }
    depth++;
}

void sonde__os_images_release(void)
{
    if (--depth == 0) {
        __atomic_store_n(&holder, 0, __ATOMIC_RELAXED);
        (void)pthread_mutex_unlock(&hold);
    }
}

struct sonde__os_image_counts sonde__os_images_counts(void)
{
    return counts;
}

bool sonde__os_images_next(uint32_t *at, struct sonde__os_image *ret_image, const char **ret_path)
{
    while (*at < entry_count) {
        const struct entry *entry = &entries[(*at)++];
        if (entry->image.end != 0) {
            *ret_image = entry->image;
            *ret_path = entry->path;
            return true;
        }
    }
    return false;
}

/* Found by name, not linked: a static linker for Darwin refuses a name that no library has, also a
 * weak one, and most programs link no Swift runtime. One that is loaded later is not seen. */
static void *(*find_task)(void);

uint64_t sonde__os_swift_task(void)
{
    return find_task != NULL ? (uint64_t)(uintptr_t)find_task() : 0;
}

/* Runs before main(): dyld calls add_image() for all loaded images before this returns. */
__attribute__((constructor)) static void watch_images(void)
{
    _dyld_register_func_for_add_image(add_image);
    _dyld_register_func_for_remove_image(remove_image);
    const void *function = dlsym(RTLD_DEFAULT, "swift_task_getCurrent");
    sonde__base_mem_copy(&find_task, &function, sizeof find_task);
}

bool sonde__os_loader_answers(void)
{
    return true;
}

uint32_t sonde__os_program_code(struct sonde__os_range *ret_ranges, uint32_t capacity)
{
    (void)ret_ranges, (void)capacity;
    return 0;
}

bool sonde__os_find_image(uint64_t pc, struct sonde__os_image *ret_image)
{
    uint32_t count = __atomic_load_n(&entry_count, __ATOMIC_ACQUIRE);
    while (count-- > 0) {
        const struct entry *entry = &entries[count];
        uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
        if (pc - entry->image.start >= entry->image.end - entry->image.start) {
            continue;
        }
        struct sonde__os_image image = entry->image;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((version & 1) == 0 && version == __atomic_load_n(&entry->version, __ATOMIC_RELAXED)) {
            *ret_image = image;
            return true;
        }
    }
    return false;
}
