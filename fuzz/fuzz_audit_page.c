// SPDX-License-Identifier: Apache-2.0
/* Memory that a program shares with `sonde run --record` or `--blocks`, with hostile content.
 * Reading it takes bounded time and stays inside. It is read once unchanged, and once while another
 * thread writes this content and the good record alternately.
 *
 * Input: pieces to write over a good record: place (three bytes: the part, and the offset in it),
 * size (one byte), bytes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "audit_blocks.h"
#include "audit_list.h"
#include "audit_page.h"
#include "audit_read.h"
#include "audit_run.h"
#include "depot.h"
#include "fuzz.h"
#include "mem_heap.h"
#include "record.h"
#include "record_page.h"

/* Small sizes, as those of the page (record_page.h): a hostile count makes the reader look at all
 * places. */
enum { FUNCTIONS = 4, STACKS = 8, PIECES = 64, BLOCKS = 24, LINES = 8, NODES = 4096 };

#define FIRST_BLOCK ((uint64_t)0x7f0000001000)

static uint8_t *memory;
static struct sonde__audit_list list;

static uint64_t registry_at(void)
{
    return SONDE__RECORD_OFFSET + sonde__record_size(NODES);
}

static struct sonde__registry registry_of(void)
{
    return (struct sonde__registry){memory + registry_at(), LINES};
}

/* Begin of a part, and the size that is worth overwriting. Parts: the page, the images, the blind
 * spots, the texts, the record, its depot and the first tables; functions of Python; of the
 * registry its counters, lines and entries. */
static uint64_t part_at(unsigned which, uint64_t *ret_size)
{
    static const struct {
        uint64_t at, size;
    } parts[] = {
        {0, offsetof(struct sonde__record_page, images)},
        {offsetof(struct sonde__record_page, images), 4 * sizeof(struct sonde__record_image)},
        {offsetof(struct sonde__record_page, blind_spots), 4 * sizeof(struct sonde__record_blind)},
        {offsetof(struct sonde__record_page, names), 64},
        {offsetof(struct sonde__record_page, text), 64},
        {SONDE__RECORD_OFFSET, 16384},
        {SONDE__RECORD_OFFSET + 65536, 65536},
        {offsetof(struct sonde__record_page, script), 160},
        {offsetof(struct sonde__record_page, script.missing), 256},
        {offsetof(struct sonde__record_page, script.bytes), 512},
    };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    which %= PARTS + 4;
    if (which > PARTS) {
        const uint64_t sizes[] = {sonde__registry_size(0), (uint64_t)64 * LINES,
                                  (uint64_t)40 * SONDE__REGISTRY_LINE * LINES};
        *ret_size = sizes[which - PARTS - 1];
        return registry_at() + (which > PARTS + 1 ? sizes[0] : 0) +
               (which > PARTS + 2 ? sizes[1] : 0);
    }
    if (which == PARTS) { /* the last nodes of the depot: labels */
        *ret_size = 4096;
        uint64_t end = SONDE__RECORD_OFFSET + 65536 + sonde__depot_size(NODES);
        return (end - 4096) & ~(uint64_t)7;
    }
    *ret_size = parts[which].size;
    return parts[which].at;
}

/* --- a function of Python 3.11 --- */

enum { CODE = 0x50000, TEXT = 0x51000, LINES_AT = 0x52000, TYPES = 0x53000 };
enum { CODE_BYTES = 184, TEXT_HEAD = 48, BYTES_HEAD = 32 };

static uint8_t *put_piece(uint8_t *to, uint64_t address, uint64_t size)
{
    sonde__base_put_le64(to, address);
    sonde__base_put_le64(to + 8, size);
    return to + 16;
}

static void make_script(struct sonde__script_page *page)
{
    uint8_t *head = put_piece(page->bytes, CODE, CODE_BYTES);
    uint8_t *text = put_piece(head + CODE_BYTES, TEXT, TEXT_HEAD + 4);
    uint8_t *lines = put_piece(text + TEXT_HEAD + 8, LINES_AT, BYTES_HEAD + 2);
    static const unsigned texts[] = {112, 120, 128}; /* of the code object: file, name, full name */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sonde__base_put_le64(head + texts[i], TEXT);
    }
    sonde__base_put_le64(head + 8, TYPES);
    sonde__base_put_le64(head + 136, LINES_AT);
    sonde__base_put_le64(text + 8, TYPES + 1);
    sonde__base_put_le64(text + 16, 4);
    text[32] = (1 | 1 << 3 | 1 << 4) << 2; /* one byte each, compact, ASCII */
    memcpy(text + TEXT_HEAD, "main", 5);
    sonde__base_put_le64(lines + 8, TYPES + 2);
    sonde__base_put_le64(lines + 16, 2);
    page->version = 0x030b02f0;
    page->code_type = TYPES;
    page->text_type = TYPES + 1;
    page->bytes_type = TYPES + 2;
    page->loop_count = 1;
    page->loops[0].start = 0x20000;
    page->loops[0].end = 0x20002;
    page->codes[0].address = CODE;
    page->codes[0].size = (uint32_t)(lines + BYTES_HEAD + 8 - page->bytes);
    atomic_store(&page->codes[0].is_complete, 1);
    atomic_store(&page->is_set, 1);
}

/* The node of a stack with that function, at an instruction. */
static uint32_t put_script(struct sonde__depot *depot, uint32_t native, uint64_t instruction)
{
    const uint64_t word = SONDE__DEPOT_SCRIPT | (uint64_t)PYTHON_OWN_ENDS_RUN << 41;
    uint32_t id =
        sonde__depot_child(depot, SONDE__DEPOT_SCRIPTS, word | (CODE_BYTES + instruction));
    return sonde__depot_child(depot, native, SONDE__DEPOT_SCRIPT_LINK | id);
}

static void make_record(void)
{
    static const char *const names[FUNCTIONS] = {"getenv", "open", "-[A b]", "none"};
    struct sonde__record_page *page = (void *)memory;
    struct sonde__record *record = sonde__record_at(memory + SONDE__RECORD_OFFSET, NODES);
    FUZZ_MUST(record != NULL);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        list.names[list.count++] = names[i];
    }
    page->version = SONDE__RECORD_PAGE_VERSION;
    page->function_count = FUNCTIONS;
    atomic_store(&page->state, SONDE__RECORD_RUNS);
    memcpy(page->text, "/lib/a.so\0/lib/b.so", 20);
    for (uint32_t i = 0; i < 2; i++) {
        page->images[i] = (struct sonde__record_image){
            .start = 0x10000 * (i + 1), .end = 0x10000 * (i + 2), .path = 10 * i, .first_node = 32};
        page->blind_spots[i] = (struct sonde__record_blind){10 * i, i, i};
    }
    make_script(&page->script);
    atomic_store(&page->image_count, 2);
    atomic_store(&page->blind_count, 2);
    for (uint64_t i = 0; i < STACKS; i++) {
        uint64_t pcs[] = {0x10000 + i, 0x20000 + i % 3, 0x10500};
        uint8_t how[3] = {0};
        struct sonde_stack stack = {
            .pcs = pcs, .how = how, .count = 3, .capacity = 3, .lost_at = 3};
        uint32_t id = sonde__depot_put(sonde__record_depot(record), &stack);
        id = i % 2 == 0 ? put_script(sonde__record_depot(record), id, i) : id;
        FUZZ_MUST(sonde__record_call(record, (uint32_t)i % FUNCTIONS, id));
    }
}

/* Neighbours, so that they share few lines. */
static void make_registry(void)
{
    struct sonde__registry registry = registry_of();
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const struct sonde__registry_block block = {
            .address = FIRST_BLOCK + 48 * (uint64_t)i,
            .time_ns = i,
            .invoke = 0x10000 + i % 3,
            .stack = 32 + i % STACKS,
            .tid = 1 + i % 2,
            .size_bytes = 40,
        };
        FUZZ_MUST(sonde__registry_add(&registry, &block));
    }
    FUZZ_MUST(sonde__registry_count(&registry) == BLOCKS);
}

static void hear(void *ctx, const char *line)
{
    *(size_t *)ctx += strlen(line);
}

/* Read `times` times, with what the read before kept. */
static void read_blocks(struct sonde__report *report, int times)
{
    struct sonde__audit_blocks blocks = {.lines = LINES, .nodes = NODES};
    struct sonde__registry registry = registry_of();
    struct sonde__registry_block block;
    size_t heard = 0;
    for (int i = 0; i < times; i++) {
        if (sonde__audit_read_blocks(&blocks, memory, NULL, i == 0, report) == SONDE_OK) {
            FUZZ_MUST(blocks.group_count <= blocks.live);
            FUZZ_MUST(blocks.live <= sonde__registry_places(&registry));
        }
        sonde__audit_print_blocks(&blocks, (struct sonde__report_lines){hear, &heard});
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (sonde__registry_find(&registry, FIRST_BLOCK + 48 * (uint64_t)i, &block)) {
            FUZZ_MUST(block.address == FIRST_BLOCK + 48 * (uint64_t)i);
        }
    }
    sonde__mem_free(blocks.groups);
}

static void read_record(int times)
{
    struct sonde__report *report;
    struct sonde__audit_totals totals;
    size_t heard = 0;
    struct sonde__record_page *page;
    if (sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    if (sonde__audit_page_copy(memory, &page) == SONDE_OK) {
        const struct sonde__audit_reading reading = {
            .page = page, .memory = memory, .nodes = NODES, .list = &list};
        if (sonde__audit_read(&reading, NULL, report, &totals) == SONDE_OK) {
            FUZZ_MUST(totals.entries <= NODES);
        }
        sonde__audit_print_blind_spots(page, &list, true,
                                       (struct sonde__report_lines){hear, &heard});
        sonde__audit_page_free(page);
    }
    read_blocks(report, times);
    sonde__report_destroy(report);
}

/* What an input writes, and the bytes that were there. */
struct piece {
    uint64_t at;
    size_t size;
    uint8_t bytes[256], old[256];
};

static struct piece pieces[PIECES];
static unsigned piece_count;
static atomic_bool is_over;

static void write_pieces(void)
{
    for (unsigned i = 0; i < piece_count; i++) {
        memcpy(memory + pieces[i].at, pieces[i].bytes, pieces[i].size);
    }
}

static void restore_pieces(void)
{
    for (unsigned i = piece_count; i-- > 0;) {
        memcpy(memory + pieces[i].at, pieces[i].old, pieces[i].size);
    }
}

__attribute__((no_sanitize("thread"))) static void *scribble(void *unused)
{
    while (!atomic_load(&is_over)) {
        write_pieces();
        restore_pieces();
    }
    return unused;
}

static void read_while_it_changes(void)
{
    pthread_t thread;
    atomic_store(&is_over, false);
    if (pthread_create(&thread, NULL, scribble, NULL) == 0) {
        read_record(1);
        atomic_store(&is_over, true);
        (void)pthread_join(thread, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (memory == NULL) {
        void *mapped =
            mmap(NULL, sonde__audit_shared_size(NODES) + sonde__registry_size(LINES),
                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) {
            return 0;
        }
        memory = mapped;
        make_record();
        make_registry();
        read_record(2);
    }
    for (piece_count = 0; size > 4 && piece_count < PIECES; piece_count++) {
        uint64_t part_size, start = part_at(data[0], &part_size);
        uint64_t from = ((uint64_t)data[1] << 8 | data[2]) % part_size;
        size_t count = data[3] < size - 4 ? data[3] : size - 4;
        count = count < part_size - from ? count : (size_t)(part_size - from);
        struct piece *piece = &pieces[piece_count];
        piece->at = start + from;
        piece->size = count;
        memcpy(piece->bytes, data + 4, count);
        memcpy(piece->old, memory + piece->at, count);
        memcpy(memory + piece->at, data + 4, count); /* the next one's old bytes */
        data += 4 + count;
        size -= 4 + count;
    }
    read_record(2);
    restore_pieces();
    if (piece_count > 0) {
        read_while_it_changes();
    }
    return 0;
}
