// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include "arch_count.h"
#include "capture_images.h"
#include "capture_memo.h"
#include "capture_walk.h"
#include "os.h"
#include "record_images.h"

enum { SHARED = SONDE__CAPTURE_MEMOS, ROWS };

/* Images at one time; with more, an unload closes more nodes than those of its image
 * (record_images.h). */
enum { IMAGES_MAX = 4096 };

/* What is kept of a number besides its counters. */
struct seen {
    uint64_t first_ns, last_ns, threads;
};

/* For a record in memory of the caller, this struct is apart: the memory may be shared with a
 * reader, and a wild write of the program must not change an address that we use. `shown` is a
 * second one, in that memory: of it only `rows` and `seen` (not null: in use; no addresses), `lost`
 * and `tids` are set. */
struct sonde__record {
    struct sonde__record *shown; /* null: this one has all */
    struct sonde__depot *depot;
    uint64_t depot_size;
    uint64_t serial; /* unique: the memory may be that of an earlier record */
    uint32_t nodes;
    uint8_t *memory;      /* null: each part is mapped when it is needed */
    bool is_limited;      /* sonde__record_limit_walks() */
    bool is_view;         /* of another owner's memory */
    uint64_t *rows[ROWS]; /* counters by number; null: nothing was counted there yet */
    uint64_t lost[SONDE__RECORD_LABELS_ALL];
    struct seen *seen; /* by number; null: not kept */
    uint64_t (*now_ns)(void);
    uint32_t threads; /* that have a number; more than there are numbers: the others, too */
    uint64_t tids[SONDE__RECORD_THREADS];
    struct sonde__record_images images; /* null until they are looked at */
};

static uint64_t row_size(const struct sonde__record *record)
{
    return (uint64_t)record->nodes * sizeof(uint64_t);
}

/* Of this process; not 0. */
static uint64_t new_serial(void)
{
    static uint64_t serials;
    return __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
}

enum sonde_status sonde__record_open(uint32_t nodes, struct sonde__record **ret_record)
{
    struct sonde__record *record;
    if (nodes == 0 || nodes > SONDE__DEPOT_NODES_MAX - SONDE__DEPOT_FIRST) {
        return SONDE_USAGE;
    }
    record = sonde__os_map(sizeof *record);
    if (record == NULL) {
        return SONDE_MEMORY;
    }
    record->serial = new_serial();
    record->nodes = nodes;
    record->depot_size = sonde__depot_size(nodes);
    void *memory = sonde__os_map(record->depot_size);
    if (memory == NULL) {
        sonde__os_unmap(record, sizeof *record);
        return SONDE_MEMORY;
    }
    record->depot = sonde__depot_init(memory, nodes);
    *ret_record = record;
    return SONDE_OK;
}

/* With the depot's header behind it; both of whole words. */
static struct sonde__record *map_apart(void)
{
    return sonde__os_map(sizeof(struct sonde__record) + sonde__depot_header_size());
}

/* In shared memory: this struct, the depot, the rows, what was seen. */
enum { PAGE = 65536 /* the largest that Linux has */ };

static uint64_t round_up(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static uint8_t *depot_at(const void *memory)
{
    return (uint8_t *)(uintptr_t)memory + round_up(sizeof(struct sonde__record));
}

static uint64_t *row_at(const struct sonde__record *record, const void *memory, uint32_t index)
{
    return (uint64_t *)(void *)(depot_at(memory) + round_up(sonde__depot_size(record->nodes)) +
                                index * round_up(row_size(record)));
}

static struct seen *seen_at(const struct sonde__record *record, const void *memory)
{
    return (struct seen *)(void *)row_at(record, memory, ROWS);
}

static uint64_t seen_size(const struct sonde__record *record)
{
    return (uint64_t)record->nodes * sizeof(struct seen);
}

uint64_t sonde__record_size(uint32_t nodes)
{
    const struct sonde__record record = {.nodes = nodes};
    return round_up(sizeof record) + round_up(sonde__depot_size(nodes)) +
           ROWS * round_up(row_size(&record)) + round_up(seen_size(&record));
}

uint64_t sonde__record_depot_offset(void)
{
    return round_up(sizeof(struct sonde__record));
}

uint64_t sonde__record_stacks_size(uint32_t nodes)
{
    return sonde__record_depot_offset() + round_up(sonde__depot_size(nodes));
}

struct sonde__record *sonde__record_at(void *memory, uint32_t nodes)
{
    struct sonde__record *record = NULL;
    if (nodes != 0 && nodes <= SONDE__DEPOT_NODES_MAX - SONDE__DEPOT_FIRST) {
        record = map_apart();
    }
    if (record == NULL) {
        return NULL;
    }
    record->shown = memory;
    record->nodes = nodes;
    record->memory = memory;
    record->serial = new_serial();
    record->depot = sonde__depot_share(record + 1, depot_at(memory), nodes);
    return record;
}

enum sonde_status sonde__record_view(const void *memory, uint32_t nodes,
                                     struct sonde__record **ret_record)
{
    const struct sonde__record *from = memory;
    struct sonde__record *view = map_apart();
    if (view == NULL) {
        return SONDE_MEMORY;
    }
    view->nodes = nodes;
    view->is_view = true;
    view->depot =
        (struct sonde__depot *)(uintptr_t)sonde__depot_view(view + 1, depot_at(memory), nodes);
    for (uint32_t i = 0; i < ROWS; i++) {
        view->rows[i] = __atomic_load_n(&from->rows[i], __ATOMIC_ACQUIRE) != NULL
                            ? row_at(view, memory, i)
                            : NULL;
    }
    for (uint32_t i = 0; i < SONDE__RECORD_LABELS_ALL; i++) {
        view->lost[i] = __atomic_load_n(&from->lost[i], __ATOMIC_RELAXED);
    }
    view->seen =
        __atomic_load_n(&from->seen, __ATOMIC_RELAXED) != NULL ? seen_at(view, memory) : NULL;
    for (uint32_t i = 0; i < SONDE__RECORD_THREADS; i++) {
        view->tids[i] = __atomic_load_n(&from->tids[i], __ATOMIC_RELAXED);
    }
    *ret_record = view;
    return SONDE_OK;
}

void sonde__record_close(struct sonde__record *record)
{
    if (record == NULL) {
        return;
    }
    if (record->is_view || record->memory != NULL) {
        sonde__os_unmap(record, sizeof *record + sonde__depot_header_size());
        return;
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        if (record->rows[i] != NULL) {
            sonde__os_unmap(record->rows[i], row_size(record));
        }
    }
    if (record->seen != NULL) {
        sonde__os_unmap(record->seen, seen_size(record));
    }
    if (record->images.images != NULL) {
        sonde__os_unmap(record->images.images, IMAGES_MAX * sizeof record->images.images[0]);
    }
    sonde__os_unmap(record->depot, record->depot_size);
    sonde__os_unmap(record, sizeof *record);
}

struct sonde__depot *sonde__record_depot(const struct sonde__record *record)
{
    return record->depot;
}

uint32_t sonde__record_nodes(const struct sonde__record *record)
{
    return record->nodes;
}

enum sonde_status sonde__record_inspect_images(struct sonde__record *record)
{
    struct sonde__record_images *known = &record->images;
    if (known->images == NULL) {
        known->images = sonde__os_map(IMAGES_MAX * sizeof known->images[0]);
        known->most = known->images != NULL ? IMAGES_MAX : 0;
    }
    if (known->images == NULL) {
        return SONDE_MEMORY;
    }
    struct sonde__capture_pin pin = sonde__capture_pin();
    (void)sonde__record_look(known, record->depot, pin.images, NULL, NULL);
    sonde__capture_unpin(pin);
    sonde__record_forget_closed(known);
    return SONDE_OK;
}

/* Add nodes inward from the outermost frame without one. The memo found each frame by a rule for
 * return addresses, so its word is its pc (depot_stack.c). */
static uint32_t put_tagged(struct sonde__depot *depot, const struct sonde__memo_frame *frames,
                           uint32_t *tags, uint32_t count)
{
    uint32_t known = 0;
    while (known < count && (tags[known] == 0 || sonde__depot_is_closed(depot, tags[known]))) {
        known++;
    }
    uint32_t id = known < count ? tags[known] : sonde__depot_root(SONDE_END_ROOT);
    while (known-- > 0) {
        id = sonde__depot_child(depot, id, frames[known].pc & SONDE__DEPOT_PC);
        tags[known] = id;
    }
    return id;
}

/* A few words of static TLS. Only threads whose last stack was not walked by CFI to the root are
 * timed: reading a clock costs more than most stacks. */
static __thread struct {
    bool is_dear;
    uint64_t spent_ns;
} own_walks;

void sonde__record_limit_walks(struct sonde__record *record)
{
    record->is_limited = true;
}

static bool is_by_cfi(const struct sonde_stack *stack)
{
    for (uint32_t i = 1; i < stack->count; i++) {
        if ((stack->how[i] & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_CFI) {
            return false;
        }
    }
    return stack->end == SONDE_END_ROOT;
}

static void walk_limited(struct sonde_stack *stack, const struct sonde__regs *caller, uint32_t skip)
{
    uint64_t begin_ns = own_walks.is_dear ? sonde__os_cpu_ns() : 0;
    if (begin_ns != 0 &&
        own_walks.spent_ns > SONDE__RECORD_BUDGET_NS + begin_ns / SONDE__RECORD_BUDGET_PART) {
        sonde__capture_walk(stack, caller, false, skip, SONDE__CAPTURE_OWN_BRIEF);
        return;
    }
    sonde__capture_walk(stack, caller, false, skip, SONDE__CAPTURE_OWN);
    if (begin_ns != 0) {
        own_walks.spent_ns += sonde__os_cpu_ns() - begin_ns;
    }
    own_walks.is_dear = !is_by_cfi(stack);
}

static __attribute__((noinline)) uint32_t put_walked(struct sonde__record *record,
                                                     const struct sonde__regs *caller,
                                                     uint32_t skip, enum sonde__capture_trust trust)
{
    uint64_t pcs[SONDE__RECORD_DEPTH];
    uint8_t how[SONDE__RECORD_DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE__RECORD_DEPTH, SONDE__RECORD_OUTER);
    if (record->is_limited && trust == SONDE__CAPTURE_OWN) {
        walk_limited(&stack, caller, skip);
    } else {
        sonde__capture_walk(&stack, caller, false, skip, trust);
    }
    return sonde__depot_put(record->depot, &stack);
}

uint32_t sonde__record_stack(struct sonde__record *record, const struct sonde__regs *caller,
                             uint32_t skip)
{
    uint32_t first;
    uint32_t id = SONDE__DEPOT_NONE;
    bool is_put = false;
    struct sonde__memo *memo = sonde__capture_renew(caller, &first);
    if (memo != NULL) {
        uint32_t count = SONDE__MEMO_FRAMES - first;
        if (skip < count && count - skip <= SONDE__RECORD_DEPTH) {
            uint32_t *tags = sonde__unwind_memo_tags(memo, first + skip, record->serial);
            id = put_tagged(record->depot, &memo->frames[first + skip], tags, count - skip);
            is_put = true;
        }
        sonde__capture_memo_leave(memo);
    }
    return is_put ? id : put_walked(record, caller, skip, SONDE__CAPTURE_OWN);
}

static __attribute__((noinline)) uint64_t *make_row(struct sonde__record *record, uint32_t index)
{
    uint64_t *row = NULL;
    uint64_t *fresh = record->memory != NULL ? row_at(record, record->memory, index)
                                             : sonde__os_map(row_size(record));
    if (fresh == NULL) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(&record->rows[index], &row, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        if (record->shown != NULL) {
            __atomic_store_n(&record->shown->rows[index], fresh, __ATOMIC_RELEASE);
        }
        return fresh;
    }
    if (record->memory == NULL) {
        sonde__os_unmap(fresh, row_size(record)); /* a handler was first */
    }
    return row;
}

static inline uint64_t *row_of(struct sonde__record *record, uint32_t index)
{
    uint64_t *row = __atomic_load_n(&record->rows[index], __ATOMIC_ACQUIRE);
    return row != NULL ? row : make_row(record, index);
}

static uint64_t *lost_of(const struct sonde__record *record, uint32_t label)
{
    const struct sonde__record *own = record->shown != NULL ? record->shown : record;
    return (uint64_t *)(uintptr_t)&own->lost[label];
}

bool sonde__record_keep_seen(struct sonde__record *record, uint64_t (*now_ns)(void))
{
    record->now_ns = now_ns;
    record->seen =
        record->memory != NULL ? seen_at(record, record->memory) : sonde__os_map(seen_size(record));
    if (record->shown != NULL) {
        __atomic_store_n(&record->shown->seen, record->seen, __ATOMIC_RELEASE);
    }
    return record->seen != NULL;
}

/* Of the calling thread, in the record with this serial. */
static __thread struct {
    uint64_t serial, bit;
} own_number;

/* A handler may come first: then the number taken here stays unused. */
static __attribute__((noinline)) uint64_t number_thread(struct sonde__record *record)
{
    struct sonde__record *shown = record->shown != NULL ? record->shown : record;
    uint32_t number = __atomic_fetch_add(&record->threads, 1, __ATOMIC_RELAXED);
    uint64_t bit = SONDE__RECORD_OTHER_THREADS;
    if (number < SONDE__RECORD_THREADS) {
        __atomic_store_n(&shown->tids[number], sonde__os_tid(), __ATOMIC_RELAXED);
        bit = (uint64_t)1 << number;
    } else { /* the counter must not wrap */
        __atomic_store_n(&record->threads, SONDE__RECORD_THREADS, __ATOMIC_RELAXED);
    }
    own_number.bit = bit;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own_number.serial = record->serial;
    return bit;
}

/* Each word changes seldom: the clock has a tick, and a thread sets its bit once. */
static void see(struct sonde__record *record, uint32_t number, uint64_t thread)
{
    struct seen *seen = &record->seen[number];
    uint64_t now = record->now_ns(), none = 0;
    uint64_t last = __atomic_load_n(&seen->last_ns, __ATOMIC_RELAXED);
    if (__atomic_load_n(&seen->first_ns, __ATOMIC_RELAXED) == 0) {
        (void)__atomic_compare_exchange_n(&seen->first_ns, &none, now, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED);
    }
    while (last < now && !__atomic_compare_exchange_n(&seen->last_ns, &last, now, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    if ((__atomic_load_n(&seen->threads, __ATOMIC_RELAXED) & thread) == 0) {
        __atomic_fetch_or(&seen->threads, thread, __ATOMIC_RELAXED);
    }
}

static uint64_t own_thread(struct sonde__record *record)
{
    return own_number.serial == record->serial ? own_number.bit : number_thread(record);
}

uint32_t sonde__record_count(struct sonde__record *record, uint32_t label, uint32_t stack,
                             bool is_stranger)
{
    uint32_t index = is_stranger ? (uint32_t)SHARED : sonde__capture_memo_index();
    uint32_t node = sonde__depot_label(record->depot, stack, label);
    uint32_t number = sonde__depot_label_number(record->depot, node);
    uint64_t *row =
        node != SONDE__DEPOT_NONE && number < record->nodes ? row_of(record, index) : NULL;
    if (row == NULL) {
        if (label < SONDE__RECORD_LABELS_ALL) {
            __atomic_fetch_add(lost_of(record, label), 1, __ATOMIC_RELAXED);
        }
        return SONDE__RECORD_NO_NUMBER;
    }
    if (record->seen != NULL) {
        see(record, number, is_stranger ? SONDE__RECORD_OTHER_THREADS : own_thread(record));
    }
    uint64_t *counter = &row[number];
    if (index == SHARED) {
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    } else {
        sonde__arch_count_own(counter);
    }
    return number;
}

bool sonde__record_call(struct sonde__record *record, uint32_t label, uint32_t stack)
{
    return sonde__record_count(record, label, stack, false) != SONDE__RECORD_NO_NUMBER;
}

/* The memo is per thread: here it would be that of another thread. */
uint32_t sonde__record_stranger_stack(struct sonde__record *record,
                                      const struct sonde__regs *caller)
{
    return put_walked(record, caller, 0, SONDE__CAPTURE_DOUBT);
}

bool sonde__record_stranger(struct sonde__record *record, uint32_t label,
                            const struct sonde__regs *caller)
{
    uint32_t stack = sonde__record_stranger_stack(record, caller);
    return sonde__record_count(record, label, stack, true) != SONDE__RECORD_NO_NUMBER;
}

uint32_t sonde__record_numbers(const struct sonde__record *record)
{
    return sonde__depot_stat(record->depot).labels;
}

bool sonde__record_entry(const struct sonde__record *record, uint32_t number,
                         struct sonde__record_entry *ret_entry)
{
    struct sonde__record_entry entry = {.number = number};
    entry.stack = number < record->nodes
                      ? sonde__depot_labelled(record->depot, number, &entry.label)
                      : SONDE__DEPOT_NONE;
    if (entry.stack == SONDE__DEPOT_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint64_t *row = __atomic_load_n(&record->rows[i], __ATOMIC_ACQUIRE);
        entry.count += row != NULL ? __atomic_load_n(&row[number], __ATOMIC_RELAXED) : 0;
    }
    if (record->seen != NULL) {
        const struct seen *seen = &record->seen[number];
        entry.first_ns = __atomic_load_n(&seen->first_ns, __ATOMIC_RELAXED);
        entry.last_ns = __atomic_load_n(&seen->last_ns, __ATOMIC_RELAXED);
        entry.threads = __atomic_load_n(&seen->threads, __ATOMIC_RELAXED);
    }
    *ret_entry = entry;
    return true;
}

uint64_t sonde__record_tid(const struct sonde__record *record, uint32_t thread)
{
    const struct sonde__record *shown = record->shown != NULL ? record->shown : record;
    return thread < SONDE__RECORD_THREADS ? __atomic_load_n(&shown->tids[thread], __ATOMIC_RELAXED)
                                          : 0;
}

uint64_t sonde__record_lost(const struct sonde__record *record, uint32_t label)
{
    return label < SONDE__RECORD_LABELS_ALL
               ? __atomic_load_n(lost_of(record, label), __ATOMIC_RELAXED)
               : 0;
}
