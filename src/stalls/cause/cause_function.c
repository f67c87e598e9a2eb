// SPDX-License-Identifier: Apache-2.0
/* See cause_function.h. Only images that have frames of waiting threads are read, once each. Only
 * symbols of the functions below are kept. */
#include "cause_function.h"

#include <string.h>

#include "arch_flow.h"
#include "arch_regs.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "os.h"
#include "symfile_cache.h"

/* Frames that are examined: from the system call to the caller of libc or libglib. */
#define FRAMES_MAX 8u
/* Symbols read from one image: the largest stock programs have a million. */
#define SYMBOLS_MAX 2000000u

struct entry {
    uint64_t vaddr, size;
    struct cause_called called;
};

struct library {
    uint64_t start, bias;
    struct sonde__build_id build_id;
    struct entry *list;
    size_t count, capacity;
    bool is_glibc;
};

struct cause_functions {
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    struct library *libraries;
    size_t count, capacity;
};

/* --- names --- */

static const struct {
    const char *name;
    uint8_t function;
} posix_names[] = {
    {"mutex_lock", CAUSE_FN_MUTEX},
    {"mutex_lock_full", CAUSE_FN_MUTEX},
    {"mutex_timedlock", CAUSE_FN_MUTEX},
    {"mutex_clocklock", CAUSE_FN_MUTEX},
    {"mutex_cond_lock", CAUSE_FN_MUTEX},
    {"rwlock_rdlock", CAUSE_FN_RWLOCK_READ},
    {"rwlock_timedrdlock", CAUSE_FN_RWLOCK_READ},
    {"rwlock_clockrdlock", CAUSE_FN_RWLOCK_READ},
    {"rwlock_wrlock", CAUSE_FN_RWLOCK_WRITE},
    {"rwlock_timedwrlock", CAUSE_FN_RWLOCK_WRITE},
    {"rwlock_clockwrlock", CAUSE_FN_RWLOCK_WRITE},
    {"cond_wait", CAUSE_FN_CONDITION},
    {"cond_timedwait", CAUSE_FN_CONDITION},
    {"cond_clockwait", CAUSE_FN_CONDITION},
    {"barrier_wait", CAUSE_FN_BARRIER},
    {"once", CAUSE_FN_ONCE},
    {"once_full", CAUSE_FN_ONCE}, /* musl */
    {"join", CAUSE_FN_JOIN},
    {"timedjoin_np", CAUSE_FN_JOIN},
    {"clockjoin_np", CAUSE_FN_JOIN},
    {"clockjoin_ex", CAUSE_FN_JOIN},
};

static const struct {
    const char *name;
    struct cause_called called;
} other_names[] = {
    {"sem_wait", {CAUSE_FN_SEMAPHORE, CAUSE_BY_OTHER}},
    {"sem_timedwait", {CAUSE_FN_SEMAPHORE, CAUSE_BY_OTHER}},
    {"sem_clockwait", {CAUSE_FN_SEMAPHORE, CAUSE_BY_OTHER}},
    {"mtx_lock", {CAUSE_FN_MUTEX, CAUSE_BY_OTHER}},
    {"mtx_timedlock", {CAUSE_FN_MUTEX, CAUSE_BY_OTHER}},
    {"cnd_wait", {CAUSE_FN_CONDITION, CAUSE_BY_OTHER}},
    {"cnd_timedwait", {CAUSE_FN_CONDITION, CAUSE_BY_OTHER}},
    {"thrd_join", {CAUSE_FN_JOIN, CAUSE_BY_OTHER}},
    {"call_once", {CAUSE_FN_ONCE, CAUSE_BY_OTHER}},
    {"__cxa_guard_acquire", {CAUSE_FN_ONCE, CAUSE_BY_CXX}},
    {"g_mutex_lock", {CAUSE_FN_MUTEX, CAUSE_BY_GLIB}},
    {"g_bit_lock", {CAUSE_FN_MUTEX, CAUSE_BY_GLIB}},
    {"g_pointer_bit_lock", {CAUSE_FN_MUTEX, CAUSE_BY_GLIB}},
    {"g_cond_wait", {CAUSE_FN_CONDITION, CAUSE_BY_GLIB}},
    {"g_cond_wait_until", {CAUSE_FN_CONDITION, CAUSE_BY_GLIB}},
    {"g_once_init_enter", {CAUSE_FN_ONCE, CAUSE_BY_GLIB}},
};

/* std::sys::sync::mutex::futex::Mutex::lock_contended and similar names; before Rust 1.81
 * std::sys::unix::locks::futex_mutex. */
static struct cause_called rust_named(const char *name)
{
    struct cause_called called = {.maker = CAUSE_BY_RUST};
    if (strstr(name, "futex") == NULL || strstr(name, "3std3sys") == NULL) {
        called.maker = CAUSE_BY_OTHER;
    } else if (strstr(name, "14lock_contended") != NULL) {
        called.function = CAUSE_FN_MUTEX;
    } else if (strstr(name, "14read_contended") != NULL) {
        called.function = CAUSE_FN_RWLOCK_READ;
    } else if (strstr(name, "15write_contended") != NULL) {
        called.function = CAUSE_FN_RWLOCK_WRITE;
    } else if (strstr(name, "7Condvar") != NULL && strstr(name, "wait") != NULL) {
        called.function = CAUSE_FN_CONDITION;
    } else if (strstr(name, "4Once4call") != NULL) {
        called.function = CAUSE_FN_ONCE;
    } else {
        called.maker = CAUSE_BY_OTHER;
    }
    return called;
}

struct cause_called cause_function_named(const char *name)
{
    struct cause_called none = {0};
    const char *rest = name;
    if (strncmp(name, "_ZN", 3) == 0 || strncmp(name, "_RN", 3) == 0) {
        return rust_named(name);
    }
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++) {
        if (strcmp(name, other_names[i].name) == 0) {
            return other_names[i].called;
        }
    }
    while (*rest == '_') { /* glibc's own calls go to __pthread_mutex_lock */
        rest++;
    }
    if (strncmp(rest, "pthread_", 8) != 0) {
        return none;
    }
    for (size_t i = 0; i < sizeof posix_names / sizeof posix_names[0]; i++) {
        if (strcmp(rest + 8, posix_names[i].name) == 0) {
            return (struct cause_called){posix_names[i].function, CAUSE_BY_OTHER};
        }
    }
    return none;
}

/* --- symbols --- */

static void add_symbols(struct library *library, const struct sonde__elf_symbols *symbols,
                        bool *ret_is_musl)
{
    struct sonde__elf_symbol symbol;
    uint32_t count = symbols->count < SYMBOLS_MAX ? symbols->count : SYMBOLS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!sonde__elf_symbols_at(symbols, i, &symbol) || symbol.section == 0 ||
            symbol.size == 0 || symbol.name[0] == '\0') {
            continue;
        }
        /* names that only glibc has, then only musl, whether linked dynamically or statically */
        library->is_glibc = library->is_glibc || strcmp(symbol.name, "gnu_get_libc_version") == 0 ||
                            strcmp(symbol.name, "__lll_lock_wait_private") == 0 ||
                            strcmp(symbol.name, "__pthread_unwind_next") == 0;
        *ret_is_musl = *ret_is_musl || strcmp(symbol.name, "__libc_start_init") == 0 ||
                       strcmp(symbol.name, "__init_libc") == 0 ||
                       strcmp(symbol.name, "__dls2b") == 0;
        struct cause_called called = cause_function_named(symbol.name);
        if (called.function != CAUSE_FN_NONE &&
            !SONDE__MEM_ADD(library->list, library->count, library->capacity,
                            (struct entry){symbol.value, symbol.size, called})) {
            return;
        }
    }
}

static void read_library(struct cause_functions *functions, const struct sonde__image *image,
                         struct library *library)
{
    const struct sonde__elf *elf = NULL;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_section table;
    bool is_musl = false;
    if (functions->symbols == NULL ||
        sonde__symfile_elf(functions->symbols, image, NULL, 0, &elf, NULL) != SONDE_OK) {
        return;
    }
    if (sonde__elf_dynamic_symbols(elf, &symbols)) {
        add_symbols(library, &symbols, &is_musl);
    }
    if (sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &table) &&
        sonde__elf_symbols(elf, &table, &symbols)) {
        add_symbols(library, &symbols, &is_musl);
    }
    for (size_t i = 0; i < library->count; i++) {
        if (library->list[i].called.maker == CAUSE_BY_OTHER) {
            library->list[i].called.maker = (uint8_t)(library->is_glibc ? CAUSE_BY_GLIBC
                                                      : is_musl         ? CAUSE_BY_MUSL
                                                                        : CAUSE_BY_OTHER);
        }
    }
}

static struct library *library_of(struct cause_functions *functions, uint64_t pc)
{
    const struct sonde__image *image =
        sonde__image_find(sonde__target_images(functions->target), pc);
    if (image == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < functions->count; i++) {
        struct library *l = &functions->libraries[i];
        if (l->start == image->start && l->bias == image->bias &&
            l->build_id.size == image->build_id.size &&
            memcmp(l->build_id.bytes, image->build_id.bytes, l->build_id.size) == 0) {
            return l;
        }
    }
    if (!sonde__mem_grow(&functions->libraries, functions->count, &functions->capacity,
                         sizeof *functions->libraries)) {
        return NULL;
    }
    struct library *library = &functions->libraries[functions->count++];
    *library =
        (struct library){.start = image->start, .bias = image->bias, .build_id = image->build_id};
    read_library(functions, image, library);
    return library;
}

static struct cause_called function_at(struct cause_functions *functions, uint64_t address)
{
    struct cause_called none = {0};
    const struct library *library = library_of(functions, address);
    for (size_t i = 0; library != NULL && i < library->count; i++) {
        const struct entry *e = &library->list[i];
        if (address - library->bias - e->vaddr < e->size) {
            return e->called;
        }
    }
    return none;
}

/* --- calls --- */

/* The target of the call that returns to `pc`; 0: not known. */
static uint64_t call_target(struct cause_functions *functions, uint64_t pc)
{
    enum { BEFORE = 8, SLOT_CALL = 6 };
    unsigned arch = sonde__target_arch(functions->target);
    uint8_t code[BEFORE];
    uint64_t target = 0;
    struct sonde__flow flow;
    if (sonde__target_read(functions->target, pc - BEFORE, code, BEFORE) != BEFORE) {
        return 0;
    }
    if (sonde__arch_flow(arch, pc - SLOT_CALL, code + BEFORE - SLOT_CALL, SLOT_CALL, &flow) &&
        flow.kind == SONDE__FLOW_CALL_SLOT && flow.length == SLOT_CALL) {
        return sonde__target_read(functions->target, flow.target, &target, sizeof target) ==
                       sizeof target
                   ? target
                   : 0;
    }
    return sonde__arch_is_call_before(arch, pc, code, BEFORE, &target) ? target : 0;
}

/* The function behind a linkage stub. */
static uint64_t stub_target(struct cause_functions *functions, uint64_t stub)
{
    enum { STUB_BYTES = 32 };
    uint8_t code[STUB_BYTES];
    uint64_t slot, target = 0;
    size_t size = sonde__target_read(functions->target, stub, code, sizeof code);
    if (!sonde__arch_stub_slot(sonde__target_arch(functions->target), stub, code, (unsigned)size,
                               &slot) ||
        sonde__target_read(functions->target, slot, &target, sizeof target) != sizeof target) {
        return 0;
    }
    return target;
}

static struct cause_called function_called(struct cause_functions *functions, uint64_t pc)
{
    struct cause_called called = {0};
    uint64_t target = call_target(functions, pc);
    if (target != 0) {
        called = function_at(functions, target);
    }
    if (target != 0 && called.function == CAUSE_FN_NONE) {
        target = stub_target(functions, target);
        called = target != 0 ? function_at(functions, target) : called;
    }
    return called;
}

struct cause_called cause_function_find(struct cause_functions *functions,
                                        const struct sonde_stack *stack)
{
    struct cause_called called = {0};
    for (uint32_t i = 0; i < stack->count && i < FRAMES_MAX; i++) {
        if (stack->lost_count != 0 && i == stack->lost_at) {
            break;
        }
        if (i > 0) {
            called = function_called(functions, stack->pcs[i]);
        }
        if (called.function == CAUSE_FN_NONE) {
            called = function_at(functions, stack->pcs[i] - (i > 0));
        }
        if (called.function != CAUSE_FN_NONE) {
            break;
        }
    }
    return called;
}

bool cause_function_is_glibc(struct cause_functions *functions, uint64_t pc)
{
    const struct library *library = library_of(functions, pc);
    return library != NULL && library->is_glibc;
}

/* --- life --- */

enum sonde_status cause_functions_create(struct sonde__target *target,
                                         struct cause_functions **ret_functions)
{
    struct cause_functions *functions = sonde__mem_alloc_zeroed(sizeof *functions);
    struct sonde__symfile_options where = {.no_inflate = true};
    if (functions == NULL) {
        return SONDE_MEMORY;
    }
    functions->target = target;
    where.root = sonde__target_root(target);
    enum sonde_status status = sonde__symfile_cache_create(&where, &functions->symbols);
    if (status != SONDE_OK) {
        sonde__mem_free(functions);
        return status;
    }
    *ret_functions = functions;
    return SONDE_OK;
}

void cause_functions_destroy(struct cause_functions *functions)
{
    if (functions == NULL) {
        return;
    }
    for (size_t i = 0; i < functions->count; i++) {
        sonde__mem_free(functions->libraries[i].list);
    }
    sonde__mem_free(functions->libraries);
    sonde__symfile_cache_destroy(functions->symbols);
    sonde__mem_free(functions);
}
