// SPDX-License-Identifier: Apache-2.0
/* Walks by call frame information over our own frames to the wrapper's caller, and computes the CFA
 * of that frame. Objects are found by the loader's lock-free look-up: dladdr and dl_iterate_phdr
 * take a lock that a constructor may hold while it waits for this thread.
 *
 * The stack may be a coroutine's or a handler's, of a few kilobytes, with an unknown rest. Finding
 * and applying a record need the most stack, so they are separate functions, never on the stack
 * together. A wait at a new place needs some 1.7 KB (checked by
 * tests/integration/compat/test_small_stack.c). */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "arch_regs.h"
#include "base_text.h"
#include "level.h"
#include "probe_runtime.h"
#include "unwind_program.h"

#pragma weak _dl_find_object

/* preload_level() is three frames from the caller. */
#define FRAMES_MAX 8u
/* Frames from the caller outwards that identify the user of a round trip: libdbus and its callers
 * have ten between them. */
#define PATH_FRAMES 14u
/* Places cached per thread. A loop has one or two, its callbacks a few. */
#define PLACES 8u
/* .eh_frame_hdr: a version; the encodings of pointer, count and table; the pointer (LSB 5 Core
 * §10.6.2). Every linker writes this form. */
enum { HDR_VERSION = 1, PC_RELATIVE_32 = 0x1b };

struct record {
    struct sonde__cfi cfi;
    struct sonde__cfi_fde fde;
};

struct frame {
    uint64_t pc, sp, fp;
    bool fp_known;
};

static _Thread_local struct {
    uint64_t caller, sp, level;
} places[PLACES];
static _Thread_local unsigned next_place;

enum { CELL_FP, CELL_RA, CELL_OTHER, CELLS };

static void fill_cells(uint8_t cell_of[SONDE__REG_COUNT], unsigned ra)
{
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        cell_of[i] = CELL_OTHER;
    }
    cell_of[sonde__arch_fp(SONDE__ARCH_HOST)] = CELL_FP;
    cell_of[ra] = CELL_RA;
}

/* Uses addresses as vaddrs: the records are read in place. */
static bool find_cfi(uint64_t pc, struct sonde__cfi *ret_cfi)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)pc, &found) != 0 ||
        found.dlfo_eh_frame == NULL) {
        return false;
    }
    const uint8_t *hdr = found.dlfo_eh_frame;
    const uint8_t *end = found.dlfo_map_end;
    if (hdr + 8 >= end || hdr[0] != HDR_VERSION || hdr[1] != PC_RELATIVE_32) {
        return false;
    }
    const uint8_t *records = hdr + 4 + *(const int32_t *)(const void *)(hdr + 4);
    if (records < (const uint8_t *)found.dlfo_map_start || records >= end) {
        return false;
    }
    *ret_cfi = (struct sonde__cfi){
        .eh_frame = records,
        .eh_frame_size = (size_t)(end - records),
        .eh_frame_vaddr = (uintptr_t)records,
        .eh_frame_hdr = hdr,
        .eh_frame_hdr_size = (size_t)(end - hdr),
        .eh_frame_hdr_vaddr = (uintptr_t)hdr,
    };
    return true;
}

/* Find the record of the code at `pc`. */
static __attribute__((noinline)) bool find_record(uint64_t pc, struct record *ret_record)
{
    return find_cfi(pc, &ret_record->cfi) &&
           sonde__cfi_fde_find(&ret_record->cfi, SONDE__ARCH_HOST, pc, &ret_record->fde);
}

/* Compute the CFA of the frame; with `step`, also go to its caller. */
static __attribute__((noinline)) bool apply_record(const struct record *record, struct frame *frame,
                                                   bool step, uint64_t *ret_cfa)
{
    /* differs between hosts: NOLINTNEXTLINE(misc-redundant-expression) */
    unsigned ra = SONDE__ARCH_HOST == SONDE_ARCH_X86_64 ? SONDE__X86_64_RA : SONDE__AARCH64_LR;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES * CELLS];
    struct sonde__program program;
    fill_cells(cell_of, ra);
    sonde__program_init(&program, &record->cfi, cell_of, cells, CELLS);
    if (!sonde__program_seek(&program, &record->fde, frame->pc) || program.cfas[0].is_expression) {
        return false;
    }
    if (program.cfas[0].reg == sonde__arch_sp(SONDE__ARCH_HOST)) {
        *ret_cfa = frame->sp + (uint64_t)(int64_t)program.cfas[0].offset;
    } else if (program.cfas[0].reg == sonde__arch_fp(SONDE__ARCH_HOST) && frame->fp_known) {
        *ret_cfa = frame->fp + (uint64_t)(int64_t)program.cfas[0].offset;
    } else {
        return false;
    }
    if (!step) {
        return true;
    }
    if (cells[CELL_RA].kind != SONDE__CELL_OFFSET) {
        return false;
    }
    frame->pc = sonde__arch_strip_pac(
        SONDE__ARCH_HOST,
        *(const uint64_t *)(uintptr_t)(*ret_cfa + (uint64_t)(int64_t)cells[CELL_RA].value));
    if (cells[CELL_FP].kind == SONDE__CELL_OFFSET) {
        frame->fp =
            *(const uint64_t *)(uintptr_t)(*ret_cfa + (uint64_t)(int64_t)cells[CELL_FP].value);
    } else if (cells[CELL_FP].kind != SONDE__CELL_UNSPECIFIED &&
               cells[CELL_FP].kind != SONDE__CELL_SAME) {
        frame->fp_known = false;
    }
    frame->sp = *ret_cfa;
    return true;
}

static __attribute__((noinline)) bool find_frame(struct frame *frame, bool step, uint64_t *ret_cfa)
{
    struct record record;
    return find_record(frame->pc, &record) && apply_record(&record, frame, step, ret_cfa);
}

/* The frame of the function into which this is inlined. */
static inline __attribute__((always_inline)) struct frame own_frame(void)
{
    struct frame frame = {.fp_known = true};
#if defined(__x86_64__)
    __asm__ volatile("leaq 0f(%%rip), %0\n0:\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(frame.pc), "=&r"(frame.sp), "=&r"(frame.fp));
#else
    __asm__ volatile("adr %0, 0f\n0:\tmov %1, sp\n\tmov %2, x29"
                     : "=&r"(frame.pc), "=&r"(frame.sp), "=&r"(frame.fp));
#endif
    return frame;
}

/* Walk from `frame` to the frame whose pc is `caller`, and move its pc back into the call: the call
 * may be the end of its function. */
static bool walk_to(struct frame *frame, uint64_t caller)
{
    uint64_t cfa = 0;
    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        bool first = i == 0;
        if (!first && frame->pc == caller) {
            frame->pc--;
            return true;
        }
        frame->pc -= !first;
        if (!find_frame(frame, true, &cfa)) {
            return false;
        }
    }
    return false;
}

static __attribute__((noinline)) uint64_t find_level(uint64_t caller)
{
    struct frame frame = own_frame();
    uint64_t cfa = 0;
    return walk_to(&frame, caller) && find_frame(&frame, false, &cfa) ? cfa : 0;
}

__attribute__((noinline)) bool preload_walk(uint64_t caller, preload_each_frame *each, void *ctx)
{
    struct frame frame = own_frame();
    uint64_t cfa = 0;
    if (!walk_to(&frame, caller)) {
        return false;
    }
    for (unsigned i = 0; i < PATH_FRAMES; i++) {
        uint64_t level = find_frame(&frame, false, &cfa) ? cfa : 0;
        if (!each(ctx, frame.pc, level)) {
            return true;
        }
        if (!find_frame(&frame, true, &cfa)) {
            return false;
        }
        frame.pc--;
    }
    return false;
}

struct path {
    uint64_t hash;
    unsigned frames;
};

static bool note_call(void *ctx, uint64_t pc, uint64_t level)
{
    struct path *path = ctx;
    (void)level;
    path->hash = (path->hash ^ pc) * 0x9e3779b97f4a7c15u;
    return ++path->frames < PATH_FRAMES;
}

uint64_t preload_path(uint64_t caller)
{
    struct path path = {1, 0};
    (void)preload_walk(caller, note_call, &path);
    return path.frames > 0 ? path.hash | 1 : 0;
}

bool preload_function_begin(uint64_t pc, uint64_t *ret_begin)
{
    struct record record;
    if (!find_record(pc, &record)) {
        return false;
    }
    *ret_begin = record.fde.start;
    return true;
}

uint64_t preload_level(uint64_t caller, uint64_t sp)
{
    for (unsigned i = 0; i < PLACES; i++) {
        if (places[i].caller == caller && places[i].sp == sp) {
            return places[i].level;
        }
    }
    uint64_t level = find_level(caller);
    unsigned at = next_place++ % PLACES;
    places[at].caller = 0; /* a handler may interrupt here */
    places[at].level = level;
    places[at].sp = sp;
    places[at].caller = caller;
    return level;
}

/* --- language runtimes --- */

static char program[32];

void preload_learn_program(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *name = sonde__base_file_name(path);
    for (size_t i = 0; i + 1 < sizeof program && name[i] != '\0'; i++) {
        program[i] = name[i];
    }
}

bool preload_in_runtime(uint64_t caller)
{
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)caller, &found) != 0 ||
        found.dlfo_link_map == NULL || found.dlfo_link_map->l_name == NULL) {
        return true; /* unknown */
    }
    const char *name = sonde__base_file_name(found.dlfo_link_map->l_name);
    name = name[0] != '\0' ? name : program; /* the loader has no name for the program itself */
    return sonde__probe_is_runtime(name);
}
