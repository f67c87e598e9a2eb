// SPDX-License-Identifier: Apache-2.0
/* Sweeps over the objects of the loader's list. */
#include "hook_elf.h"
#include "mem_heap.h"
#include "probe_hook.h"

/* Other threads may load and unload while a sweep works; the next one does what this one could not.
 */
enum { TRIES = 8 };

bool sonde__hook_port_is_changed(const struct sonde__hooks *hooks)
{
    return !sonde__hook_is_current(hooks->port);
}

void sonde__hook_port_sweep(struct sonde__hooks *hooks)
{
    hooks->is_swept = false;
    for (unsigned tries = 0; tries < TRIES && !hooks->is_swept; tries++) {
        if (sonde__hook_list(hooks)) {
            sonde__hook_resolve(hooks);
            sonde__hook_patch_all(hooks);
        }
    }
}

struct sonde__hook_port *sonde__hook_port_create(void)
{
    return sonde__mem_alloc_zeroed(sizeof(struct sonde__hook_port));
}

static int restore_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct sonde__hooks *hooks = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    sonde__hook_raw_restore(&object, &hooks->port->writer);
    sonde__hook_restore_definitions(hooks, &object);
    sonde__hook_restore_slots(hooks, &object);
    return 0;
}

void sonde__hook_port_destroy(struct sonde__hooks *hooks)
{
    struct sonde__hook_port *port = hooks->port;
    if (port != NULL) {
        sonde__hook_writer_open(&port->writer, (hooks->flags & SONDE__HOOK_NO_MEM) == 0);
        (void)dl_iterate_phdr(restore_object, hooks);
        sonde__hook_writer_close(&port->writer);
        sonde__hook_raw_end();
        sonde__hook_list_done(hooks);
        sonde__mem_free(port->definitions);
        sonde__mem_free(port);
    }
}

struct own {
    uint64_t start, end;
    bool is_library;
};

/* Its data segment is the last. */
static int find_own(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct own *own = ctx;
    struct sonde__hook_object object;
    (void)size;
    sonde__hook_object_read(info, &object);
    const ElfW(Phdr) *data = sonde__hook_segment(&object, (uint64_t)(uintptr_t)sonde__probe_hooks);
    if (data == NULL) {
        return 0;
    }
    *own = (struct own){object.base, object.base + data->p_vaddr + data->p_memsz,
                        info->dlpi_name[0] != '\0'};
    return 1;
}

bool sonde__hook_own_image(uint64_t *ret_start, uint64_t *ret_end)
{
    struct own own = {.is_library = false};
    (void)dl_iterate_phdr(find_own, &own);
    if (own.is_library) {
        *ret_start = own.start;
        *ret_end = own.end;
    }
    return own.is_library;
}
