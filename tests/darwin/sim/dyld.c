// SPDX-License-Identifier: Apache-2.0
/* The images, as dyld reports them. Tests load and unload one by sim_tell_image(). */
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <string.h>

#include "sim.h"

uint32_t _dyld_image_count(void)
{
    return host_count_images();
}

const struct mach_header *_dyld_get_image_header(uint32_t index)
{
    const void *header = 0;
    uint64_t slide = 0;
    const char *path = 0;
    if (index >= host_count_images()) {
        return 0;
    }
    host_get_image(index, &header, &slide, &path);
    return header;
}

intptr_t _dyld_get_image_vmaddr_slide(uint32_t index)
{
    const void *header = 0;
    uint64_t slide = 0;
    const char *path = 0;
    host_get_image(index, &header, &slide, &path);
    return (intptr_t)slide;
}

/* Knows exported symbols by their exact address only. */
int dladdr(const void *address, Dl_info *ret_info)
{
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0;
        const char *path = 0;
        host_get_image(i, &header, &slide, &path);
        if ((uint64_t)address - (uint64_t)header < host_image_size(i)) {
            const char *name = host_export_at(i, (uint64_t)address);
            *ret_info = (Dl_info){.dli_fname = path,
                                  .dli_fbase = (void *)(uintptr_t)header,
                                  .dli_sname = name != 0 ? name + 1 : 0,
                                  .dli_saddr = name != 0 ? (void *)(uintptr_t)address : 0};
            return 1;
        }
    }
    return 0;
}

/* Of all images, in the order in which they were loaded; with a handle of one, of that one. */
void *dlsym(void *handle, const char *symbol)
{
    char name[256];
    if (handle == 0 || strlen(symbol) >= sizeof name - 1) {
        return 0;
    }
    name[0] = '_';
    strcpy(name + 1, symbol);
    return (void *)(handle == RTLD_DEFAULT
                        ? host_find_export(name)
                        : host_find_export_in((uint32_t)(uint64_t)handle - 1, name));
}

typedef void (*image_callback)(const struct mach_header *mh, intptr_t slide);

enum { CALLBACKS_MAX = 8 };
static image_callback on_add[CALLBACKS_MAX], on_remove[CALLBACKS_MAX];
static unsigned add_count, remove_count;

static void tell(image_callback callback, uint32_t index)
{
    const void *header = 0;
    uint64_t slide = 0;
    const char *path = 0;
    host_get_image(index, &header, &slide, &path);
    callback(header, (intptr_t)slide);
}

/* Like dyld, calls the function for every loaded image before it returns. */
void _dyld_register_func_for_add_image(image_callback func)
{
    on_add[add_count++ % CALLBACKS_MAX] = func;
    for (uint32_t i = 0; i < host_count_images(); i++) {
        tell(func, i);
    }
}

void _dyld_register_func_for_remove_image(image_callback func)
{
    on_remove[remove_count++ % CALLBACKS_MAX] = func;
}

/* For tests: report that image `index` was loaded or unloaded. Its memory stays. */
void sim_tell_image(uint32_t index, int is_there);
void sim_tell_image(uint32_t index, int is_there)
{
    for (unsigned i = 0; i < (is_there ? add_count : remove_count) && i < CALLBACKS_MAX; i++) {
        tell(is_there ? on_add[i] : on_remove[i], index);
    }
}

/* For tests: a variable among the code. */
extern const uint64_t sim_constant;
const uint64_t sim_constant = 5;

/* --- lazy pointers --- */

/* For tests: how many were bound by their first call, and what to call before each is written. */
extern uint64_t sim_lazy_binds;
uint64_t sim_lazy_binds;
extern void (*sim_on_lazy_bind)(const char *name);
void (*sim_on_lazy_bind)(const char *name);

/* For tests: the calling thread has dyld's lock, as if it loaded a library, or leaves it. */
void sim_hold_dyld(int is_held);
static uint32_t dyld_is_held;
static _Thread_local int holds_dyld;

void sim_hold_dyld(int is_held)
{
    holds_dyld = is_held;
    __atomic_store_n(&dyld_is_held, is_held != 0, __ATOMIC_SEQ_CST);
    host_wake(&dyld_is_held);
}

static void await_dyld(void)
{
    while (!holds_dyld && __atomic_load_n(&dyld_is_held, __ATOMIC_SEQ_CST) != 0) {
        host_sleep(&dyld_is_held, 1, 1000000000);
    }
}

/* What dyld_stub_binder (bind.S) calls, and jumps to. in_image: of the caller's image, as its
 * __stub_helper passes it. */
uint64_t sim_bind_lazily(const void *in_image, uint64_t offset);
uint64_t sim_bind_lazily(const void *in_image, uint64_t offset)
{
    uint64_t *slot = 0;
    const char *name = 0;
    uint64_t function = host_find_lazy(in_image, offset, &slot, &name);
    await_dyld();
    __atomic_fetch_add(&sim_lazy_binds, 1, __ATOMIC_RELAXED);
    if (sim_on_lazy_bind != 0) {
        sim_on_lazy_bind(name);
    }
    __atomic_store_n(slot, function, __ATOMIC_RELAXED);
    return function;
}

/* --- dlopen: handles are 1 + the image's index --- */

/* The name that a library has for others. */
static const char *install_name(const struct mach_header_64 *header)
{
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct dylib_command *command = (const void *)at;
        if (command->cmd == LC_ID_DYLIB) {
            return at + command->dylib.name.offset;
        }
        at += command->cmdsize;
    }
    return "";
}

static int find_loaded(const char *path)
{
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0;
        const char *loaded = 0;
        host_get_image(i, &header, &slide, &loaded);
        if (strcmp(loaded, path) == 0 || strcmp(install_name(header), path) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* As dyld: the image is bound, then callbacks are told, then its initialisers run. */
void *dlopen(const char *path, int mode)
{
    int index = find_loaded(path);
    if (index < 0 && (mode & RTLD_NOLOAD) == 0) {
        index = host_load_later(path);
        if (index >= 0) {
            uint64_t function;
            sim_tell_image((uint32_t)index, 1);
            for (uint32_t i = 0; (function = host_initialiser((uint32_t)index, i)) != 0; i++) {
                ((void (*)(void))function)();
            }
        }
    }
    return (void *)(uint64_t)(index + 1);
}

/* Nothing is unloaded. */
int dlclose(void *handle)
{
    return handle != 0 ? 0 : -1;
}
