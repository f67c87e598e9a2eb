// SPDX-License-Identifier: Apache-2.0
/* Finds the function at an address, and the file and line of declarations. */
#include <string.h>

#include "base_status.h"
#include "dwarf_constants.h"
#include "dwarf_line.h"
#include "types_data.h"

/* --- ranges --- */

struct hit {
    uint64_t vaddr, low, high; /* low, high: of the first range */
    bool any, covers;
};

static void look(void *ctx, uint64_t low, uint64_t high)
{
    struct hit *hit = ctx;
    if (!hit->any) {
        hit->low = low;
        hit->high = high;
    }
    hit->any = true;
    hit->covers = hit->covers || (hit->vaddr >= low && hit->vaddr < high);
}

static void inspect_function(struct sonde__types *t, const struct types_die *die, struct hit *hit)
{
    const struct sonde__dwarf_unit *head = &t->units[die->self.unit].head;
    if (die->ranges.kind != SONDE__DWARF_NONE) {
        (void)sonde__dwarf_each_range(types_sections(t, die->self.unit), head, die->ranges.u, look,
                                      hit);
    } else if (die->low.kind == SONDE__DWARF_ADDRESS && die->high.kind != SONDE__DWARF_NONE &&
               !sonde__dwarf_discarded(head, die->low.u)) {
        uint64_t high =
            die->high.kind == SONDE__DWARF_CONSTANT ? die->low.u + die->high.u : die->high.u;
        if (die->low.u < high) {
            look(hit, die->low.u, high);
        }
    }
}

/* Does the unit have code there? 1 yes, 0 no, -1 unknown. */
static int unit_covers(struct sonde__types *t, uint32_t unit, uint64_t vaddr)
{
    const struct sonde__dwarf_unit *head = &t->units[unit].head;
    struct hit hit = {.vaddr = vaddr};
    if (head->has_ranges) {
        (void)sonde__dwarf_each_range(types_sections(t, unit), head, head->ranges, look, &hit);
        return hit.covers;
    }
    if (head->has_low_pc && head->low_pc < head->high_pc) {
        return vaddr >= head->low_pc && vaddr < head->high_pc;
    }
    return head->has_low_pc || head->tag != DW_TAG_compile_unit ? 0 : -1;
}

/* --- one unit --- */

/* If there is an abstract DIE, it has all parameters and variables. */
static enum sonde_status finish(struct sonde__types *t, struct types_die *die,
                                const struct hit *hit, struct sonde__type_function *ret)
{
    struct sonde__type_ref declaration = die->self;
    struct types_die more = *die;
    for (int hop = 0; more.origin.die != 0 && hop < TYPES_HOPS_MAX; hop++) {
        declaration = more.origin;
        if (types_die(t, declaration, &more) != SONDE_OK) {
            declaration = die->self;
            break;
        }
    }
    enum sonde_status status = types_whole(t, die);
    if (status == SONDE_LIMIT || status == SONDE_MEMORY) {
        return status;
    }
    *ret = (struct sonde__type_function){.self = die->self,
                                         .declaration = declaration,
                                         .returns = die->type,
                                         .name = die->name,
                                         .linkage = die->linkage,
                                         .low = hit->low,
                                         .high = hit->high,
                                         .is_prototyped = die->prototyped};
    return SONDE_OK;
}

static enum sonde_status find_in_unit(struct sonde__types *t, uint32_t unit, uint64_t vaddr,
                                      struct sonde__type_function *ret)
{
    uint64_t offset = t->units[unit].head.die_offset;
    for (;;) {
        struct types_die die;
        struct hit hit = {.vaddr = vaddr};
        uint64_t at = offset;
        uint16_t tag;
        bool children;
        enum sonde_status status = types_step(t, unit, &offset, &tag, &children);
        if (status == SONDE_OK && tag == DW_TAG_subprogram) {
            status = types_die(t, (struct sonde__type_ref){unit, at}, &die);
            if (status == SONDE_OK) {
                inspect_function(t, &die, &hit);
            }
        }
        if (status != SONDE_OK) {
            return status == SONDE_CORRUPT ? SONDE_ABSENT : status;
        }
        if (hit.covers) {
            return finish(t, &die, &hit, ret);
        }
    }
}

enum sonde_status sonde__types_function_at(struct sonde__types *t, uint64_t vaddr,
                                           struct sonde__type_function *ret)
{
    uint32_t end = t->spaces[0].first + t->spaces[0].count;
    sonde__types_refill(t);
    for (uint32_t i = t->spaces[0].first; i < end; i++) {
        enum sonde_status status = t->units[i].is_type ? SONDE_CORRUPT : types_ready(t, i);
        if (status == SONDE_LIMIT || status == SONDE_MEMORY) {
            return status;
        }
        if (status != SONDE_OK || unit_covers(t, i, vaddr) == 0) {
            continue;
        }
        uint32_t body = types_body(t, i);
        if (body == TYPES_NO_UNIT) {
            continue;
        }
        status = find_in_unit(t, body, vaddr, ret);
        if (status != SONDE_ABSENT) {
            return status;
        }
    }
    return SONDE_ABSENT;
}

/* --- files --- */

static bool load_files(struct sonde__types *t, uint32_t unit)
{
    const struct sonde__dwarf_unit *head = &t->units[unit].head;
    struct sonde__dwarf_program program;
    if (t->files.valid && t->files.unit == unit) {
        return true;
    }
    sonde__dwarf_lines_done(&t->files.lines);
    memset(&t->files, 0, sizeof t->files);
    t->files.unit = unit;
    bool split_type = t->units[unit].is_type && t->spaces[t->units[unit].space].split;
    t->files.valid = head->has_stmt_list && !split_type &&
                     sonde__dwarf_program_open(types_sections(t, unit), head, &t->files.lines,
                                               &program) == SONDE_OK;
    (void)types_spend(t, t->files.lines.file_count + t->files.lines.directory_count);
    return t->files.valid;
}

bool sonde__type_declared_at(struct sonde__types *t, struct sonde__type_ref ref, char *ret_path,
                             size_t size, uint32_t *ret_line)
{
    struct types_die die;
    if (ref.die == 0 || types_die(t, ref, &die) != SONDE_OK || types_whole(t, &die) != SONDE_OK ||
        die.line == 0 || die.line > UINT32_MAX || die.file > UINT32_MAX ||
        types_ready(t, die.line_unit) != SONDE_OK || !load_files(t, die.line_unit) ||
        !sonde__dwarf_file_path(&t->files.lines, &t->units[die.line_unit].head, (uint32_t)die.file,
                                ret_path, size)) {
        return false;
    }
    *ret_line = (uint32_t)die.line;
    return true;
}
