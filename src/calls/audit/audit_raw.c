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
    const char *path;
    bool is_main;
    const struct sonde__symbol_index *index; /* null: no names */
    bool is_definer;
    uint32_t calls, said, patched;
    struct sonde__say say;
};

/* What became of the call, if calls of its module were to be patched; null: it was not examined. */
static const struct sonde__record_site *find_site(const struct module *module, uint64_t vaddr)
{
    const struct sonde__record_page *page = module->page;
    for (uint32_t i = 0; i < atomic_load(&page->site_count); i++) {
        const char *name = sonde__audit_page_text(page, page->sites[i].module);
        if (page->sites[i].vaddr == vaddr &&
            (*name == '\0' ? module->is_main : strcmp(name, module->path) == 0)) {
            return &page->sites[i];
        }
    }
    return NULL;
}

static void say_call(void *ctx, const struct sonde__audit_syscall *call)
{
    struct module *module = ctx;
    struct sonde__function function;
    char where[200], call_name[64], why[100] = "";
    const struct sonde__record_site *site = find_site(module, call->vaddr);
    if (site != NULL && site->result == SONDE__RAW_PATCHED) {
        module->patched++;
        return;
    }
    if (site != NULL) {
        snprintf(why, sizeof why, "%s", sonde__hook_raw_text(site->result));
    }
    module->calls++;
    if (module->is_definer || module->said == LINES_MAX) {
        return;
    }
    module->said++;
    const char *name =
        call->is_known ? sonde__arch_syscall_name(SONDE__ARCH_HOST, call->number) : NULL;
    sonde__symbol_function(module->index, call->vaddr, &function);
    if (function.name[0] != '\0') {
        snprintf(where, sizeof where, "%.160s+0x%llx", function.name,
                 (unsigned long long)(call->vaddr - function.start));
    } else {
        snprintf(where, sizeof where, "0x%llx", (unsigned long long)call->vaddr);
    }
    if (name != NULL) {
        snprintf(call_name, sizeof call_name, "%s", name);
    } else if (call->is_known) {
        snprintf(call_name, sizeof call_name, "%u", (unsigned)call->number);
    } else {
        snprintf(call_name, sizeof call_name, "(number not known)");
    }
    sonde__report_say(module->say, "%.200s: system call %s of its own, at %s%s%s%s", module->path,
                      call_name, where, call->is_code ? "" : " (or data)",
                      why[0] != '\0' ? ": " : "", why);
}

/* Does the module define a listed function? Then these calls are part of that function. */
static bool is_definer(const struct sonde__record_page *page, const char *path)
{
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        if (page->blind_spots[i].reason == SONDE__HOOK_INSIDE &&
            strcmp(sonde__audit_page_text(page, page->blind_spots[i].module), path) == 0) {
            return true;
        }
    }
    return false;
}

static bool was_before(const struct sonde__record_page *page, uint32_t index)
{
    const struct sonde__record_image *image = &page->images[index];
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(sonde__audit_page_text(page, page->images[i].path),
                   sonde__audit_page_text(page, image->path)) == 0) {
            return true;
        }
    }
    return false;
}

static void inspect_function(const struct sonde__record_page *page, uint32_t index,
                             struct sonde__symfile_cache *symbols, struct sonde__say say)
{
    const struct sonde__elf *elf;
    struct sonde_error error;
    struct sonde__image image = sonde__audit_page_image(page, index);
    struct module module = {
        .page = page,
        .path = image.path,
        .is_main = (image.flags & SONDE__IMAGE_MAIN) != 0,
        .is_definer = is_definer(page, image.path),
        .say = say,
    };
    if (sonde__symfile_elf(symbols, &image, NULL, 0, &elf, &error) != SONDE_OK) {
        return; /* the vdso, and files that are gone */
    }
    if (sonde__symfile_index(symbols, &image, NULL, 0, &module.index, &error) != SONDE_OK) {
        module.index = NULL;
    }
    if (!sonde__audit_each_syscall(elf, say_call, &module)) {
        sonde__report_say(say, "%.300s: not all of its code was searched for system calls",
                          image.path);
    }
    if (module.patched != 0) {
        sonde__report_say(say, "%.300s: %u system call%s of its own %s recorded", image.path,
                          (unsigned)module.patched, sonde__base_plural(module.patched),
                          module.patched == 1 ? "is" : "are");
    }
    if (module.is_definer && module.calls != 0) {
        sonde__report_say(
            say, "%.300s: %u system call%s of its own (listed functions are defined there)",
            image.path, (unsigned)module.calls, sonde__base_plural(module.calls));
    } else if (module.calls > module.said) {
        sonde__report_say(say, "%.300s: %u more system call%s of its own", image.path,
                          (unsigned)(module.calls - module.said),
                          sonde__base_plural(module.calls - module.said));
    }
}

void sonde__audit_say_raw(const struct sonde__record_page *page,
                          struct sonde__symfile_cache *symbols, struct sonde__say say)
{
    for (uint32_t i = 0; i < atomic_load(&page->image_count); i++) {
        bool is_own =
            page->images[i].start <= page->own_start && page->own_start < page->images[i].end;
        if (!is_own && !was_before(page, i)) {
            inspect_function(page, i, symbols, say);
        }
    }
}
