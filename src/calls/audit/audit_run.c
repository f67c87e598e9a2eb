// SPDX-License-Identifier: Apache-2.0
#include "audit_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch_syscall.h"
#include "audit_alias.h"
#include "audit_blocks.h"
#include "audit_expand.h"
#include "audit_family.h"
#include "audit_fortified.h"
#include "audit_libraries.h"
#include "audit_list.h"
#include "audit_live.h"
#include "audit_mark.h"
#include "audit_missed.h"
#include "audit_page.h"
#include "audit_phase.h"
#include "audit_raw.h"
#include "audit_read.h"
#include "audit_ruling.h"
#include "audit_totals.h"
#include "base_status.h"
#include "base_text.h"
#include "host_file.h"
#include "mem_heap.h"
#include "os.h"
#include "record_family.h"
#include "record_page.h"
#include "registry_call.h"
#include "report_out.h"

enum { LIST_BYTES = 262144, ALIAS_BYTES = 65536, EXPANDED_BYTES = 131072 };

struct sonde__audit {
    struct sonde__audit_options options;
    char text[LIST_BYTES];
    char alias_text[ALIAS_BYTES];
    char form_text[ALIAS_BYTES];
    char expanded_text[EXPANDED_BYTES];
    char number_text[SONDE__ARCH_SYSCALLS * 64];
    struct sonde__audit_list list; /* names of the file, then other names of the same functions */
    uint32_t listed;
    struct sonde__audit_ruling *ruling; /* null: no rules */
    uint32_t syscall_function;          /* record_page.h */
    bool is_syscall_listed;
    struct sonde__audit_blocks blocks;
    struct kept { /* what the live file has */
        bool any;
        uint64_t calls;
        uint32_t entries, phases;
        struct sonde__symfile_cache *symbols; /* null: no rule asks for names, or none are found */
    } kept;
    struct sonde__audit_live *live; /* null: nothing was told yet */
    struct sonde__symfile_cache *live_symbols;
    bool has_patterns;
    struct sonde__audit_family *family; /* null: only one process is recorded */
};

static void print_flaw(void *ctx, uint64_t line, const char *what)
{
    const struct sonde__audit *audit = ctx;
    sonde__report_line(audit->options.lines, "%.200s:%llu: %.280s", audit->options.list,
                       (unsigned long long)line, what);
}

static enum sonde_status read_list(struct sonde__audit *audit, struct sonde_error *ret_error)
{
    size_t size;
    if (audit->options.blocks) {
        for (uint32_t i = 0; i < SONDE__REGISTRY_FUNCTIONS; i++) {
            audit->list.names[audit->list.count++] = sonde__registry_functions[i];
        }
        return SONDE_OK;
    }
    if (audit->options.rules != NULL) {
        return sonde__audit_rules_list(audit->options.rules, &audit->list, audit->text,
                                       sizeof audit->text, ret_error);
    }
    SONDE_TRY(sonde__host_file_read(audit->options.list, audit->text, sizeof audit->text, &size,
                                    ret_error));
    if (memchr(audit->text, '\0', size) != NULL) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "not a text file", NULL, 0, 0);
    }
    const struct sonde__audit_list_flaws flaws = {print_flaw, audit};
    return sonde__audit_list_parse(audit->text, audit->options.keep_going ? &flaws : NULL,
                                   &audit->list, ret_error);
}

/* A listed function also means the system call of its name, if there is one. */
static void add_numbers(struct sonde__audit *audit)
{
    struct sonde__audit_list *list = &audit->list;
    char *text = audit->number_text;
    for (uint32_t i = 0, count = list->count; i < count; i++) {
        char name[64];
        int size = snprintf(name, sizeof name, "syscall:%s", list->names[i]) + 1;
        if (size > (int)sizeof name || sonde__audit_list_number(name) < 0 ||
            sonde__audit_list_has(list, name) || list->count == SONDE__RECORD_FUNCTIONS) {
            continue;
        }
        list->versions[list->count] = NULL;
        list->names[list->count++] = memcpy(text, name, (size_t)size);
        text += size;
    }
}

/* libc's syscall() can make any call: it is hooked, and its number is checked. */
static void add_syscall(struct sonde__audit *audit)
{
    struct sonde__audit_list *list = &audit->list;
    bool has_number = false;
    for (uint32_t i = 0; i < list->count; i++) {
        has_number |= sonde__audit_list_number(list->names[i]) >= 0;
        if (strcmp(list->names[i], "syscall") == 0) {
            audit->syscall_function = i + 1;
            audit->is_syscall_listed = true;
        }
    }
    if (!has_number) {
        audit->syscall_function = 0;
    } else if (audit->syscall_function == 0 && list->count < SONDE__RECORD_FUNCTIONS) {
        list->names[list->count++] = "syscall";
        audit->syscall_function = list->count;
    }
}

/* Expand patterns, then add system calls by number, then other names of listed functions, which get
 * counts of their own. If the loader does not list the libraries, calls by other names count for
 * the listed function. */
static enum sonde_status add_names(struct sonde__audit *audit, struct sonde_error *ret_error)
{
    enum sonde_status status = SONDE_OK;
    struct sonde__audit_libraries libraries;
    if (audit->options.blocks) {
        return SONDE_OK;
    }
    (void)(audit->options.loaded != NULL
               ? sonde__audit_libraries_loaded(audit->options.loaded, &libraries)
               : sonde__audit_libraries_open(audit->options.program, audit->options.envp,
                                             &libraries));
    for (uint32_t i = 0; i < audit->list.count; i++) {
        audit->has_patterns |= sonde__audit_list_is_pattern(audit->list.names[i]);
    }
    status = sonde__audit_expand(&libraries, &audit->list, audit->expanded_text,
                                 sizeof audit->expanded_text, audit->options.lines, ret_error);
    if (audit->options.raw) {
        add_numbers(audit);
    }
    audit->listed = audit->list.count;
    add_syscall(audit);
    sonde__audit_add_aliases(&libraries, &audit->list, audit->alias_text, sizeof audit->alias_text);
    if (audit->options.rules != NULL) {
        sonde__audit_add_fortified(&libraries, &audit->list, audit->form_text,
                                   sizeof audit->form_text);
    }
    sonde__audit_libraries_close(&libraries);
    if (status == SONDE_OK && audit->listed == 0) {
        status =
            sonde__base_fail(ret_error, SONDE_ABSENT, "no function is named in it", NULL, 0, 0);
    }
    return status;
}

enum sonde_status sonde__audit_create(const struct sonde__audit_options *options,
                                      struct sonde__audit **ret_audit,
                                      struct sonde_error *ret_error)
{
    struct sonde__audit *audit = sonde__mem_alloc_zeroed(sizeof *audit);
    if (audit == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    audit->options = *options;
    audit->options.nodes = options->nodes != 0 ? options->nodes : SONDE__AUDIT_NODES;
    enum sonde_status status = read_list(audit, ret_error);
    if (status == SONDE_OK) {
        audit->listed = audit->list.count;
        status = add_names(audit, ret_error);
    }
    if (status == SONDE_OK && options->rules != NULL) {
        status = sonde__audit_ruling_make(options->rules, &audit->list, &audit->ruling, ret_error);
    }
    if (status != SONDE_OK) {
        sonde__mem_free(audit);
        return status;
    }
    *ret_audit = audit;
    return SONDE_OK;
}

void sonde__audit_destroy(struct sonde__audit *audit)
{
    if (audit != NULL) {
        sonde__audit_live_close(audit->live);
        if (audit->live_symbols != NULL) {
            sonde__symfile_cache_destroy(audit->live_symbols);
        }
        if (audit->kept.symbols != NULL) {
            sonde__symfile_cache_destroy(audit->kept.symbols);
        }
        sonde__audit_ruling_free(audit->ruling);
        sonde__mem_free(audit);
    }
}

const char *sonde__audit_function(const struct sonde__audit *audit, uint32_t index)
{
    return index < audit->list.count ? audit->list.names[index] : NULL;
}

bool sonde__audit_means(const struct sonde__audit *audit, size_t rule, uint32_t index)
{
    return sonde__audit_ruling_has(audit->ruling, rule, index);
}

uint64_t sonde__audit_shared_size(uint32_t nodes)
{
    return SONDE__RECORD_OFFSET + sonde__record_size(nodes != 0 ? nodes : SONDE__AUDIT_NODES);
}

uint64_t sonde__audit_registry_size(void)
{
    return sonde__registry_size(SONDE__REGISTRY_LINES);
}

uint64_t sonde__audit_family_size(void)
{
    return sizeof(struct sonde__family);
}

void sonde__audit_begin(void *ctx, void *memory)
{
    struct sonde__audit *audit = ctx;
    struct sonde__record_page *page = memory;
    uint32_t used = 0;
    page->version = SONDE__RECORD_PAGE_VERSION;
    page->nodes = audit->options.nodes;
    page->family_at = audit->options.follow ? sonde__audit_shared_size(audit->options.nodes) : 0;
    page->function_count = audit->list.count;
    page->syscall_function = audit->syscall_function;
    page->patches_raw = audit->options.raw;
    page->keeps_seen = audit->ruling != NULL;
    page->is_syscall_listed = audit->is_syscall_listed;
    page->registry_lines = audit->options.blocks ? SONDE__REGISTRY_LINES : 0;
    if (audit->ruling != NULL) {
        page->when = *sonde__audit_ruling_when(audit->ruling);
    }
    audit->blocks.start_ns =
        audit->blocks.start_ns != 0 ? audit->blocks.start_ns : sonde__os_now_ns();
    audit->blocks.lines = SONDE__REGISTRY_LINES;
    audit->blocks.nodes = audit->options.nodes;
    for (uint32_t i = 0; i < audit->list.count; i++) { /* 512 names of at most 240 bytes */
        size_t size = strlen(audit->list.names[i]) + 1;
        memcpy(page->names + used, audit->list.names[i], size);
        page->functions[i] = (struct sonde__record_function){
            .name = used,
            .number = (uint32_t)(sonde__audit_list_number(audit->list.names[i]) + 1),
        };
        used += (uint32_t)size;
    }
}

/* False: nothing was recorded; the user was told. */
static bool is_recorded(const struct sonde__audit *audit, const struct sonde__record_page *page,
                        struct sonde__report_lines lines)
{
    uint32_t state = atomic_load(&page->state), at;
    const char *damaged =
        sonde__audit_page_damaged(page, audit->options.nodes, audit->list.count, &at);
    if (damaged != NULL) {
        sonde__report_line(lines,
                           "%s: the program has damaged the memory that it shares with sonde (at "
                           "offset %u: %s)",
                           state == SONDE__RECORD_RUNS ? "what was recorded may be wrong"
                                                       : "what was recorded is lost",
                           (unsigned)at, damaged);
    } else if (state != SONDE__RECORD_RUNS) {
        sonde__report_line(lines, state == SONDE__RECORD_FAILED
                                      ? "nothing was recorded: the program had no memory for it"
                                      : "nothing was recorded: libsonde-record.so was not loaded");
    }
    return state == SONDE__RECORD_RUNS;
}

static struct sonde__symfile_cache *open_symbols(const struct sonde__audit *audit)
{
    static const struct sonde__symfile_options always;
    const struct sonde__symfile_options *where =
        audit->options.symbols != NULL ? audit->options.symbols : &always;
    struct sonde__symfile_cache *symbols;
    /* without symbols, addresses are better than nothing */
    return sonde__symfile_cache_create(where, &symbols) == SONDE_OK ? symbols : NULL;
}

static void read_blocks(struct sonde__audit *audit, const void *memory, bool all,
                        struct sonde__report *report, struct sonde__report_lines lines)
{
    struct sonde__symfile_cache *symbols = open_symbols(audit);
    if (sonde__audit_read_blocks(&audit->blocks, memory, symbols, all, report) != SONDE_OK) {
        sonde__report_line(lines, "out of memory: not all blocks could be read");
    }
    if (symbols != NULL) {
        sonde__symfile_cache_destroy(symbols);
    }
    sonde__audit_print_blocks(&audit->blocks, lines);
}

/* Say where no block can be seen. One function of the runtime represents all of them. */
struct unseen_blocks {
    struct sonde__report_lines lines;
    bool any_seen;
};

static void print_absent(void *ctx, const char *line)
{
    static const char inside[] = "the program itself: _Block_copy: ";
    static const char absent[] = "_Block_copy: ";
    static const char library[] = ": _Block_copy: calls inside ";
    const struct unseen_blocks *unseen = ctx;
    const char *of_library = strstr(line, library);
    if (strncmp(line, absent, sizeof absent - 1) == 0) {
        sonde__report_line(
            unseen->lines,
            "no blocks runtime was found: one that is part of the program, or hidden "
            "in a library, is not seen");
    } else if (strncmp(line, inside, sizeof inside - 1) == 0) {
        sonde__report_line(unseen->lines,
                           "a blocks runtime is part of the program itself: calls of it that are "
                           "direct are not seen");
    } else if (of_library != NULL && !unseen->any_seen) {
        sonde__report_line(unseen->lines,
                           "a blocks runtime is part of %.*s: direct calls of it, from there, are "
                           "not seen",
                           (int)(of_library - line), line);
    }
}

static void print_blind_spots(const struct sonde__audit *audit,
                              const struct sonde__record_page *page,
                              struct sonde__report_lines lines)
{
    if (audit->options.blind_spots) {
        sonde__audit_print_blind_spots(page, &audit->list, true, lines);
    } else {
        struct unseen_blocks unseen = {lines, audit->blocks.total.made != 0};
        sonde__audit_print_blind_spots(page, &audit->list, true,
                                       (struct sonde__report_lines){print_absent, &unseen});
    }
}

static struct sonde__symfile_cache *open_symbols_of(void *audit)
{
    return open_symbols(audit);
}

void sonde__audit_supervise(void *ctx, void *memory, uint64_t at, int32_t fd)
{
    struct sonde__audit *audit = ctx;
    const struct sonde__audit_family_source source = {
        .memory = memory,
        .at = at,
        .fd = fd,
        .size = sonde__audit_shared_size(audit->options.nodes),
        .has_patterns = audit->has_patterns,
        .reading = {.nodes = audit->options.nodes,
                    .list = &audit->list,
                    .ruling = audit->ruling,
                    .start_ns = audit->blocks.start_ns},
        .fill = sonde__audit_begin,
        .ctx = audit,
        .open_symbols = open_symbols_of,
    };
    if (audit->options.follow) {
        audit->family = sonde__audit_family_open(&source);
    }
}

static void add_calls(struct sonde__audit *audit, struct sonde__record_page *page,
                      const void *memory, struct sonde__symfile_cache *symbols,
                      struct sonde__report *report, struct sonde__report_lines lines)
{
    struct sonde__audit_totals totals;
    if (audit->family != NULL) {
        sonde__audit_family_begin(audit->family, page);
    }
    if (audit->ruling != NULL) {
        sonde__audit_ruling_report(audit->ruling, page, audit->blocks.start_ns, report);
    }
    const struct sonde__audit_reading reading = {.page = page,
                                                 .memory = memory,
                                                 .nodes = audit->options.nodes,
                                                 .list = &audit->list,
                                                 .ruling = audit->ruling,
                                                 .start_ns = audit->blocks.start_ns};
    if (sonde__audit_read(&reading, symbols, report, &totals) != SONDE_OK) {
        sonde__report_line(lines, "out of memory: not all of what was recorded could be read");
    }
    /* of the functions of rules only those that were called: a pack names many that no program has
     */
    bool by_rules = audit->ruling != NULL;
    sonde__audit_add_missed(page, &audit->list, by_rules ? 0 : audit->listed, by_rules, report);
    if (audit->family != NULL) {
        sonde__audit_family_add(audit->family, report, &totals);
    }
    sonde__audit_print_totals(&audit->options, audit->listed, &totals, lines);
    if (audit->family != NULL) {
        sonde__audit_family_end(audit->family, lines);
    }
    sonde__audit_print_cost(page, lines);
    if (by_rules) {
        sonde__audit_print_phases(page, audit->options.rules, lines);
    }
    sonde__audit_print_unseen(page, lines);
    if (by_rules && !audit->options.blind_spots) {
        sonde__audit_print_absent(page, &audit->list, lines);
    } else {
        sonde__audit_print_blind_spots(page, &audit->list, audit->options.blind_spots, lines);
    }
}

static void read_calls(struct sonde__audit *audit, struct sonde__record_page *page,
                       const void *memory, struct sonde__report *report,
                       struct sonde__report_lines lines)
{
    struct sonde__symfile_cache *symbols = open_symbols(audit);
    add_calls(audit, page, memory, symbols, report, lines);
    if (symbols != NULL) {
        sonde__audit_print_raw(page, symbols, audit->options.blind_spots, lines);
        sonde__symfile_cache_destroy(symbols);
    }
}

static void tell_new(struct sonde__audit *audit, const void *memory)
{
    struct sonde__audit_filter filter = {audit->family, audit->options.on_new,
                                         audit->options.new_ctx};
    if (audit->options.on_new != NULL && audit->family != NULL) {
        sonde__audit_tell(audit, memory, sonde__audit_family_filter, &filter);
    } else if (audit->options.on_new != NULL) {
        sonde__audit_tell(audit, memory, audit->options.on_new, audit->options.new_ctx);
    }
    if (audit->family != NULL) {
        sonde__audit_family_look(audit->family, audit->options.on_new, audit->options.new_ctx);
    }
}

void sonde__audit_end(void *ctx, const void *memory, struct sonde__report *report,
                      struct sonde__report_lines lines)
{
    struct sonde__audit *audit = ctx;
    struct sonde__record_page *page;
    tell_new(audit, memory);
    if (sonde__audit_page_copy(memory, &page) != SONDE_OK) {
        sonde__report_line(lines, "out of memory: what was recorded could not be read");
        return;
    }
    if (!is_recorded(audit, page, lines)) {
        /* already reported */
    } else if (audit->options.blocks) {
        read_blocks(audit, memory, true, report, lines);
        sonde__audit_print_unseen(page, lines);
        print_blind_spots(audit, page, lines);
    } else {
        read_calls(audit, page, memory, report, lines);
    }
    sonde__audit_page_free(page);
}

static void add_note(void *ctx, const char *line)
{
    sonde__report_add_note(ctx, line);
}

static bool has_symbol(const struct sonde__audit_patterns *patterns)
{
    bool has = false;
    for (size_t i = 0; i < patterns->count; i++) {
        has |= patterns->items[i].is_symbol;
    }
    return has;
}

/* Does a rule or an SDK ask for names of functions? */
static bool needs_names(const struct sonde__audit_rules *rules)
{
    bool needs = false;
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        needs |= has_symbol(&rules->rules[i].from);
    }
    for (size_t i = 0; rules != NULL && i < rules->sdk_count; i++) {
        needs |= has_symbol(&rules->sdks[i].match);
    }
    return needs;
}

/* Has anything changed? Then it counts as kept. */
static bool is_news(struct kept *kept, const struct sonde__record_page *page, const void *memory,
                    uint32_t nodes)
{
    struct sonde__record *record;
    struct sonde__record_entry entry;
    struct kept now = {
        .any = true, .phases = sonde__record_phase_now(&page->phases), .symbols = kept->symbols};
    if (sonde__record_view((const char *)memory + SONDE__RECORD_OFFSET, nodes, &record) !=
        SONDE_OK) {
        return true;
    }
    now.entries = sonde__record_numbers(record);
    for (uint32_t i = 0; i < now.entries; i++) {
        now.calls += sonde__record_entry(record, i, &entry) ? entry.count : 0;
    }
    for (uint32_t i = 0; i < SONDE__RECORD_LABELS_ALL; i++) {
        now.calls += sonde__record_lost(record, i);
    }
    sonde__record_close(record);
    bool is_same = kept->any && now.calls == kept->calls && now.entries == kept->entries &&
                   now.phases == kept->phases;
    *kept = now;
    return !is_same;
}

bool sonde__audit_keep(void *ctx, const void *memory, bool again, struct sonde__report *report)
{
    struct sonde__audit *audit = ctx;
    struct sonde__record_page *page;
    bool is_new = is_news(&audit->kept, memory, memory, audit->options.nodes) ||
                  audit->family != NULL; /* which is not compared */
    if ((!is_new && !again) || sonde__audit_page_copy(memory, &page) != SONDE_OK) {
        return false;
    }
    if (audit->kept.symbols == NULL && needs_names(audit->options.rules)) {
        audit->kept.symbols = open_symbols(audit);
    }
    struct sonde__report_lines notes = {add_note, report};
    if (atomic_load(&page->state) == SONDE__RECORD_RUNS && is_recorded(audit, page, notes)) {
        add_calls(audit, page, memory, audit->kept.symbols, report, notes);
    }
    sonde__audit_page_free(page);
    return true;
}

void sonde__audit_tell(struct sonde__audit *audit, const void *memory, sonde__audit_on_new *each,
                       void *ctx)
{
    const struct sonde__record_page *page = memory;
    if (atomic_load(&page->state) != SONDE__RECORD_RUNS || audit->ruling == NULL) {
        return;
    }
    if (audit->live == NULL) {
        const struct sonde__audit_reading reading = {.memory = memory,
                                                     .nodes = audit->options.nodes,
                                                     .list = &audit->list,
                                                     .ruling = audit->ruling,
                                                     .start_ns = audit->blocks.start_ns};
        audit->live_symbols =
            audit->live_symbols != NULL ? audit->live_symbols : open_symbols(audit);
        audit->live = sonde__audit_live_open(&reading, NULL, audit->live_symbols);
    }
    if (audit->live != NULL) {
        (void)!sonde__audit_live_look(audit->live, each, ctx); /* the next look tells the rest */
    }
}

void sonde__audit_begin_marked(void *ctx, void *memory, struct sonde__report_lines lines)
{
    const struct sonde__audit *audit = ctx;
    if (sonde__audit_begin_phase(memory, audit->options.phase)) {
        sonde__report_line(lines, "phase \"%s\" has begun", audit->options.phase);
    }
}

void sonde__audit_look(void *ctx, const void *memory, bool all, struct sonde__report *report,
                       struct sonde__report_lines lines)
{
    struct sonde__audit *audit = ctx;
    const struct sonde__record_page *page = memory;
    if (audit->family != NULL && !all) {
        tell_new(audit, memory);
        return;
    }
    if (atomic_load(&page->state) != SONDE__RECORD_RUNS) {
        return;
    }
    if (audit->options.blocks) {
        read_blocks(audit, memory, all, report, lines);
    } else if (all) {
        sonde__audit_end(ctx, memory, report, lines);
    } else {
        tell_new(audit, memory);
    }
}
