// SPDX-License-Identifier: Apache-2.0
#include "audit_raw.h"

#include <stdio.h>
#include <string.h>

#include "arch_syscall.h"
#include "audit_page.h"
#include "audit_syscalls.h"
#include "base_text.h"
#include "hook.h"
#include "hook_raw.h"
#include "symbol_index.h"

enum { LINES_MAX = 12 }; /* of one module */

struct module {
    const struct sonde__record_page *page;
    struct sonde__symfile_cache *symbols;
    const struct sonde__image *image;
    const struct sonde__symbol_index *index; /* null: no names, or not opened yet */
    bool all, is_definer;
    uint32_t calls, said, patched;
    struct sonde__report_lines lines;
};

/* What became of the call, if calls of its module were to be patched; null: it was not examined. */
static const struct sonde__record_site *find_site(const struct module *module, uint64_t vaddr)
{
    const struct sonde__record_page *page = module->page;
    for (uint32_t i = 0; i < atomic_load(&page->site_count); i++) {
        const char *name = sonde__audit_page_text(page, page->sites[i].module);
        bool is_main = (module->image->flags & SONDE__IMAGE_MAIN) != 0;
        if (page->sites[i].vaddr == vaddr &&
            (*name == '\0' ? is_main : name == module->image->path)) {
            return &page->sites[i];
        }
    }
    return NULL;
}

/* What is not recorded of a call. Threads are. Null: the call makes no process and executes no
 * program. name: null if it is not known. */
static const char *unrecorded_of(const char *name)
{
    static const char *const makers[] = {"clone", "clone3", "fork", "vfork"};
    static const char *const executors[] = {"execve", "execveat"};
    if (name == NULL || sonde__base_is_one_of(name, makers, sizeof makers / sizeof makers[0])) {
        return "a process that it makes is neither counted nor recorded";
    }
    return sonde__base_is_one_of(name, executors, sizeof executors / sizeof executors[0])
               ? "a program that it executes is not recorded"
               : NULL;
}

/* "f+0x12", or the vaddr. */
static void write_place(struct module *module, uint64_t vaddr, char *ret_text, size_t size)
{
    struct sonde__function function = {.name = ""};
    struct sonde_error error;
    if (module->index == NULL && sonde__symfile_index(module->symbols, module->image, NULL, 0,
                                                      &module->index, &error) != SONDE_OK) {
        module->index = NULL;
    }
    sonde__symbol_function(module->index, vaddr, &function);
    if (function.name[0] != '\0') {
        snprintf(ret_text, size, "%.160s+0x%llx", function.name,
                 (unsigned long long)(vaddr - function.start));
    } else {
        snprintf(ret_text, size, "0x%llx", (unsigned long long)vaddr);
    }
}

static void print_call(void *ctx, const struct sonde__audit_syscall *call)
{
    struct module *module = ctx;
    char where[200], call_name[64];
    const char *name =
        call->is_known ? sonde__arch_syscall_name(SONDE__ARCH_HOST, call->number) : NULL;
    bool may_leave = call->is_known ? name != NULL : call->is_code;
    const char *unrecorded = may_leave ? unrecorded_of(name) : NULL;
    const char *why = module->all ? "" : unrecorded;
    const struct sonde__record_site *site = find_site(module, call->vaddr);
    if (why == NULL || (!module->all && module->said == LINES_MAX)) {
        return;
    }
    if (site != NULL && site->result == SONDE__RAW_PATCHED) {
        module->patched++;
        return;
    }
    if (site != NULL && module->all) {
        why = sonde__hook_raw_text(site->result);
    }
    module->calls++;
    if (module->all && (module->is_definer || module->said == LINES_MAX)) {
        return;
    }
    module->said++;
    write_place(module, call->vaddr, where, sizeof where);
    if (name != NULL) {
        snprintf(call_name, sizeof call_name, "%s", name);
    } else if (call->is_known) {
        snprintf(call_name, sizeof call_name, "%u", (unsigned)call->number);
    } else {
        snprintf(call_name, sizeof call_name, "(number not known)");
    }
    sonde__report_line(module->lines, "%.200s: system call %s of its own, at %s%s%s%s",
                       module->image->path, call_name, where, call->is_code ? "" : " (or data)",
                       *why != '\0' ? ": " : "", why);
}

/* Does the module define a listed function? Then these calls are part of that function. */
static bool is_definer(const struct sonde__record_page *page, uint32_t path)
{
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        if (page->blind_spots[i].reason == SONDE__HOOK_INSIDE &&
            page->blind_spots[i].module == path) {
            return true;
        }
    }
    return false;
}

static bool was_before(const struct sonde__record_page *page, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (page->images[i].path == page->images[index].path) {
            return true;
        }
    }
    return false;
}

/* A part of the C library, or the loader. */
static bool is_system(const char *path)
{
    static const char *const parts[] = {"libc.so", "libpthread.so", "ld-linux", "ld-musl"};
    const char *name = sonde__base_file_name(path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strncmp(name, parts[i], strlen(parts[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void print_numbers(const struct module *module)
{
    const char *path = module->image->path;
    uint32_t more = module->calls - module->said;
    if (module->patched != 0) {
        sonde__report_line(module->lines, "%.300s: %u system call%s of its own %s recorded", path,
                           (unsigned)module->patched, sonde__base_plural(module->patched),
                           module->patched == 1 ? "is" : "are");
    }
    if (module->is_definer && module->calls != 0) {
        sonde__report_line(
            module->lines,
            "%.300s: %u system call%s of its own (listed functions are defined there)", path,
            (unsigned)module->calls, sonde__base_plural(module->calls));
    } else if (more != 0) {
        sonde__report_line(module->lines, "%.300s: %u more system call%s of its own", path,
                           (unsigned)more, sonde__base_plural(more));
    }
}

static void inspect_image(const struct sonde__record_page *page, uint32_t index,
                          struct sonde__symfile_cache *symbols, bool all,
                          struct sonde__report_lines lines)
{
    const struct sonde__elf *elf;
    struct sonde_error error;
    struct sonde__image image = sonde__audit_page_image(page, index);
    struct module module = {
        .page = page,
        .symbols = symbols,
        .image = &image,
        .all = all,
        .is_definer = is_definer(page, page->images[index].path),
        .lines = lines,
    };
    if ((!all && is_system(image.path)) ||
        sonde__symfile_elf(symbols, &image, NULL, 0, &elf, &error) != SONDE_OK) {
        return; /* the vdso, and files that are gone */
    }
    if (!sonde__audit_each_syscall(elf, !all, print_call, &module)) {
        sonde__report_line(lines, "%.300s: not all of its code was searched for system calls",
                           image.path);
    }
    if (all) {
        print_numbers(&module);
    }
}

void sonde__audit_print_raw(const struct sonde__record_page *page,
                            struct sonde__symfile_cache *symbols, bool all,
                            struct sonde__report_lines lines)
{
    for (uint32_t i = 0; i < atomic_load(&page->image_count); i++) {
        bool is_own =
            page->images[i].start <= page->own_start && page->own_start < page->images[i].end;
        if (!is_own && !was_before(page, i)) {
            inspect_image(page, i, symbols, all, lines);
        }
    }
}
