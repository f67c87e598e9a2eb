// SPDX-License-Identifier: Apache-2.0
/* Every row of real libraries against `readelf --debug-dump=frames-interp`: the interpreter in all
 * columns; the compiled table and the rule read in place in the columns that they follow. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_cfi.h"
#include "test.h"
#include "unwind_table.h"

#define COLUMNS_MAX 40
#define TEXT_MAX    24
#define CIES_MAX    64

struct expected { /* a row by readelf */
    uint64_t start;
    char cfa[TEXT_MAX];
    char cells[COLUMNS_MAX][TEXT_MAX];
};

struct cie { /* its own row, for FDEs that add none */
    uint64_t offset;
    struct expected row;
    unsigned columns;
    int regs[COLUMNS_MAX];
};

struct oracle {
    struct file_cfi file;
    enum sonde__cfi_section section;
    const struct sonde__rules *table;
    unsigned columns;
    int regs[COLUMNS_MAX]; /* -1: a register that sonde does not track */
    unsigned rows;
    unsigned others; /* rows that need the full interpreter */
    struct expected row;
    struct cie cies[CIES_MAX];
    unsigned cie_count;
    const struct cie *cie; /* of the FDE */
    bool in_fde, has_row;
    uint64_t fde_start, fde_end;
    /* the full interpreter */
    struct sonde__program program;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES * (SONDE__REG_COUNT + 1)];
};

static struct oracle oracle;

static unsigned return_reg(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? SONDE__X86_64_RA : SONDE__AARCH64_LR;
}

static int reg_by_name(unsigned arch, const char *name)
{
    if (strcmp(name, "ra") == 0) {
        return (int)return_reg(arch);
    }
    for (unsigned i = 0; i < SONDE__REG_COUNT; i++) {
        const char *known = sonde__arch_reg_name(arch, i);
        if (known != NULL && strcmp(known, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void cell_text(const struct sonde__cell *cell, char text[TEXT_MAX])
{
    switch (cell->kind) {
    case SONDE__CELL_SAME:
        strcpy(text, "s");
        break;
    case SONDE__CELL_OFFSET:
        snprintf(text, TEXT_MAX, "c%+d", cell->value);
        break;
    case SONDE__CELL_VAL_OFFSET:
        snprintf(text, TEXT_MAX, "v%+d", cell->value);
        break;
    case SONDE__CELL_REGISTER:
        snprintf(text, TEXT_MAX, "r%u", cell->reg);
        break;
    case SONDE__CELL_EXPRESSION:
        strcpy(text, "exp");
        break;
    case SONDE__CELL_VAL_EXPRESSION:
        strcpy(text, "vexp");
        break;
    default:
        strcpy(text, "u");
        break;
    }
}

static void check_interpreter(uint64_t at)
{
    unsigned arch = oracle.file.arch;
    const struct sonde__cfa *cfa = &oracle.program.cfas[0];
    struct sonde__cfi_fde fde;
    char text[TEXT_MAX] = "exp";
    CHECK(sonde__cfi_fde_find_in(&oracle.file.cfi, arch, oracle.section, at, &fde));
    CHECK_EQ(fde.start, oracle.fde_start);
    CHECK_EQ(fde.end, oracle.fde_end);
    if (!sonde__program_seek(&oracle.program, &fde, at)) {
        FAIL("%#" PRIx64 ": no row", at);
    }
    if (!cfa->is_expression) {
        snprintf(text, sizeof text, "%s%+d", sonde__arch_reg_name(arch, cfa->reg), cfa->offset);
    }
    CHECK_STR(text, oracle.row.cfa);
    for (unsigned i = 0; i < oracle.columns; i++) {
        if (oracle.regs[i] >= 0) {
            cell_text(&oracle.program.cells[oracle.regs[i]], text);
            if (strcmp(text, oracle.row.cells[i]) != 0) {
                FAIL("%#" PRIx64 " column %d: %s, readelf %s", at, oracle.regs[i], text,
                     oracle.row.cells[i]);
            }
        }
    }
}

/* The rule of a saved register in readelf's words. */
static void from_text(uint8_t from, int offset, char text[TEXT_MAX])
{
    strcpy(text, from == SONDE__FROM_SP || from == SONDE__FROM_FP ? "exp" : "u");
    if (from == SONDE__FROM_CFA) {
        snprintf(text, TEXT_MAX, "c%+d", offset);
    }
}

static void check_rule(uint64_t at, const struct sonde__rule *rule)
{
    unsigned arch = oracle.file.arch;
    char text[TEXT_MAX];
    const char *fp = "u";
    const char *ra = "u";
    for (unsigned i = 0; i < oracle.columns; i++) {
        if (oracle.regs[i] == (int)sonde__arch_fp(arch)) {
            fp = oracle.row.cells[i];
        } else if (oracle.regs[i] == (int)return_reg(arch)) {
            ra = oracle.row.cells[i];
        }
    }
    if (rule->cfa == SONDE__RULE_OTHER) {
        oracle.others++;
        return;
    }
    if (rule->cfa == SONDE__RULE_END) {
        CHECK_STR(ra, "u");
        return;
    }
    /* aarch64: a return address above the CFA proves that the CFA is above it */
    int above = arch == SONDE_ARCH_AARCH64 && ra[0] == 'c' && ra[1] == '+'
                    ? (atoi(ra + 1) + 8 + 15) & ~15
                    : 0;
    bool by_sp = rule->cfa == SONDE__RULE_SP;
    strcpy(text, "exp");
    if (by_sp || rule->cfa == SONDE__RULE_FP) {
        unsigned reg = by_sp ? sonde__arch_sp(arch) : sonde__arch_fp(arch);
        snprintf(text, sizeof text, "%s%+d", sonde__arch_reg_name(arch, reg),
                 rule->cfa_offset - above);
    }
    if (strcmp(text, oracle.row.cfa) != 0) {
        FAIL("%#" PRIx64 ": rule %s, readelf %s", at, text, oracle.row.cfa);
    }
    from_text(rule->fp_from, rule->fp_offset + above, text);
    if (strcmp(text, strcmp(fp, "s") == 0 ? "u" : fp) != 0) {
        FAIL("%#" PRIx64 ": fp %s, readelf %s", at, text, fp);
    }
    from_text(rule->ra_from, rule->ra_offset + above, text);
    if (strcmp(text, strcmp(ra, "s") == 0 ? "u" : ra) != 0) {
        FAIL("%#" PRIx64 ": ra %s, readelf %s", at, text, ra);
    }
}

static void check_at(uint64_t at)
{
    struct sonde__rule rule =
        sonde__compact_find(&oracle.file.cfi, oracle.file.arch, oracle.section, at);
    check_interpreter(at);
    check_rule(at, &rule);
    if (oracle.section == SONDE__CFI_EH_FRAME) {
        const struct sonde__rule *compiled = sonde__table_find(oracle.table, at);
        if (memcmp(compiled, &rule, sizeof rule) != 0) {
            FAIL("%#" PRIx64 ": the table differs from the rule in place", at);
        }
    }
}

/* The last row holds up to `end`: check its first and last byte. */
static void close_row(uint64_t end)
{
    if (!oracle.in_fde || oracle.fde_start >= oracle.fde_end) {
        return;
    }
    if (!oracle.has_row) { /* an FDE without instructions: the CIE's row */
        CHECK(oracle.cie != NULL);
        oracle.row = oracle.cie->row;
        oracle.row.start = oracle.fde_start;
        oracle.columns = oracle.cie->columns;
        memcpy(oracle.regs, oracle.cie->regs, sizeof oracle.regs);
    }
    if (oracle.row.start >= end) {
        return;
    }
    oracle.rows++;
    check_at(oracle.row.start);
    check_at(end - 1);
}

static void read_columns(char *line)
{
    char *save = NULL;
    (void)strtok_r(line, " \n", &save); /* LOC */
    (void)strtok_r(NULL, " \n", &save); /* CFA */
    oracle.columns = 0;
    for (char *name; (name = strtok_r(NULL, " \n", &save)) != NULL; oracle.columns++) {
        CHECK(oracle.columns < COLUMNS_MAX);
        oracle.regs[oracle.columns] = reg_by_name(oracle.file.arch, name);
    }
}

static void read_row(char *line)
{
    char *save = NULL;
    struct expected row;
    row.start = strtoull(strtok_r(line, " \n", &save), NULL, 16);
    snprintf(row.cfa, sizeof row.cfa, "%s", strtok_r(NULL, " \n", &save));
    for (unsigned i = 0; i < oracle.columns; i++) {
        const char *cell = strtok_r(NULL, " \n", &save);
        if (cell != NULL && cell[0] == '(') { /* "r9 (r9)": number and name of a register */
            cell = strtok_r(NULL, " \n", &save);
        }
        CHECK(cell != NULL);
        snprintf(row.cells[i], TEXT_MAX, "%s", cell);
    }
    if (oracle.in_fde && oracle.has_row) {
        close_row(row.start);
    }
    oracle.row = row;
    oracle.has_row = true;
    if (!oracle.in_fde) {
        struct cie *cie = &oracle.cies[oracle.cie_count - 1];
        cie->row = row;
        cie->columns = oracle.columns;
        memcpy(cie->regs, oracle.regs, sizeof oracle.regs);
    }
}

/* "00000018 0000002c 0000001c FDE cie=00000000 pc=...": the line that opens a record. */
static void open_record(const char *line)
{
    const char *range = strstr(line, " pc=");
    uint64_t offset = 0;
    close_row(oracle.fde_end);
    oracle.in_fde = range != NULL;
    oracle.has_row = false;
    if (range == NULL) {
        CHECK(oracle.cie_count < CIES_MAX);
        CHECK(sscanf(line, "%" SCNx64, &oracle.cies[oracle.cie_count++].offset) == 1);
        return;
    }
    CHECK(sscanf(strstr(line, "cie="), "cie=%" SCNx64 " pc=%" SCNx64 "..%" SCNx64, &offset,
                 &oracle.fde_start, &oracle.fde_end) == 3);
    oracle.cie = NULL;
    for (unsigned i = 0; i < oracle.cie_count; i++) {
        if (oracle.cies[i].offset == offset) {
            oracle.cie = &oracle.cies[i];
        }
    }
}

static void read_line(char *line)
{
    uint64_t ignored = 0;
    if (strstr(line, " CIE ") != NULL || strstr(line, " FDE ") != NULL) {
        open_record(line);
    } else if (strncmp(line, "   LOC", 6) == 0) {
        read_columns(line);
    } else if (sscanf(line, "%16" SCNx64 " ", &ignored) == 1 && strstr(line, "ZERO") == NULL) {
        read_row(line);
    }
}

static void build_table(void)
{
    size_t size = 0;
    oracle.table = NULL;
    if (oracle.section != SONDE__CFI_EH_FRAME) {
        return;
    }
    CHECK_OK(sonde__unwind_rules_size(&oracle.file.cfi, oracle.file.arch, &size));
    void *memory = malloc(size);
    CHECK(memory != NULL);
    CHECK_OK(
        sonde__unwind_rules_build(&oracle.file.cfi, oracle.file.arch, memory, size, &oracle.table));
    CHECK(sonde__unwind_rules_bytes(oracle.table) <= size);
}

static void check_file(const char *path, enum sonde__cfi_section section)
{
    char command[512];
    char line[4096];
    memset(&oracle, 0, sizeof oracle);
    if (!file_cfi_open(&oracle.file, path)) {
        SKIP("%s is not here", path);
    }
    oracle.section = section;
    for (unsigned reg = 0; reg < SONDE__REG_COUNT; reg++) {
        oracle.cell_of[reg] = (uint8_t)reg;
    }
    sonde__program_init(&oracle.program, &oracle.file.cfi, oracle.cell_of, oracle.cells,
                        SONDE__REG_COUNT + 1);
    build_table();
    snprintf(command, sizeof command, "readelf --debug-dump=frames-interp %s 2>/dev/null", path);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    bool wanted = false;
    const char *heading = section == SONDE__CFI_EH_FRAME ? ".eh_frame" : ".debug_frame";
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (strncmp(line, "Contents of the ", 16) == 0) {
            wanted = strstr(line, heading) != NULL;
        } else if (wanted) {
            read_line(line);
        }
    }
    (void)pclose(pipe);
    close_row(oracle.fde_end);
    printf("     %s: %u rows, %u need the full interpreter", path, oracle.rows, oracle.others / 2);
    if (oracle.table != NULL) {
        printf(", table %zu bytes of %zu, %u rules, bucket shift %u",
               sonde__unwind_rules_bytes(oracle.table), oracle.file.cfi.eh_frame_size,
               oracle.table->rule_count, oracle.table->bucket_shift);
    }
    printf("\n");
    free((void *)(uintptr_t)oracle.table);
    file_cfi_close(&oracle.file);
}

/* Allocate stdout's buffer, and what popen keeps, before the harness counts the heap. */
static __attribute__((constructor)) void warm_up(void)
{
    FILE *pipe = popen("true", "r");
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
}

static void check_library(const char *path, unsigned rows_min)
{
    check_file(path, SONDE__CFI_EH_FRAME);
    CHECK(oracle.rows >= rows_min);
}

TEST(rows_of_libc)
{
    check_library("/lib/x86_64-linux-gnu/libc.so.6", 10000);
}
TEST(rows_of_ld_so)
{
    check_library("/lib64/ld-linux-x86-64.so.2", 1000);
}
TEST(rows_of_libgcc)
{
    check_library("/lib/x86_64-linux-gnu/libgcc_s.so.1", 1000);
}
TEST(rows_of_libcrypto)
{
    check_library("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 50000);
}
TEST(rows_of_libstdcxx)
{
    check_library("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 20000);
}
TEST(rows_of_python)
{
    check_library("/usr/bin/python3.11", 50000);
}
TEST(rows_of_libglib)
{
    check_library("/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0", 10000);
}
TEST(rows_of_aarch64_libc)
{
    check_library("/usr/aarch64-linux-gnu/lib/libc.so.6", 10000);
}
TEST(rows_of_aarch64_ld_so)
{
    check_library("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", 1000);
}
TEST(rows_of_aarch64_libstdcxx)
{
    check_library("/usr/aarch64-linux-gnu/lib/libstdc++.so.6", 10000);
}
TEST(rows_of_debug_frame)
{
    check_file(FIXTURE_DEBUG_FRAME, SONDE__CFI_DEBUG_FRAME);
    CHECK(oracle.rows >= 4);
}
TEST(rows_of_rare_instructions)
{
    if (SONDE__ARCH_HOST != SONDE_ARCH_X86_64) {
        SKIP("the instructions are written for x86-64");
    }
    check_library(FIXTURE_FORMS, 30);
}
