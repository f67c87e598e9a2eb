// SPDX-License-Identifier: Apache-2.0
#include "record_script.h"

#include "base_bytes.h"
#include "capture_memo.h"
#include "capture_own_stack.h"
#include "os.h"

/* Numbers of code by address. A slot keeps its address; its number changes when another code object
 * is made there. The number has the table's age in it: a fork child begins with an empty page. */
enum { SLOTS = 65536, PROBES = 64, AGE_SHIFT = 16 };
struct slot {
    _Atomic uint64_t code;
    _Atomic uint32_t number; /* + 1, and the age; 0: none */
};
_Static_assert(SONDE__SCRIPT_CODES < 1 << AGE_SHIFT, "a number has 16 bits");

/* Copies for the frames of one call, and for each code object that is new. */
enum { COPIES_MAX = 96, COPIES_OF_CODE = 12 };

/* A frame's word in the depot: number of its code, flags, place. */
enum { AT_BITS = 24, CODE_BITS = 17, FLAGS_SHIFT = AT_BITS + CODE_BITS };
enum { AT_MAX = (1 << AT_BITS) - 1, NO_CODE = (1 << CODE_BITS) - 1 };
_Static_assert((int)SONDE__SCRIPT_CODES < (int)NO_CODE, "a number has CODE_BITS");

struct known {
    struct python_own_frame frame;
    uint32_t node; /* of the script frames from the outermost one up to this one */
};

/* The last frames of a thread, outermost first; and those of the current call, innermost first. */
struct memo {
    uint64_t freed; /* when they were kept; other code has their address since */
    uint32_t root, count;
    uint32_t native, node, link; /* the last result */
    _Atomic bool is_busy;
    struct known frames[PYTHON_OWN_FRAMES];
    struct python_own_frame now[PYTHON_OWN_FRAMES];
};

static struct sonde__script_way way;
static struct memo *memos; /* of SONDE__CAPTURE_MEMOS */
static struct slot *slots;
static _Atomic uint32_t age;
static _Atomic uint64_t freed;
static _Atomic bool is_begun;
static _Atomic bool is_proven; /* the layout: a whole stack was read by copies, and is right */

bool sonde__record_script_begin(const struct sonde__script_way *from)
{
    memos = sonde__os_map(SONDE__CAPTURE_MEMOS * sizeof *memos);
    slots = sonde__os_map(SLOTS * sizeof *slots);
    if (memos == NULL || slots == NULL) {
        return false;
    }
    way = *from;
    atomic_store_explicit(&is_begun, true, memory_order_release);
    return true;
}

void sonde__record_script_restart(void)
{
    atomic_fetch_add(&age, 1);
    atomic_fetch_add(&freed, 1);
}

/* --- code objects --- */

static uint32_t aged(uint32_t number)
{
    return (atomic_load_explicit(&age, memory_order_relaxed) << AGE_SHIFT) | (number + 1);
}

/* The slot of an address, taken if there is none. Null: too many addresses were in use. */
static struct slot *slot_of(uint64_t code, bool is_new)
{
    uint64_t hash = code * 0x9e3779b97f4a7c15u >> 32;
    for (unsigned i = 0; i < PROBES; i++) {
        struct slot *slot = &slots[(hash + i) % SLOTS];
        uint64_t found = atomic_load_explicit(&slot->code, memory_order_acquire);
        if (found == 0 && is_new && atomic_compare_exchange_strong(&slot->code, &found, code)) {
            return slot;
        }
        if (found == code) {
            return slot;
        }
        if (found == 0) {
            return NULL;
        }
    }
    return NULL;
}

void sonde__record_script_free(uint64_t code)
{
    struct slot *slot =
        atomic_load_explicit(&is_begun, memory_order_acquire) ? slot_of(code, false) : NULL;
    if (slot != NULL && atomic_exchange(&slot->number, 0) != 0) {
        atomic_fetch_add(&freed, 1);
    }
}

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Where a code object points to its parts. */
enum { PARTS = 5 };
struct parts {
    struct sonde__script_piece list[PARTS];
    uint32_t count;
    uint64_t size; /* of all, with their heads */
};

static void add_part(struct parts *parts, uint64_t address, uint64_t size)
{
    parts->list[parts->count++] = (struct sonde__script_piece){address, size};
    parts->size += sizeof(struct sonde__script_piece) + (size + 7) / 8 * 8;
}

static bool add_text(struct python_own_reader *reader, uint64_t address, struct parts *parts)
{
    const struct python_layout *l = reader->layout;
    const uint8_t *head = sonde__python_own_at(reader, address, l->text_ascii_bytes);
    if (head == NULL || word(head, l->object_type) != way.text_type) {
        return false;
    }
    add_part(parts, address, sonde__python_text_bytes(l, head));
    return true;
}

static bool find_parts(struct python_own_reader *reader, uint64_t code, struct parts *parts)
{
    const struct python_layout *l = reader->layout;
    const uint8_t *head = sonde__python_own_at(reader, code, l->code_bytes);
    parts->count = 0;
    parts->size = 0;
    if (head == NULL || word(head, l->object_type) != way.code_type) {
        return false;
    }
    uint64_t name = word(head, l->code_name), file = word(head, l->code_filename);
    uint64_t lines = word(head, l->code_linetable);
    uint64_t full = l->code_qualname != PYTHON_NO ? word(head, l->code_qualname) : name;
    add_part(parts, code, l->code_bytes);
    if (!add_text(reader, name, parts) || !add_text(reader, file, parts) ||
        (full != name && !add_text(reader, full, parts))) {
        return false;
    }
    head = sonde__python_own_at(reader, lines, l->bytes_start);
    uint64_t size = head != NULL ? word(head, l->bytes_size) : UINT64_MAX;
    if (size > PYTHON_LINES_MAX || word(head, l->object_type) != way.bytes_type) {
        return false;
    }
    add_part(parts, lines, l->bytes_start + size);
    return true;
}

static bool copy_part(const struct python_own_reader *reader,
                      const struct sonde__script_piece *part, uint8_t *to)
{
    if (reader->copy != NULL) {
        return reader->copy(part->address, to, (size_t)part->size) == part->size;
    }
    const uint8_t *from = (const uint8_t *)(uintptr_t)part->address;
    for (uint64_t i = 0; i < part->size; i++) {
        to[i] = from[i];
    }
    return true;
}

bool sonde__record_script_reserve(struct sonde__script_page *page, uint64_t size, uint32_t *ret_at)
{
    uint32_t used = atomic_load_explicit(&page->bytes_used, memory_order_relaxed);
    do {
        if (used > SONDE__SCRIPT_BYTES || size > SONDE__SCRIPT_BYTES - used) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&page->bytes_used, &used, used + (uint32_t)size));
    *ret_at = used;
    return true;
}

/* Copy a code object into the page. Returns READ and its number, or a reason. */
static unsigned copy_code(struct python_own_reader *reader, struct sonde__script_page *page,
                          uint64_t code, uint32_t *ret_number)
{
    struct parts parts;
    uint32_t at = 0;
    reader->copies_left += COPIES_OF_CODE;
    if (!find_parts(reader, code, &parts)) {
        return SONDE__SCRIPT_NO_CODE;
    }
    if (atomic_load_explicit(&page->code_count, memory_order_relaxed) >= SONDE__SCRIPT_CODES ||
        !sonde__record_script_reserve(page, parts.size, &at)) {
        return SONDE__SCRIPT_FULL;
    }
    uint32_t number = atomic_fetch_add(&page->code_count, 1);
    if (number >= SONDE__SCRIPT_CODES) {
        return SONDE__SCRIPT_FULL;
    }
    uint8_t *to = page->bytes + at;
    for (uint32_t i = 0; i < parts.count; i++) {
        sonde__base_put_le64(to, parts.list[i].address);
        sonde__base_put_le64(to + 8, parts.list[i].size);
        if (!copy_part(reader, &parts.list[i], to + sizeof(struct sonde__script_piece))) {
            return SONDE__SCRIPT_NO_CODE;
        }
        to += sizeof(struct sonde__script_piece) + (parts.list[i].size + 7) / 8 * 8;
    }
    struct sonde__script_code *entry = &page->codes[number];
    entry->address = code;
    entry->at = at;
    entry->size = (uint32_t)parts.size;
    atomic_store_explicit(&entry->is_complete, 1, memory_order_release);
    *ret_number = number;
    return PYTHON_OWN_READ;
}

/* The number of a code object, which a frame keeps alive. */
static unsigned number_of(struct python_own_reader *reader, struct sonde__script_page *page,
                          uint64_t code, uint32_t *ret_number)
{
    struct slot *slot = slot_of(code, true);
    if (slot == NULL) {
        return SONDE__SCRIPT_FULL;
    }
    uint32_t known = atomic_load_explicit(&slot->number, memory_order_acquire), fresh = 0;
    if (known != 0 && known >> AGE_SHIFT == aged(0) >> AGE_SHIFT) {
        *ret_number = (known & ((1u << AGE_SHIFT) - 1)) - 1;
        return PYTHON_OWN_READ;
    }
    unsigned result = copy_code(reader, page, code, &fresh);
    if (result == PYTHON_OWN_READ) {
        if (!atomic_compare_exchange_strong(&slot->number, &known, aged(fresh))) {
            fresh = (known & ((1u << AGE_SHIFT) - 1)) - 1; /* another thread was first */
        }
        *ret_number = fresh;
    }
    return result;
}

/* --- nodes --- */

static uint64_t word_of(uint32_t number, const struct python_own_frame *frame)
{
    return SONDE__DEPOT_SCRIPT | (frame->code & PYTHON_OWN_FLAGS) << FLAGS_SHIFT |
           (uint64_t)number << AT_BITS | frame->at;
}

static bool is_same(const struct python_own_frame *a, const struct python_own_frame *b)
{
    return a->code == b->code && a->at == b->at;
}

/* How many outermost frames are those of the last call? */
static uint32_t count_same(const struct memo *memo, uint32_t count)
{
    uint32_t same = 0, most = count < memo->count ? count : memo->count;
    while (same < most && is_same(&memo->frames[same].frame, &memo->now[count - 1 - same])) {
        same++;
    }
    return same;
}

/* Intern one frame. */
static unsigned put_frame(struct python_own_reader *reader, struct sonde__script_page *page,
                          struct sonde__depot *depot, const struct python_own_frame *frame,
                          uint32_t *node)
{
    uint64_t code = frame->code & ~(uint64_t)PYTHON_OWN_FLAGS;
    uint32_t number = NO_CODE;
    if (frame->at > AT_MAX) {
        return SONDE__SCRIPT_NO_CODE;
    }
    unsigned result = code != 0 ? number_of(reader, page, code, &number) : PYTHON_OWN_READ;
    if (result == PYTHON_OWN_READ) {
        *node = sonde__depot_child(depot, *node, word_of(number, frame));
        result = *node != SONDE__DEPOT_NONE ? PYTHON_OWN_READ : (unsigned)SONDE__SCRIPT_FULL;
    }
    return result;
}

/* Intern the frames of the memo's current stack. Returns READ and the innermost node, or a reason.
 */
static unsigned put_frames(struct python_own_reader *reader, struct sonde__script_page *page,
                           struct sonde__depot *depot, struct memo *memo,
                           const struct python_own_stack *stack, uint32_t *ret_node)
{
    uint64_t now = atomic_load_explicit(&freed, memory_order_acquire);
    uint32_t root = SONDE__DEPOT_SCRIPTS;
    if (stack->is_switched) {
        root = sonde__depot_child(depot, root, SONDE__DEPOT_SCRIPT | SONDE__DEPOT_EXACT);
    }
    if (memo->freed != now) {
        memo->count = 0;
        memo->link = SONDE__DEPOT_NONE; /* perhaps of another record */
    }
    memo->count = memo->root == root ? count_same(memo, stack->count) : 0;
    memo->freed = now;
    memo->root = root;
    uint32_t node = memo->count > 0 ? memo->frames[memo->count - 1].node : root;
    while (memo->count < stack->count) {
        const struct python_own_frame *frame = &memo->now[stack->count - 1 - memo->count];
        unsigned result = put_frame(reader, page, depot, frame, &node);
        if (result != PYTHON_OWN_READ) {
            return result;
        }
        memo->frames[memo->count++] = (struct known){*frame, node};
    }
    *ret_node = node;
    return PYTHON_OWN_READ;
}

/* The node of a native stack with these script frames; most calls have those of the last one. */
static uint32_t link(struct sonde__depot *depot, struct memo *memo, uint32_t native, uint32_t node)
{
    if (memo->native != native || memo->node != node || memo->link == SONDE__DEPOT_NONE ||
        sonde__depot_is_closed(depot, memo->link)) {
        memo->native = native;
        memo->node = node;
        memo->link = sonde__depot_child(depot, native, SONDE__DEPOT_SCRIPT_LINK | node);
    }
    return memo->link;
}

/* Is it the calling thread's state? Of 3.12 on, who holds the lock is asked of the thread itself.
 * In 3.11 the call of the loop that the state links is on the thread's stack; earlier versions note
 * the thread, as in the state that it was given first. Reads by copies: another thread may free it.
 */
static bool is_own_state(uint64_t state, uint64_t first)
{
    enum { HAS_OWN = 12 };
    const struct python_layout *l = &way.layout;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), word = 0, own = 0;
    unsigned member = l->ts_cframe != PYTHON_NO ? l->ts_cframe : l->ts_thread_id;
    if (l->minor >= HAS_OWN) {
        return true;
    }
    if (sonde__os_read(state + member, &word, sizeof word) != sizeof word) {
        return false;
    }
    if (l->ts_cframe != PYTHON_NO) {
        return word > here && word < sonde__capture_own_stack(here);
    }
    return first != 0 && sonde__os_read(first + member, &own, sizeof own) == sizeof own &&
           own == word;
}

/* The state by which the calling thread runs: that which holds the lock, if it is the thread's, as
 * one of several interpreters may be; else that which the thread was given first. 0: none. */
static uint64_t state_of_call(bool *ret_has_lock)
{
    uint64_t state = way.state(), current = way.current != NULL ? way.current() : 0;
    if (current != state && current != 0 && is_own_state(current, state)) {
        state = current;
    }
    *ret_has_lock = current == state;
    return state;
}

/* Returns READ and the node, or a reason. */
static unsigned add_frames(struct sonde__record *record, struct sonde__script_page *page,
                           struct memo *memo, uint64_t state, bool has_lock, uint32_t native,
                           uint32_t *ret_node)
{
    struct sonde__depot *depot = sonde__record_depot(record);
    struct python_own_reader reader;
    struct python_own_stack stack = {.frames = memo->now};
    uint32_t node = SONDE__DEPOT_NONE;
    bool proven = atomic_load_explicit(&is_proven, memory_order_acquire);
    bool is_direct = proven && has_lock;
    reader.layout = &way.layout;
    reader.copy = is_direct ? NULL : sonde__os_read;
    reader.copies_left = COPIES_MAX;
    reader.start = 0;
    reader.size = 0;
    unsigned result = sonde__python_own_read(&reader, state, &stack);
    if (result == PYTHON_OWN_READ && stack.count != 0) {
        result = put_frames(&reader, page, depot, memo, &stack, &node);
    }
    if (result != PYTHON_OWN_READ || stack.count == 0) {
        return result;
    }
    if (!proven) {
        atomic_store_explicit(&is_proven, true, memory_order_release);
    }
    uint32_t linked = link(depot, memo, native, node);
    *ret_node = linked != SONDE__DEPOT_NONE ? linked : native;
    return linked != SONDE__DEPOT_NONE ? PYTHON_OWN_READ : (unsigned)SONDE__SCRIPT_FULL;
}

static struct memo *enter_memo(void)
{
    uint32_t index = sonde__capture_memo_index();
    struct memo *memo = index < SONDE__CAPTURE_MEMOS ? &memos[index] : NULL;
    if (memo == NULL || atomic_load_explicit(&memo->is_busy, memory_order_relaxed)) {
        return NULL;
    }
    atomic_store_explicit(&memo->is_busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return memo;
}

static void leave_memo(struct memo *memo)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&memo->is_busy, false, memory_order_release);
}

uint32_t sonde__record_script_stack(struct sonde__record *record, struct sonde__script_page *page,
                                    uint32_t native)
{
    uint64_t state = 0;
    bool has_lock = false;
    if (!atomic_load_explicit(&is_begun, memory_order_acquire) || native == SONDE__DEPOT_NONE ||
        (state = state_of_call(&has_lock)) == 0) {
        return native;
    }
    uint32_t node = native;
    unsigned result = SONDE__SCRIPT_BUSY;
    struct memo *memo = enter_memo();
    if (memo != NULL) {
        result = add_frames(record, page, memo, state, has_lock, native, &node);
        leave_memo(memo);
    }
    if (result != PYTHON_OWN_READ) {
        atomic_fetch_add_explicit(&page->missing[result], 1, memory_order_relaxed);
    }
    return node;
}

/* --- reading --- */

uint32_t sonde__record_script_frames(const struct sonde__depot *depot, uint32_t id,
                                     struct sonde__script_frame_read *ret_frames, uint32_t capacity,
                                     bool *ret_is_switched)
{
    uint64_t word = 0;
    uint32_t count = 0, caller = 0;
    if (!sonde__depot_node(depot, id, &word, &caller) ||
        (word & SONDE__DEPOT_SCRIPT_LINK) != SONDE__DEPOT_SCRIPT_LINK) {
        return 0;
    }
    *ret_is_switched = false;
    for (id = (uint32_t)word; id != SONDE__DEPOT_SCRIPTS; id = caller) {
        if (!sonde__depot_node(depot, id, &word, &caller) || caller >= id ||
            (word & SONDE__DEPOT_SCRIPT) == 0) {
            return 0;
        }
        if ((word & SONDE__DEPOT_EXACT) != 0) {
            *ret_is_switched = true;
            continue;
        }
        if (count == capacity) {
            return 0;
        }
        uint32_t number = (uint32_t)(word >> AT_BITS) & NO_CODE;
        ret_frames[count++] = (struct sonde__script_frame_read){
            number != NO_CODE ? number : UINT32_MAX,
            (uint8_t)(word >> FLAGS_SHIFT & PYTHON_OWN_FLAGS), word & AT_MAX,
            (uint32_t)(word >> FLAGS_SHIFT) & SONDE__SCRIPT_DELTA_MAX};
    }
    return count;
}
