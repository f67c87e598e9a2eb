// SPDX-License-Identifier: Apache-2.0
#include "audit_read.h"

#include <string.h>

#include "audit_items.h"
#include "audit_keep.h"
#include "audit_live.h"
#include "audit_page.h"
#include "audit_script.h"
#include "base_status.h"
#include "drain_stack.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "mem_table.h"
#include "record_page.h"
#include "report_rule_sum.h"

/* After an image is unloaded its addresses may belong to another one. The frames of a stack are
 * older than its node, so none is in an image that was unloaded before the node was made. Stacks
 * are read in the order of their nodes, each with the images that were open then. */
struct reader {
    const struct sonde__record_page *page; /* a copy (audit_page.h) */
    struct sonde__record *record;
    const struct sonde__audit_list *list;
    const struct sonde__audit_ruling *ruling; /* null: no rules */
    struct sonde__report *report;
    struct sonde__drain *drain;
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    uint32_t *closed; /* by image: the node from which on it was unloaded; UINT32_MAX: never */
    struct sonde__image_set set;
    uint64_t start_ns;
    struct sonde__audit_phases phases;
    struct sonde__audit_keep keep; /* of rules */
    struct sonde__audit_script script;
    uint64_t cut;                     /* calls */
    uint32_t valid_from, valid_until; /* of `set`: nodes */
};

/* Of two images at one place, the one unloaded first was loaded at that node. Ranges are sorted by
 * start, so each is compared with the last one kept: images of a hostile page that all overlap cost
 * no more. */
static void drop_later(struct reader *r)
{
    const uint32_t *closed = r->closed;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->set.range_count; i++) {
        const struct sonde__image_range range = r->ranges[i];
        bool stays = true;
        while (stays && kept > 0 && range.start < r->ranges[kept - 1].end) {
            uint32_t other = r->ranges[kept - 1].image;
            stays = closed[range.image] != closed[other] ? closed[range.image] < closed[other]
                                                         : range.image < other;
            kept -= stays;
        }
        if (stays) {
            r->ranges[kept++] = range;
        }
    }
    r->set.range_count = kept;
}

/* The images as of node `node`. */
static void choose_images(struct reader *r, uint32_t node)
{
    r->set.range_count = 0;
    r->set.generation++;
    r->valid_from = 0;
    r->valid_until = UINT32_MAX;
    for (uint32_t i = 0; i < r->set.image_count; i++) {
        const struct sonde__image *image = &r->images[i];
        uint32_t closed = r->closed[i];
        if (closed <= node) {
            r->valid_from = closed > r->valid_from ? closed : r->valid_from;
        } else if (image->start < image->end) {
            r->valid_until = closed < r->valid_until ? closed : r->valid_until;
            r->ranges[r->set.range_count++] =
                (struct sonde__image_range){image->start, image->end, i};
        }
    }
    SONDE__SORT_BY(r->ranges, r->set.range_count, start);
    drop_later(r);
}

/* Returns OK | MEMORY. Release: close_images(), also after a failure. */
static enum sonde_status open_images(struct reader *r)
{
    uint32_t count = atomic_load(&r->page->image_count);
    r->closed = sonde__mem_alloc_array(count + 1, sizeof *r->closed);
    r->images = sonde__mem_alloc_array(count + 1, sizeof *r->images);
    r->ranges = sonde__mem_alloc_array(count + 1, sizeof *r->ranges);
    if (r->closed == NULL || r->images == NULL || r->ranges == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t closed = atomic_load(&r->page->images[i].closed_node);
        r->closed[i] = closed != 0 ? closed : UINT32_MAX;
        r->images[i] = sonde__audit_page_image(r->page, i);
    }
    r->set.images = r->images;
    r->set.image_count = count;
    r->set.ranges = r->ranges;
    return SONDE_OK;
}

static void close_images(struct reader *r)
{
    sonde__mem_free(r->closed);
    sonde__mem_free(r->images);
    sonde__mem_free(r->ranges);
}

/* A depot does not keep how a frame was found. In an image it was by CFI, with few exceptions; code
 * of no image has none. */
static void mark_found(const struct reader *r, struct sonde_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        uint64_t pc = stack->pcs[i] - ((stack->how[i] & SONDE_HOW_EXACT) == 0);
        if (sonde__image_range_find(&r->set, pc) == NULL) {
            stack->how[i] |= SONDE_HOW_FOUND_MASK;
        }
    }
}

/* Is the label that of a function of the list, or of one with a condition? */
static bool is_label(const struct reader *r, uint32_t label)
{
    if (label / SONDE__RECORD_LABELS >= r->phases.count) {
        return false;
    }
    label %= SONDE__RECORD_LABELS;
    return r->ruling != NULL ? sonde__audit_ruling_has_label(r->ruling, label)
                             : label < r->list->count;
}

/* numbers: of calls within and over the limit; NO_NUMBER: none, or not known */
static void add_call(struct reader *r, uint32_t label, const uint32_t numbers[2],
                     const struct sonde__report_call *from)
{
    const struct sonde__audit_made made = {label % SONDE__RECORD_LABELS, &r->phases,
                                           label / SONDE__RECORD_LABELS};
    struct sonde__report_argument arguments[SONDE__REPORT_ARGUMENTS_MAX];
    struct sonde__report_call call = *from;
    if (r->ruling != NULL) {
        const struct sonde__audit_kept_calls calls = {
            made.label, {numbers[0], numbers[1]}, call.count};
        call.arguments = arguments;
        call.argument_count =
            sonde__audit_keep_arguments(&r->keep, r->ruling, &calls, r->report, arguments);
        call.phase = r->phases.ids[made.phase];
        sonde__audit_ruling_add(r->ruling, &made, &call, r->report);
    } else {
        call.function = sonde__report_string(r->report, r->list->names[made.label]);
        sonde__report_add_call(r->report, &call);
    }
}

static bool is_over(const struct reader *r, uint32_t label)
{
    return r->ruling != NULL &&
           sonde__audit_ruling_is_over(r->ruling, label % SONDE__RECORD_LABELS);
}

/* Since the start; 1 is the least that is known. The stamps' clock ticks, so one of a call may be
 * before the start. */
static uint64_t since_start(const struct reader *r, uint64_t stamp_ns)
{
    return stamp_ns == 0 ? 0 : stamp_ns > r->start_ns ? stamp_ns - r->start_ns : 1;
}

/* When, and by which threads; nothing for what cannot be. */
static void add_seen(const struct reader *r, const struct sonde__record_entry *entry,
                     const struct sonde__record_entry *over, struct sonde__report_call *call)
{
    const struct sonde__record_entry *other = over != NULL ? over : entry;
    uint64_t threads = entry->threads | other->threads;
    uint64_t first_ns = entry->first_ns < other->first_ns ? entry->first_ns : other->first_ns;
    uint64_t last_ns = entry->last_ns > other->last_ns ? entry->last_ns : other->last_ns;
    if (first_ns == 0 || last_ns < first_ns) {
        return;
    }
    call->first_ns = since_start(r, first_ns);
    call->last_ns = since_start(r, last_ns);
    call->threads = threads;
    if (threads != 0 && (threads & (threads - 1)) == 0 && threads != SONDE__RECORD_OTHER_THREADS) {
        call->tid = (int64_t)sonde__record_tid(r->record, (uint32_t)__builtin_ctzll(threads));
    }
}

static void put_stack(struct reader *r, struct sonde__audit_item *item)
{
    const struct sonde__record_entry *entry = &item->entry;
    uint64_t pcs[SONDE__RECORD_DEPTH];
    uint8_t how[SONDE__RECORD_DEPTH];
    struct sonde_stack stack;
    if (entry->stack >= r->valid_until) {
        choose_images(r, entry->stack);
    }
    sonde_stack_init(&stack, pcs, how, SONDE__RECORD_DEPTH, 0);
    if (sonde__depot_get(sonde__record_depot(r->record), entry->stack, &stack)) {
        mark_found(r, &stack);
        item->node = sonde__audit_script_stack(&r->script, sonde__record_depot(r->record),
                                               entry->stack, &r->set, &stack, entry->count);
        item->end = stack.end;
    }
}

/* over: calls with this stack that exceed the limit of the same rule, too; null: none */
static void add_item(struct reader *r, const struct sonde__audit_item *item,
                     const struct sonde__audit_item *over)
{
    const struct sonde__record_entry *entry = &item->entry;
    uint64_t more = over != NULL ? over->entry.count : 0;
    struct sonde__report_call call = {
        .count = entry->count + more,
        .over_limit = is_over(r, entry->label) ? entry->count : more,
        .stack = item->node,
        .end = item->end,
    };
    add_seen(r, entry, over != NULL ? &over->entry : NULL, &call);
    r->cut += item->end == SONDE_END_COSTLY ? call.count : 0;
    const uint32_t numbers[2] = {entry->number,
                                 over != NULL ? over->entry.number : SONDE__RECORD_NO_NUMBER};
    add_call(r, entry->label, numbers, &call);
}

/* More calls than a processor makes in a day and a half, one in half a nanosecond. */
#define CALLS_MAX ((uint64_t)1 << 48)

/* Can this be a record of calls? What cannot be is left out, and counted. */
static bool is_possible(const struct reader *r, uint32_t label, uint64_t calls,
                        struct sonde__audit_totals *totals)
{
    bool possible = is_label(r, label) && calls <= CALLS_MAX;
    totals->impossible += !possible;
    return possible && calls != 0;
}

/* Else their memory is not read: that would give it pages. */
static bool keeps_arguments(const struct reader *r)
{
    return r->ruling != NULL && sonde__audit_ruling_when(r->ruling)->keep_count != 0;
}

/* Count stacks that are one in the report together; not if each has arguments of its own. Returns
 * how many are left. */
static uint32_t merge_items(struct reader *r, struct sonde__audit_items *items)
{
    uint32_t left = items->count;
    for (uint32_t i = 0; i < items->count; i++) {
        put_stack(r, &items->list[i]);
        left -= sonde__audit_items_merge(items, i, keeps_arguments(r));
    }
    return left;
}

/* Calls within and over the limit of a rule are one record. */
static void add_items(struct reader *r, struct sonde__audit_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        struct sonde__audit_item *item = &items->list[i];
        uint32_t label = item->entry.label;
        const struct sonde__audit_item *within =
            is_over(r, label) ? sonde__audit_items_find(items, item->node, label - 1) : NULL;
        struct sonde__audit_item *over =
            is_over(r, label + 1) ? sonde__audit_items_find(items, item->node, label + 1) : NULL;
        bool is_paired = within != NULL && within->entry.count != 0 &&
                         sonde__audit_items_find(items, item->node, label) == item;
        if (item->entry.count == 0 || is_paired) {
            continue;
        }
        over = over != NULL && over->entry.count != 0 ? over : NULL;
        add_item(r, item, over);
        item->entry.count = 0;
        if (over != NULL) {
            over->entry.count = 0;
        }
    }
}

static void add_lost(struct reader *r, struct sonde__audit_totals *totals)
{
    for (uint32_t i = 0; i < SONDE__RECORD_LABELS * r->phases.count; i++) {
        struct sonde__report_call call = {.count = sonde__record_lost(r->record, i)};
        if (is_label(r, i) && is_possible(r, i, call.count, totals)) {
            static const uint32_t none[2] = {SONDE__RECORD_NO_NUMBER, SONDE__RECORD_NO_NUMBER};
            call.over_limit = is_over(r, i) ? call.count : 0;
            add_call(r, i, none, &call);
            totals->lost += call.count;
            totals->calls += call.count;
        }
    }
}

static void add_all(struct reader *r, struct sonde__audit_item *list,
                    struct sonde__audit_totals *totals)
{
    struct sonde__audit_items items = {.list = list};
    uint32_t numbers = sonde__record_numbers(r->record);
    for (uint32_t i = 0; i < numbers; i++) {
        struct sonde__audit_item *item = &items.list[items.count];
        *item = (struct sonde__audit_item){.node = 0};
        if (sonde__record_entry(r->record, i, &item->entry) &&
            is_possible(r, item->entry.label, item->entry.count, totals)) {
            totals->calls += item->entry.count;
            items.count++;
        }
    }
    choose_images(r, 0);
    sonde__drain_program(r->drain, &r->set);
    sonde__audit_items_sort(&items);
    totals->entries = merge_items(r, &items);
    add_items(r, &items);
    sonde__audit_items_done(&items);
    totals->cut = r->cut;
    add_lost(r, totals);
}

enum sonde_status sonde__audit_read(const struct sonde__audit_reading *reading,
                                    struct sonde__symfile_cache *symbols,
                                    struct sonde__report *report,
                                    struct sonde__audit_totals *ret_totals)
{
    struct reader r = {.page = reading->page,
                       .list = reading->list,
                       .ruling = reading->ruling,
                       .start_ns = reading->start_ns,
                       .report = report};
    *ret_totals =
        (struct sonde__audit_totals){.images_lost = atomic_load(&reading->page->images_lost),
                                     .is_confined = atomic_load(&reading->page->is_confined) != 0};
    enum sonde_status status = sonde__record_view(
        (const char *)reading->memory + SONDE__RECORD_OFFSET, reading->nodes, &r.record);
    if (status != SONDE_OK) {
        return status;
    }
    sonde__audit_add_phases(r.page, r.start_ns, report, &r.phases);
    ret_totals->bytes = sonde__depot_stat(sonde__record_depot(r.record)).bytes;
    struct sonde__audit_item *items =
        sonde__mem_alloc_array(sonde__record_numbers(r.record) + 1, sizeof *items);
    status = SONDE_MEMORY;
    const struct sonde__record_page *shared = reading->memory;
    if (open_images(&r) == SONDE_OK && items != NULL &&
        (!keeps_arguments(&r) || sonde__audit_keep_open(&shared->kept, &r.keep) == SONDE_OK) &&
        sonde__drain_create(report, NULL, symbols, &r.drain) == SONDE_OK) {
        sonde__audit_script_open(&r.script, &shared->script, r.drain);
        add_all(&r, items, ret_totals);
        sonde__audit_script_missing(&r.script, ret_totals);
        sonde__audit_script_close(&r.script);
        sonde__drain_destroy(r.drain);
        status = SONDE_OK;
    }
    sonde__mem_free(items);
    sonde__audit_keep_close(&r.keep);
    close_images(&r);
    sonde__record_close(r.record);
    return status;
}

struct sonde__audit_stacks {
    struct reader r;
    struct sonde__record_page *page;
    const struct sonde__image_set *images; /* null: those of the page */
};

enum sonde_status sonde__audit_stacks_open(const struct sonde__audit_source *source,
                                           struct sonde__symfile_cache *symbols,
                                           struct sonde__report *report,
                                           struct sonde__audit_stacks **ret_stacks)
{
    struct sonde__audit_stacks *stacks = sonde__mem_alloc_zeroed(sizeof *stacks);
    if (stacks == NULL) {
        return SONDE_MEMORY;
    }
    struct reader *r = &stacks->r;
    if (sonde__audit_page_copy(source->memory, &stacks->page) != SONDE_OK) {
        sonde__mem_free(stacks);
        return SONDE_MEMORY;
    }
    r->page = stacks->page;
    r->report = report;
    stacks->images = source->images;
    if (open_images(r) != SONDE_OK ||
        sonde__record_view((const char *)source->memory + SONDE__RECORD_OFFSET, source->nodes,
                           &r->record) != SONDE_OK ||
        sonde__drain_create(report, NULL, symbols, &r->drain) != SONDE_OK) {
        sonde__audit_stacks_close(stacks);
        return SONDE_MEMORY;
    }
    choose_images(r, 0);
    *ret_stacks = stacks;
    return SONDE_OK;
}

void sonde__audit_stacks_close(struct sonde__audit_stacks *stacks)
{
    if (stacks->r.drain != NULL) {
        sonde__drain_destroy(stacks->r.drain);
    }
    sonde__record_close(stacks->r.record);
    sonde__audit_page_free(stacks->page);
    close_images(&stacks->r);
    sonde__mem_free(stacks);
}

/* Code that was unloaded has no name. */
static const struct sonde__image_set *images_of(const struct sonde__audit_stacks *stacks,
                                                bool is_closed)
{
    static const struct sonde__image_set none = {.generation = UINT64_MAX};
    if (stacks->images == NULL) {
        return &stacks->r.set;
    }
    return is_closed ? &none : stacks->images;
}

uint32_t sonde__audit_stacks_put(struct sonde__audit_stacks *stacks, uint32_t id)
{
    struct reader *r = &stacks->r;
    uint64_t pcs[SONDE__RECORD_DEPTH];
    uint8_t how[SONDE__RECORD_DEPTH];
    struct sonde_stack stack;
    if (id >= r->valid_until || id < r->valid_from) {
        choose_images(r, id);
    }
    sonde_stack_init(&stack, pcs, how, SONDE__RECORD_DEPTH, 0);
    if (!sonde__depot_get(sonde__record_depot(r->record), id, &stack)) {
        return 0;
    }
    uint32_t kept = 0, lost_at = stack.lost_at;
    for (uint32_t i = 0; i < stack.count; i++) {
        bool is_own = pcs[i] > r->page->own_start && pcs[i] <= r->page->own_end;
        pcs[kept] = pcs[i];
        how[kept] = how[i];
        stack.lost_at -= is_own && i < lost_at;
        kept += !is_own;
    }
    stack.count = kept;
    bool is_closed = sonde__depot_is_closed(sonde__record_depot(r->record), id);
    return kept > 0 ? sonde__drain_stack(r->drain, images_of(stacks, is_closed), &stack) : 0;
}

uint32_t sonde__audit_stacks_function(struct sonde__audit_stacks *stacks, uint64_t pc)
{
    uint8_t how = SONDE_HOW_EXACT;
    struct sonde_stack stack;
    sonde_stack_init(&stack, &pc, &how, 1, 0);
    stack.count = 1;
    stack.end = SONDE_END_ROOT;
    return sonde__drain_stack(stacks->r.drain, images_of(stacks, false), &stack);
}

/* --- what is new --- */

struct sonde__audit_live {
    struct reader r;
    struct sonde__audit_reading reading;
    const void *phases;           /* null: those of the page itself */
    uint8_t *told;                /* by number */
    struct sonde__mem_table keys; /* numbers of calls in the report: those that were told */
};

struct sonde__audit_live *sonde__audit_live_open(const struct sonde__audit_reading *reading,
                                                 const void *phases,
                                                 struct sonde__symfile_cache *symbols)
{
    struct sonde__audit_live *live = sonde__mem_alloc_zeroed(sizeof *live);
    if (live == NULL) {
        return NULL;
    }
    struct reader *r = &live->r;
    const struct sonde__record_page *shared = reading->memory;
    live->reading = *reading;
    live->phases = phases;
    live->told = sonde__mem_alloc_zeroed(reading->nodes);
    r->list = reading->list;
    r->ruling = reading->ruling;
    r->start_ns = reading->start_ns;
    if (live->told == NULL || sonde__report_create(&r->report) != SONDE_OK ||
        sonde__drain_create(r->report, NULL, symbols, &r->drain) != SONDE_OK) {
        sonde__audit_live_close(live);
        return NULL;
    }
    sonde__audit_script_open(&r->script, &shared->script, r->drain);
    return live;
}

void sonde__audit_live_close(struct sonde__audit_live *live)
{
    if (live == NULL) {
        return;
    }
    sonde__audit_script_close(&live->r.script);
    if (live->r.drain != NULL) {
        sonde__drain_destroy(live->r.drain);
    }
    sonde__report_destroy(live->r.report);
    sonde__mem_table_done(&live->keys);
    sonde__mem_free(live->told);
    sonde__mem_free(live);
}

/* False: a call with this rule, function and stack was told, or there is no memory to note it. */
static bool is_new(struct sonde__audit_live *live, uint32_t index)
{
    const struct sonde__report *report = live->r.report;
    const struct sonde__report_call *call = sonde__report_call(report, index);
    uint64_t key = sonde__report_stack_key(report, call->stack, true);
    uint32_t hash = sonde__mem_hash(key ^ ((uint64_t)call->rule << 32 | call->function));
    uint32_t same = SONDE__TABLE_FIND(&live->keys, hash, i, ({
        const struct sonde__report_call *other = sonde__report_call(report, i);
        other->rule == call->rule &&
            other->function == call->function &&sonde__report_stacks_alike(report, other->stack,
                                                                           call->stack, true);
    }));
    return same == SONDE__TABLE_NONE && sonde__mem_table_add(&live->keys, hash, index);
}

/* Add an entry to the report, and tell which of its calls are new. */
static void tell(struct sonde__audit_live *live, const struct sonde__record_entry *entry,
                 sonde__audit_on_new *each, void *ctx)
{
    struct reader *r = &live->r;
    uint32_t first = sonde__report_call_count(r->report);
    struct sonde__audit_item item = {.entry = *entry};
    put_stack(r, &item);
    add_item(r, &item, NULL);
    for (uint32_t i = first; i < sonde__report_call_count(r->report); i++) {
        if (is_new(live, i)) {
            const struct sonde__audit_new found = {
                r->report, sonde__report_call(r->report, i),
                r->phases.names[entry->label / SONDE__RECORD_LABELS], 0};
            each(ctx, &found);
        }
    }
}

/* Mostly there is nothing, and the page need not be copied. */
static bool has_news(const struct sonde__audit_live *live)
{
    struct sonde__record_entry entry;
    uint32_t numbers = sonde__record_numbers(live->r.record);
    for (uint32_t i = 0; i < numbers && i < live->reading.nodes; i++) {
        if (live->told[i] == 0 && sonde__record_entry(live->r.record, i, &entry) &&
            entry.count != 0) {
            return true;
        }
    }
    return false;
}

/* Images and phases are read after a call was seen, so they are those of its time or later. */
static enum sonde_status tell_all(struct sonde__audit_live *live, sonde__audit_on_new *each,
                                  void *ctx)
{
    struct reader *r = &live->r;
    struct sonde__audit_totals totals = {.calls = 0};
    struct sonde__record_entry entry;
    if (sonde__report_rule_count(r->report) == 0) {
        sonde__audit_ruling_report(r->ruling, r->page, r->start_ns, r->report);
    }
    sonde__audit_name_phases(r->page, &r->phases);
    r->valid_until = 0; /* the images are others by now */
    SONDE_TRY(open_images(r));
    uint32_t numbers = sonde__record_numbers(live->r.record);
    for (uint32_t i = 0; i < numbers && i < live->reading.nodes; i++) {
        if (live->told[i] == 0 && sonde__record_entry(live->r.record, i, &entry) &&
            is_possible(&live->r, entry.label, entry.count, &totals)) {
            live->told[i] = 1;
            tell(live, &entry, each, ctx);
        }
    }
    return SONDE_OK;
}

enum sonde_status sonde__audit_live_look(struct sonde__audit_live *live, sonde__audit_on_new *each,
                                         void *ctx)
{
    struct reader *r = &live->r;
    struct sonde__record_page *page = NULL;
    const char *memory = live->reading.memory;
    SONDE_TRY(sonde__record_view(memory + SONDE__RECORD_OFFSET, live->reading.nodes, &r->record));
    enum sonde_status status = SONDE_OK;
    if (has_news(live)) {
        status = sonde__audit_page_copy(memory, &page);
        r->page = page;
        if (status == SONDE_OK && live->phases != NULL) {
            sonde__audit_page_take_phases(page, live->phases);
        }
        if (status == SONDE_OK) {
            status = tell_all(live, each, ctx);
            close_images(r);
            sonde__audit_page_free(page);
        }
    }
    sonde__record_close(r->record);
    return status;
}
