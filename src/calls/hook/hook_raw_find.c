// SPDX-License-Identifier: Apache-2.0
/* Two passes over the code: the first finds the calls; the second, if there are any, finds
 * branches from anywhere to near a call, because compilers move cold parts of a function far
 * away. An address that code takes, or that data contains, counts as a branch target. Decoding
 * restarts at each function: the bytes before it may be data. */
#include "hook_raw_find.h"

#include <string.h>

#include "arch_flow.h"
#include "arch_raw_call.h"
#include "arch_raw_site.h"
#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"

struct function {
    uint64_t start, end; /* vaddrs */
};

enum { KEPT = 8 };

struct search {
    unsigned arch;
    const struct sonde__hook_raw_code *code; /* being scanned */
    const struct sonde__cfi *cfi;
    bool (*is_wanted)(uint32_t number);
    struct function *functions;
    size_t function_count, function_capacity;
    struct sonde__hook_raw_site *sites;
    size_t site_count, site_capacity;
    uint64_t last[KEPT]; /* the last instructions of a function, around */
    size_t last_count;
    bool is_broken; /* not all of its bytes are instructions */
    bool failed;
};

static bool add_function(void *ctx, uint64_t start, uint64_t end)
{
    struct search *s = ctx;
    if (!sonde__mem_grow(&s->functions, s->function_count, &s->function_capacity,
                         sizeof s->functions[0])) {
        s->failed = true;
        return false;
    }
    s->functions[s->function_count++] = (struct function){start, end};
    return true;
}

/* The number of functions that start at or before `vaddr`. */
static size_t count_up_to(const struct search *s, uint64_t vaddr)
{
    return SONDE__SEARCH(0, s->function_count, i, s->functions[i].start <= vaddr);
}

static uint8_t smallest(const struct search *s)
{
    return s->arch == SONDE_ARCH_X86_64 ? 1 : 4;
}

/* Calls `step` for each instruction; it returns the length, 0: there is none. */
static void for_each_instruction(struct search *s, uint8_t (*step)(struct search *s, uint64_t at,
                                                                   uint64_t size, bool is_first))
{
    const struct sonde__hook_raw_code *code = s->code;
    size_t next = count_up_to(s, code->vaddr); /* the first function behind the instruction */
    uint8_t length;
    bool is_first = true;
    for (uint64_t at = 0; at < code->size; at += length) {
        for (; next < s->function_count && s->functions[next].start <= code->vaddr + at; next++) {
            is_first = true;
        }
        uint64_t end = code->size;
        if (next < s->function_count && s->functions[next].start - code->vaddr < end) {
            end = s->functions[next].start - code->vaddr;
        }
        length = step(s, at, end - at, is_first);
        length = length != 0 ? length : smallest(s);
        is_first = false;
    }
}

/* The function that it is in. False: none. */
static bool find_function(const struct search *s, uint64_t vaddr,
                          struct sonde__hook_raw_site *ret_site)
{
    size_t behind = count_up_to(s, vaddr);
    if (behind == 0 || vaddr >= s->functions[behind - 1].end) {
        return false;
    }
    uint64_t end = s->code->vaddr + s->code->size;
    if (behind < s->function_count && s->functions[behind].start < end) {
        end = s->functions[behind].start;
    }
    uint64_t start = s->functions[behind - 1].start;
    if (start < s->code->vaddr) {
        return false;
    }
    *ret_site = (struct sonde__hook_raw_site){
        .vaddr = vaddr,
        .function = start,
        .function_end = end,
    };
    return true;
}

static uint8_t look_for_call(struct search *s, uint64_t at, uint64_t size, bool is_first)
{
    static struct sonde__raw_call state; /* one sweep at a time */
    struct sonde__raw_call call = {0};
    struct sonde__hook_raw_site site;
    uint8_t length;
    if (is_first) {
        state = (struct sonde__raw_call){0};
        s->last_count = 0;
        s->is_broken = false;
    }
    if (sonde__arch_raw_call(&state, s->arch, s->code->bytes + at, (size_t)size, &length, &call) &&
        (!call.is_known || s->is_wanted == NULL || s->is_wanted(call.number)) &&
        find_function(s, s->code->vaddr + at, &site)) {
        if (!sonde__mem_grow(&s->sites, s->site_count, &s->site_capacity, sizeof s->sites[0])) {
            s->failed = true;
            return length;
        }
        site.near = s->last_count == 0 ? site.vaddr
                                       : s->last[s->last_count < KEPT ? 0 : s->last_count % KEPT];
        site.code = s->code->bytes + (site.near - s->code->vaddr);
        site.is_decoded = !s->is_broken;
        s->sites[s->site_count++] = site;
    }
    s->last[s->last_count++ % KEPT] = s->code->vaddr + at;
    s->is_broken |= length == 0;
    return length;
}

static void note_target(struct search *s, uint64_t target)
{
    /* the first that is not wholly before it */
    size_t after =
        SONDE__SEARCH(0, s->site_count, i, s->sites[i].vaddr + SONDE__RAW_REACH <= target);
    for (; after < s->site_count; after++) {
        uint64_t bit = target - (s->sites[after].vaddr - SONDE__RAW_REACH);
        if (bit >= 64) {
            break;
        }
        s->sites[after].targets |= (uint64_t)1 << bit;
    }
}

/* lea place(%rip), or a read or write of that place. */
static void note_operand(struct search *s, uint64_t at, const uint8_t *code, size_t size)
{
    struct sonde__x86_insn insn;
    if (s->arch == SONDE_ARCH_X86_64 && sonde__arch_x86_insn(code, size, &insn) &&
        insn.relative_at != 0) {
        int32_t value;
        memcpy(&value, code + insn.relative_at, sizeof value);
        note_target(s, s->code->vaddr + at + insn.length + (uint64_t)(int64_t)value);
    }
}

/* Tables of functions, handlers and labels: whole words, most of them too small or too large to
 * be code. */
static void look_for_address(struct search *s, const struct sonde__hook_raw_code *data,
                             uint64_t base)
{
    uint64_t first = base + s->sites[0].vaddr - SONDE__RAW_REACH;
    uint64_t reach = s->sites[s->site_count - 1].vaddr - s->sites[0].vaddr + 64;
    for (uint64_t at = (0 - data->vaddr) & 7; at < data->size && data->size - at >= 8; at += 8) {
        uint64_t value;
        memcpy(&value, data->bytes + at, sizeof value);
        if (value - first < reach) {
            note_target(s, value - base);
        }
    }
}

static uint8_t look_for_branch(struct search *s, uint64_t at, uint64_t size, bool is_first)
{
    struct sonde__flow flow;
    (void)is_first;
    if (!sonde__arch_flow(s->arch, s->code->vaddr + at, s->code->bytes + at, (size_t)size, &flow)) {
        return 0;
    }
    if (flow.kind == SONDE__FLOW_CALL || flow.kind == SONDE__FLOW_JUMP ||
        flow.kind == SONDE__FLOW_BRANCH) {
        note_target(s, flow.target);
    } else {
        note_operand(s, at, s->code->bytes + at, (size_t)size);
    }
    return flow.length;
}

/* Landing pads are in another table (the LSDA); the CIE's augmentation tells that a function has
 * one (LSB 5 Core §10.6.1.1.1). */
static bool has_landing_pads(const struct search *s, uint64_t vaddr)
{
    struct sonde__cfi_fde fde;
    if (!sonde__cfi_fde_find(s->cfi, s->arch, vaddr, &fde)) {
        return true;
    }
    const uint8_t *section =
        fde.section == SONDE__CFI_EH_FRAME ? s->cfi->eh_frame : s->cfi->debug_frame;
    uint64_t augmentation = fde.cie.offset + 9; /* length, id, version */
    if (section == NULL || fde.cie.program <= section + augmentation) {
        return true;
    }
    const uint8_t *text = section + augmentation;
    size_t length = strnlen((const char *)text, (size_t)(fde.cie.program - text));
    return memchr(text, 'L', length) != NULL;
}

/* Are all branch targets of the function known? */
static bool is_certain(const struct search *s, const struct sonde__hook_raw_site *site)
{
    uint64_t size = site->function_end - site->function;
    const uint8_t *code = site->code - (site->near - site->function);
    struct sonde__flow flow;
    for (uint64_t at = 0; at < size; at += flow.length) {
        if (!sonde__arch_flow(s->arch, site->function + at, code + at, (size_t)(size - at),
                              &flow)) {
            return false;
        }
        if (flow.kind == SONDE__FLOW_JUMP_INDIRECT || flow.kind == SONDE__FLOW_JUMP_TABLE) {
            return false;
        }
    }
    return !has_landing_pads(s, site->vaddr);
}

bool sonde__hook_raw_find(const struct sonde__hook_raw_image *image,
                          bool (*is_wanted)(uint32_t number),
                          struct sonde__hook_raw_site **ret_sites, size_t *ret_count)
{
    struct search s = {.arch = image->arch, .cfi = image->cfi, .is_wanted = is_wanted};
    sonde__cfi_each_fde(s.cfi, s.arch, add_function, &s);
    SONDE__SORT_BY(s.functions, s.function_count, start);
    for (uint32_t i = 0; i < image->code_count && s.function_count != 0; i++) {
        s.code = &image->codes[i];
        for_each_instruction(&s, look_for_call);
    }
    for (uint32_t i = 0; i < image->code_count && s.site_count != 0; i++) {
        s.code = &image->codes[i];
        for_each_instruction(&s, look_for_branch);
    }
    for (uint32_t i = 0; i < image->data_count && s.site_count != 0; i++) {
        look_for_address(&s, &image->datas[i], image->base);
    }
    for (size_t i = 0; i < s.site_count; i++) {
        s.sites[i].is_certain = i > 0 && s.sites[i - 1].function == s.sites[i].function
                                    ? s.sites[i - 1].is_certain
                                    : is_certain(&s, &s.sites[i]);
    }
    sonde__mem_free(s.functions);
    if (s.failed) {
        sonde__mem_free(s.sites);
        return false;
    }
    *ret_sites = s.sites;
    *ret_count = s.site_count;
    return true;
}
