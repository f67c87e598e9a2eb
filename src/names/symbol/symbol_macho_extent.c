// SPDX-License-Identifier: Apache-2.0
#include "symbol_macho_extent.h"

#include <stdbool.h>

#include <sonde/arch.h>

#include "arch_flow.h"
#include "base_bytes.h"

enum { ISLAND_BYTES = 12 };

struct extent {
    unsigned arch;
    const uint8_t *code;
    uint64_t start, limit;
    uint64_t sure;  /* a branch of the function leads there: what is before it belongs to it */
    uint64_t doubt; /* behind a call that may not return; 0: none */
    uint64_t maybe; /* as `sure`, by the branches behind that call */
};

static bool is_call(unsigned kind)
{
    return kind == SONDE__FLOW_CALL || kind == SONDE__FLOW_CALL_SLOT ||
           kind == SONDE__FLOW_CALL_INDIRECT;
}

static bool goes_on(unsigned kind)
{
    return kind == SONDE__FLOW_ON || kind == SONDE__FLOW_BRANCH || is_call(kind);
}

static bool read_flow(const struct extent *x, uint64_t vaddr, struct sonde__flow *ret_flow)
{
    return vaddr < x->limit && sonde__arch_flow(x->arch, vaddr, x->code + (vaddr - x->start),
                                                (size_t)(x->limit - vaddr), ret_flow);
}

/* Jumps into what is known of the function, not to its entry, which other functions call. */
static bool is_inward(const struct extent *x, const struct sonde__flow *flow, uint64_t end)
{
    return (flow->kind == SONDE__FLOW_BRANCH || flow->kind == SONDE__FLOW_JUMP) &&
           flow->target > x->start && flow->target < end;
}

/* An address of the code ahead, in an instruction of x86-64 (lea disp(%rip), reg), is that of
 * another function, or of the function's table of jumps, which stands behind it. */
static void see_address(struct extent *x, uint64_t at, uint64_t next)
{
    const uint8_t *code = x->code + (at - x->start);
    if (x->arch == SONDE_ARCH_X86_64 && next - at == 7 && (code[0] & 0xfb) == 0x48 &&
        code[1] == 0x8d && (code[2] & 0xc7) == 5) {
        uint64_t target = next + (uint64_t)(int64_t)(int32_t)sonde__base_le32(code + 3);
        x->limit = target >= next && target < x->limit ? target : x->limit;
    }
}

/* The call returns. */
static void end_doubt(struct extent *x)
{
    x->sure = x->maybe > x->sure ? x->maybe : x->sure;
    x->doubt = x->maybe = 0;
}

static void see_branch(struct extent *x, uint64_t target)
{
    uint64_t *far = x->doubt != 0 ? &x->maybe : &x->sure;
    if (target > *far && target < x->limit) {
        *far = target;
    }
}

static uint64_t cut(const struct extent *x, uint64_t at)
{
    return x->doubt != 0 ? x->doubt : at;
}

/* Follow code from `at` in sequence. Returns where it ends: behind the last instruction of the
 * function, or a call that does not seem to return. Such a call is followed by another function, in
 * which a frame is made before one is left or another call is made. */
static uint64_t follow(struct extent *x, uint64_t at)
{
    struct sonde__flow flow;
    while (read_flow(x, at, &flow)) {
        uint64_t next = at + flow.length;
        see_address(x, at, next);
        if (at <= x->sure || flow.gives_stack || is_inward(x, &flow, x->doubt)) {
            end_doubt(x);
        } else if (x->doubt != 0 && flow.takes_stack) {
            return x->doubt;
        }
        if (flow.kind == SONDE__FLOW_BRANCH) {
            see_branch(x, flow.target);
        } else if (is_call(flow.kind)) {
            end_doubt(x);
            x->doubt = next;
        } else if (!goes_on(flow.kind) && next > x->sure && next > x->maybe) {
            return cut(x, next);
        }
        at = next;
    }
    return cut(x, at);
}

/* Find code behind `end` that jumps back into the function. Returns what is behind that; 0: none.
 * Not for x86-64, whose tables of jumps stand between the instructions. */
static uint64_t find_more(const struct extent *x, uint64_t end)
{
    struct sonde__flow flow;
    if (x->arch != SONDE_ARCH_AARCH64) {
        return 0;
    }
    for (uint64_t at = end; read_flow(x, at, &flow); at += flow.length) {
        if (is_inward(x, &flow, end)) {
            return at + flow.length;
        }
    }
    return 0;
}

size_t symbol_macho_extent(unsigned arch, uint64_t vaddr, const uint8_t *code, size_t size)
{
    struct extent x = {arch, code, vaddr, vaddr + size, vaddr, 0, 0};
    uint64_t end = follow(&x, vaddr);
    for (uint64_t more = find_more(&x, end); more != 0; more = find_more(&x, end)) {
        x.sure = more;
        end = more;
    }
    return (size_t)((end < x.limit ? end : x.limit) - vaddr);
}

size_t symbol_macho_islands(const uint8_t *code, size_t size)
{
    size_t found = 0;
    while (size - found >= ISLAND_BYTES) {
        const uint8_t *at = code + (size - found - ISLAND_BYTES);
        if ((sonde__base_le32(at) & 0x9f00001f) != 0x90000010 ||
            (sonde__base_le32(at + 4) & 0xffc003ff) != 0x91000210 ||
            sonde__base_le32(at + 8) != 0xd61f0200) {
            break;
        }
        found += ISLAND_BYTES;
    }
    return found;
}
