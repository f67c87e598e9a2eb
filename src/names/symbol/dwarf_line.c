// SPDX-License-Identifier: Apache-2.0
/* Headers of line number programs (DWARF 5 §6.2.4): parameters, directories and files. */
#include "dwarf_line.h"

#include <string.h>

#include "base_text.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

#define ENTRIES_MAX (1u << 20)
#define FORMATS_MAX 16

static bool add_directory(struct sonde__dwarf_program *p, const char *name)
{
    struct sonde__dwarf_lines *l = p->lines;
    if (l->directory_count >= ENTRIES_MAX ||
        !SONDE__MEM_ADD(l->directories, l->directory_count, l->directory_capacity, name)) {
        p->status = SONDE_MEMORY;
        return false;
    }
    return true;
}

bool sonde__dwarf_program_add_file(struct sonde__dwarf_program *p, const char *name,
                                   uint64_t directory)
{
    struct sonde__dwarf_lines *l = p->lines;
    if (l->file_count >= ENTRIES_MAX ||
        !SONDE__MEM_ADD(l->files, l->file_count, l->file_capacity,
                        (struct sonde__dwarf_file){name, directory < l->directory_count
                                                             ? l->directories[directory]
                                                             : ""})) {
        p->status = SONDE_MEMORY;
        return false;
    }
    return true;
}

/* Versions 2 to 4: lists that end with an empty name; directory 0 is the unit's own. */
static bool read_names_old(struct sonde__dwarf_program *p)
{
    if (!add_directory(p, p->unit.comp_dir != NULL ? p->unit.comp_dir : "") ||
        !sonde__dwarf_program_add_file(p, "", 0)) {
        return false;
    }
    for (;;) {
        const char *name = sonde__base_bytes_string(&p->at);
        if (name[0] == '\0' || p->at.failed) {
            break;
        }
        if (!add_directory(p, name)) {
            return false;
        }
    }
    for (;;) {
        const char *name = sonde__base_bytes_string(&p->at);
        if (name[0] == '\0' || p->at.failed) {
            return true;
        }
        uint64_t directory = sonde__base_bytes_uleb(&p->at);
        (void)sonde__base_bytes_uleb(&p->at); /* time */
        (void)sonde__base_bytes_uleb(&p->at); /* size */
        if (!sonde__dwarf_program_add_file(p, name, directory)) {
            return false;
        }
    }
}

/* Version 5: a list of entries, preceded by its format. */
static bool read_entries(struct sonde__dwarf_program *p, bool files)
{
    struct sonde__dwarf_attr formats[FORMATS_MAX];
    unsigned format_count = sonde__base_bytes_u8(&p->at);
    if (format_count > FORMATS_MAX) {
        return sonde__base_bytes_fail(&p->at);
    }
    for (unsigned i = 0; i < format_count; i++) {
        formats[i].name = (uint16_t)sonde__base_bytes_uleb(&p->at);
        formats[i].form = (uint16_t)sonde__base_bytes_uleb(&p->at);
        formats[i].implicit = 0;
    }
    uint64_t count = sonde__base_bytes_uleb(&p->at);
    for (uint64_t n = 0; n < count && !p->at.failed; n++) {
        const char *path = "";
        uint64_t directory = 0;
        if (format_count == 0 && n >= ENTRIES_MAX) {
            return sonde__base_bytes_fail(&p->at);
        }
        for (unsigned i = 0; i < format_count; i++) {
            struct sonde__dwarf_value value =
                sonde__dwarf_read(p->sections, &p->unit, &formats[i], &p->at);
            if (formats[i].name == DW_LNCT_path && value.kind == SONDE__DWARF_STRING) {
                path = value.s;
            } else if (formats[i].name == DW_LNCT_directory_index) {
                directory = value.u;
            }
        }
        if (!(files ? sonde__dwarf_program_add_file(p, path, directory) : add_directory(p, path))) {
            return false;
        }
    }
    return true;
}

static bool read_header(struct sonde__dwarf_program *p)
{
    uint64_t length = sonde__base_bytes_u32(&p->at);
    uint64_t header_length;
    size_t program_at;
    p->unit.offset_size = 4;
    if (length == 0xffffffffu) {
        p->unit.offset_size = 8;
        length = sonde__base_bytes_u64(&p->at);
    }
    if (p->at.failed || length > sonde__base_bytes_left(&p->at)) {
        return sonde__base_bytes_fail(&p->at);
    }
    p->at.end = p->at.at + length;
    p->unit.version = sonde__base_bytes_u16(&p->at);
    if (p->unit.version < 2 || p->unit.version > 5) {
        return sonde__base_bytes_fail(&p->at);
    }
    if (p->unit.version >= 5) {
        p->unit.address_size = sonde__base_bytes_u8(&p->at);
        (void)sonde__base_bytes_u8(&p->at); /* segment selector size */
        if (p->unit.address_size != 4 && p->unit.address_size != 8) {
            return sonde__base_bytes_fail(&p->at);
        }
    }
    header_length = sonde__base_bytes_uint(&p->at, p->unit.offset_size);
    if (header_length > sonde__base_bytes_left(&p->at)) {
        return sonde__base_bytes_fail(&p->at);
    }
    program_at = sonde__base_bytes_offset(&p->at) + header_length;
    p->min_instruction = sonde__base_bytes_u8(&p->at);
    p->max_operations = p->unit.version >= 4 ? sonde__base_bytes_u8(&p->at) : 1;
    (void)sonde__base_bytes_u8(&p->at); /* default_is_stmt */
    p->line_base = (int8_t)sonde__base_bytes_u8(&p->at);
    p->line_range = sonde__base_bytes_u8(&p->at);
    p->opcode_base = sonde__base_bytes_u8(&p->at);
    for (unsigned i = 1; i < p->opcode_base; i++) {
        p->lengths[i] = sonde__base_bytes_u8(&p->at);
    }
    if (p->line_range == 0 || p->opcode_base == 0) {
        return sonde__base_bytes_fail(&p->at);
    }
    if (p->max_operations == 0) {
        p->max_operations = 1;
    }
    bool ok =
        p->unit.version >= 5 ? read_entries(p, false) && read_entries(p, true) : read_names_old(p);
    return ok && !p->at.failed && sonde__base_bytes_seek(&p->at, program_at);
}

enum sonde_status sonde__dwarf_program_open(const struct sonde__dwarf_sections *sections,
                                            const struct sonde__dwarf_unit *unit,
                                            struct sonde__dwarf_lines *lines,
                                            struct sonde__dwarf_program *ret_program)
{
    *ret_program = (struct sonde__dwarf_program){
        .sections = sections, .unit = *unit, .lines = lines, .at = sections->line};
    ret_program->at.failed = false;
    if (!unit->has_stmt_list || !sonde__base_bytes_seek(&ret_program->at, unit->stmt_list) ||
        !read_header(ret_program)) {
        return ret_program->status != SONDE_OK ? ret_program->status : SONDE_CORRUPT;
    }
    return SONDE_OK;
}

void sonde__dwarf_lines_done(struct sonde__dwarf_lines *lines)
{
    sonde__mem_free(lines->files);
    sonde__mem_free(lines->directories);
    memset(lines, 0, sizeof *lines);
}

bool sonde__dwarf_file_path(const struct sonde__dwarf_lines *lines,
                            const struct sonde__dwarf_unit *unit, uint32_t file, char *ret_text,
                            size_t size)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, size);
    if (file >= lines->file_count || lines->files[file].name[0] == '\0') {
        return false;
    }
    const struct sonde__dwarf_file *f = &lines->files[file];
    if (f->name[0] != '/') {
        if (f->directory[0] != '/' && unit->comp_dir != NULL && unit->comp_dir != f->directory) {
            sonde__base_text_str(&text, unit->comp_dir);
            sonde__base_text_char(&text, '/');
        }
        if (f->directory[0] != '\0') {
            sonde__base_text_str(&text, f->directory);
            sonde__base_text_char(&text, '/');
        }
    }
    sonde__base_text_str(&text, f->name);
    return true;
}
