// SPDX-License-Identifier: Apache-2.0
#include "dwarf_sections.h"

#include <stddef.h>
#include <stdio.h>

#include "image_elf.h"
#include "image_macho.h"

enum { NAME_BYTES = 32 };

static const struct {
    const char *name;
    size_t at;
} known[SONDE__DWARF_SECTION_COUNT] = {
#define SECTION(field)                                                                             \
    {                                                                                              \
#        field, offsetof(struct sonde__dwarf_sections, field)                                      \
    }
    SECTION(info),     SECTION(abbrev),      SECTION(line),     SECTION(str),
    SECTION(line_str), SECTION(str_offsets), SECTION(addr),     SECTION(ranges),
    SECTION(rnglists), SECTION(types),       SECTION(cu_index), SECTION(tu_index),
#undef SECTION
};

const char *sonde__dwarf_section_name(enum sonde__dwarf_section section)
{
    return known[section].name;
}

struct sonde__bytes *sonde__dwarf_section(struct sonde__dwarf_sections *sections,
                                          enum sonde__dwarf_section section)
{
    return (struct sonde__bytes *)(void *)((char *)sections + known[section].at);
}

void sonde__dwarf_sections_init(struct sonde__dwarf_sections *sections)
{
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        sonde__base_bytes_init(sonde__dwarf_section(sections, i), "", 0);
    }
    sections->supplementary = NULL;
}

bool sonde__dwarf_sections_of_elf(const struct sonde__elf *elf,
                                  struct sonde__dwarf_sections *ret_sections)
{
    struct sonde__elf_section section;
    bool whole = !sonde__elf_section_by_name(elf, ".zdebug_info", &section);
    sonde__dwarf_sections_init(ret_sections);
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, ".debug_%s", known[i].name);
        if (!sonde__elf_section_by_name(elf, name, &section) || section.data == NULL) {
            continue;
        }
        if ((section.flags & SONDE__SHF_COMPRESSED) != 0) {
            whole = false;
            continue;
        }
        sonde__base_bytes_init(sonde__dwarf_section(ret_sections, i), section.data, section.size);
    }
    return whole;
}

bool sonde__dwarf_sections_of_macho(const struct sonde__macho *macho,
                                    struct sonde__dwarf_sections *ret_sections)
{
    struct sonde__macho_section section;
    bool whole = !sonde__macho_section_by_name(macho, "__DWARF", "__zdebug_info", &section);
    sonde__dwarf_sections_init(ret_sections);
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "__debug_%s", known[i].name);
        if (sonde__macho_section_by_name(macho, "__DWARF", name, &section) &&
            section.data != NULL) {
            sonde__base_bytes_init(sonde__dwarf_section(ret_sections, i), section.data,
                                   section.size);
        }
    }
    return whole;
}
