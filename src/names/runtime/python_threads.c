// SPDX-License-Identifier: Apache-2.0
/* Finds the interpreter's state of a thread.
 *
 * From 3.11 on, the state has the tid. Older versions have pthread_self(), which points to a struct
 * where glibc and musl keep the tid; we compare known offsets with the tid. New states go to the
 * head of a list, so a list with an unchanged head has no new ones; a removed state is no longer
 * linked by its neighbour. */
#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"
#include "python.h"

static bool read_word(struct sonde__view *view, uint64_t address, uint64_t *ret_word)
{
    const uint8_t *bytes = address != 0 ? sonde__view_at(view, address, 8, false) : NULL;
    if (bytes == NULL) {
        return false;
    }
    *ret_word = sonde__base_le64(bytes);
    return true;
}

/* --- 3.8 to 3.10: from pthread_self() to the tid --- */

/* offsetof(struct pthread, tid): glibc since 2.4 and musl since 1.1, x86-64 and aarch64. */
static const uint16_t tid_offsets[] = {720, 208, 48};
enum { PTHREAD_BYTES = 724 };

static bool is_tid_at(struct sonde__view *view, uint64_t pthread, unsigned offset, uint64_t tid)
{
    const uint8_t *bytes = sonde__view_at(view, pthread + offset, 4, false);
    return bytes != NULL && sonde__base_le32(bytes) == tid;
}

static bool has_tid(struct sonde__view *view, uint64_t pthread, uint64_t tid)
{
    for (size_t i = 0; i < sizeof tid_offsets / sizeof *tid_offsets; i++) {
        if (is_tid_at(view, pthread, tid_offsets[i], tid)) {
            return true;
        }
    }
    return false;
}

/* --- the lists --- */

static bool read_state(const struct python *python, struct sonde__view *view, uint64_t state,
                       const uint8_t **ret_bytes)
{
    *ret_bytes = sonde__view_at(view, state, python->layout.ts_bytes, false);
    return *ret_bytes != NULL;
}

static uint64_t member(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

static const char *add_threads_of(struct python *python, struct sonde__view *view, uint64_t interp,
                                  uint64_t head)
{
    const struct python_layout *l = &python->layout;
    const uint8_t *bytes;
    for (uint64_t state = head, before = 0; state != 0;
         before = state, state = member(bytes, l->ts_next)) {
        if (python->thread_count == PYTHON_THREADS_MAX) {
            return "its list of threads does not end";
        }
        if (!read_state(python, view, state, &bytes) || member(bytes, l->ts_interp) != interp ||
            member(bytes, l->ts_prev) != before) {
            return "its list of threads changed, or is damaged";
        }
        struct python_thread thread = {.state = state, .interp = interp};
        if (l->ts_native_id != PYTHON_NO) {
            thread.tid = member(bytes, l->ts_native_id);
        } else {
            thread.native = member(bytes, l->ts_thread_id);
        }
        if (!SONDE__MEM_ADD(python->threads, python->thread_count, python->thread_capacity,
                            thread)) {
            return "out of memory";
        }
    }
    return NULL;
}

/* Get a hash that changes when an interpreter or thread is added. */
static const char *read_heads(const struct python *python, struct sonde__view *view,
                              uint64_t *ret_heads)
{
    const struct python_layout *l = &python->layout;
    uint64_t interp = 0, threads = 0, heads = 0x9e3779b97f4a7c15;
    if (!read_word(view, python->runtime + l->runtime_interpreters, &interp)) {
        return "the runtime cannot be read";
    }
    for (unsigned i = 0; interp != 0; i++) {
        if (i == PYTHON_INTERPRETERS_MAX ||
            !read_word(view, interp + l->interp_threads, &threads)) {
            return "its list of interpreters is damaged";
        }
        heads = (heads ^ interp ^ threads << 16 ^ threads >> 48) * 0x9e3779b97f4a7c15;
        if (!read_word(view, interp + l->interp_next, &interp)) {
            return "its list of interpreters is damaged";
        }
    }
    *ret_heads = heads | 1;
    return NULL;
}

static const char *list_threads(struct python *python, struct sonde__view *view)
{
    const struct python_layout *l = &python->layout;
    uint64_t interp = 0, head = 0;
    const char *why = NULL;
    python->thread_count = 0;
    (void)read_word(view, python->runtime + l->runtime_interpreters, &interp);
    for (unsigned i = 0; interp != 0 && i < PYTHON_INTERPRETERS_MAX && why == NULL; i++) {
        if (!read_word(view, interp + l->interp_threads, &head)) {
            return "its list of interpreters is damaged";
        }
        why = add_threads_of(python, view, interp, head);
        if (!read_word(view, interp + l->interp_next, &interp)) {
            return "its list of interpreters is damaged";
        }
    }
    return why;
}

/* Is the state still in its list, and is it this thread's? */
static bool is_linked(const struct python *python, struct sonde__view *view,
                      const struct python_thread *thread, uint64_t tid)
{
    const struct python_layout *l = &python->layout;
    const uint8_t *bytes;
    uint64_t link = 0;
    if (!read_state(python, view, thread->state, &bytes) ||
        member(bytes, l->ts_interp) != thread->interp) {
        return false;
    }
    bool is_his = l->ts_native_id != PYTHON_NO ? member(bytes, l->ts_native_id) == tid
                                               : member(bytes, l->ts_thread_id) == thread->native &&
                                                     has_tid(view, thread->native, tid);
    uint64_t before = member(bytes, l->ts_prev);
    uint64_t at = before != 0 ? before + l->ts_next : thread->interp + l->interp_threads;
    return is_his && read_word(view, at, &link) && link == thread->state;
}

/* Is it the thread `tid`? If only pthread_self() is known, compare the tid there, and keep it if
 * equal. */
static bool is_of(struct sonde__view *view, struct python_thread *thread, uint64_t tid)
{
    if (thread->tid == 0 && thread->native != 0 && has_tid(view, thread->native, tid)) {
        thread->tid = tid;
    }
    return thread->tid == tid;
}

static bool is_alive(const struct python *python, struct sonde__view *view,
                     const struct python_thread *thread, uint64_t tid, bool *gone)
{
    bool linked = is_linked(python, view, thread, tid);
    *gone |= !linked;
    return linked;
}

static uint32_t find_listed(struct python *python, struct sonde__view *view, uint64_t tid,
                            struct python_thread *ret_states, uint32_t capacity, bool *gone)
{
    uint32_t found = 0;
    for (size_t i = 0; i < python->thread_count && found < capacity; i++) {
        struct python_thread *thread = &python->threads[i];
        if (is_of(view, thread, tid) && is_alive(python, view, thread, tid, gone)) {
            ret_states[found++] = *thread;
        }
    }
    return found;
}

const char *python_find_thread(struct python *python, struct sonde__view *view, uint64_t tid,
                               struct python_thread *ret_states, uint32_t capacity,
                               uint32_t *ret_count)
{
    uint64_t heads = 0;
    bool gone = false;
    const char *why = read_heads(python, view, &heads);
    *ret_count = 0;
    if (why != NULL) {
        return why;
    }
    if (heads == python->heads) {
        *ret_count = find_listed(python, view, tid, ret_states, capacity, &gone);
        if (!gone) {
            return NULL;
        }
    }
    python->heads = 0;
    why = list_threads(python, view);
    if (why == NULL) {
        gone = false;
        python->heads = heads;
        *ret_count = find_listed(python, view, tid, ret_states, capacity, &gone);
        why = gone ? "its list of threads changed" : NULL;
    }
    return why;
}

/* --- by the native stack, 3.11 on --- */

/* The innermost call of the loop that a state links, by its address on the native stack; 0: none,
 * or it cannot be read. */
static uint64_t innermost_call(const struct python *python, struct sonde__view *view,
                               uint64_t state)
{
    enum { OWNER_ENTRY = 3 };
    const struct python_layout *l = &python->layout;
    const uint8_t *bytes = NULL;
    if (l->frames == PYTHON_FRAME_OBJECTS || !read_state(python, view, state, &bytes)) {
        return 0;
    }
    if (l->ts_cframe != PYTHON_NO) {
        return member(bytes, l->ts_cframe);
    }
    uint64_t at = member(bytes, l->ts_frame);
    for (unsigned i = 0; at != 0 && i < SONDE__SCRIPT_FRAMES_MAX; i++) {
        bytes = at % 8 == 0 ? sonde__view_at(view, at, l->frame_bytes, true) : NULL;
        if (bytes == NULL || bytes[l->frame_owner] >= OWNER_ENTRY) {
            return bytes != NULL ? at : 0;
        }
        at = member(bytes, l->frame_previous);
    }
    return 0;
}

const char *python_find_on_stack(struct python *python, struct sonde__view *view, uint64_t tid,
                                 const struct python_span *span, struct python_thread *ret_states,
                                 uint32_t capacity, uint32_t *ret_count)
{
    const char *why = list_threads(python, view);
    *ret_count = 0;
    for (size_t i = 0; why == NULL && i < python->thread_count && *ret_count < capacity; i++) {
        uint64_t call = innermost_call(python, view, python->threads[i].state);
        if (call >= span->start && call < span->end) {
            python->threads[i].tid = tid; /* if it holds the lock, this is who does */
            ret_states[(*ret_count)++] = python->threads[i];
        }
    }
    return why;
}

/* The thread of a state; 0: unknown. */
static uint64_t thread_of(const struct python *python, uint64_t state)
{
    for (size_t i = 0; i < python->thread_count; i++) {
        if (python->threads[i].state == state) {
            return python->threads[i].tid;
        }
    }
    return 0;
}

void python_lock_of(const struct python *python, struct sonde__view *view,
                    const struct python_thread *thread, struct sonde__script *script)
{
    enum {
        BEFORE_HOLDER = 8,
        GIL_BYTES = 208
    }; /* struct _gil_runtime_state: two of mutex and cond */
    const struct python_layout *l = &python->layout;
    uint64_t at = python->runtime, holder = 0;
    script->lock = SONDE__SCRIPT_LOCK_UNKNOWN;
    if (l->interp_gil != PYTHON_NO && !read_word(view, thread->interp + l->interp_gil, &at)) {
        return;
    }
    const uint8_t *locked = sonde__view_at(view, at + l->gil_locked, 4, false);
    if (locked == NULL || !read_word(view, at + l->gil_holder, &holder)) {
        return;
    }
    bool is_held = sonde__base_le32(locked) == 1;
    script->lock =
        is_held && holder == thread->state ? SONDE__SCRIPT_LOCK_HELD : SONDE__SCRIPT_LOCK_NOT_HELD;
    script->lock_start = at + l->gil_holder - BEFORE_HOLDER;
    script->lock_end = script->lock_start + GIL_BYTES;
    script->lock_holder = is_held ? thread_of(python, holder) : 0;
}

bool python_is_consistent(const struct python *python, struct sonde__view *view)
{
    const struct python_layout *l = &python->layout;
    uint64_t interp = 0, head = 0, back = 0;
    const uint8_t *bytes;
    return read_word(view, python->runtime + l->runtime_interpreters, &interp) &&
           (l->interp_runtime == PYTHON_NO ||
            (read_word(view, interp + l->interp_runtime, &back) && back == python->runtime)) &&
           read_word(view, interp + l->interp_threads, &head) &&
           read_state(python, view, head, &bytes) && member(bytes, l->ts_interp) == interp &&
           member(bytes, l->ts_prev) == 0;
}
