// SPDX-License-Identifier: Apache-2.0
/* A fixed table of texts with a sequence lock for each. Writers take turns; a text's version is odd
 * while it changes, so the watch reads without a lock, even if a thread stops in the middle of a
 * change. A text that is changing is left out. */
#include <sonde/note.h>
#include <sonde/watch.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "api_phase.h"
#include "api_watch.h"
#include "api_watch_notes.h"
#include "host_clock.h"
#include "record_inside.h"

#define WORD_BYTES  sizeof(uint64_t)
#define VALUE_WORDS (SONDE__SAMPLER_NOTE_VALUE_BYTES / WORD_BYTES)
#define KEY_WORDS   (SONDE__SAMPLER_NOTE_KEY_BYTES / WORD_BYTES)
#define PHASE_WORDS (SONDE__SAMPLER_PHASE_BYTES / WORD_BYTES)
/* A change takes some ns, unless the writer is interrupted. */
#define READ_TRIES 1000

struct note {
    _Atomic uint32_t version;                            /* odd: changing */
    _Atomic uint64_t key[KEY_WORDS], value[VALUE_WORDS]; /* no key: free */
};

static struct {
    _Atomic uint32_t writing; /* 1: a thread is writing */
    struct note notes[SONDE__SAMPLER_NOTES_MAX];
    _Atomic uint32_t phase_version;
    _Atomic uint64_t phase[PHASE_WORDS];
    _Atomic uint32_t consent;
    _Atomic uint64_t phase_ns;
} all;

static void begin_writing(void)
{
    while (atomic_exchange_explicit(&all.writing, 1, memory_order_acquire) != 0) {
        sched_yield();
    }
}

static void end_writing(void)
{
    atomic_store_explicit(&all.writing, 0, memory_order_release);
}

/* A longer text is cut before a UTF-8 character. */
static void put_text(_Atomic uint64_t *words, size_t count, const char *text)
{
    char bytes[SONDE__SAMPLER_NOTE_VALUE_BYTES] = {0};
    uint64_t word;
    size_t size = strnlen(text, count * WORD_BYTES);
    if (size == count * WORD_BYTES) {
        size--;
        while (size > 0 && ((unsigned char)text[size] & 0xc0u) == 0x80) {
            size--;
        }
    }
    memcpy(bytes, text, size);
    for (size_t i = 0; i < count; i++) {
        memcpy(&word, bytes + i * WORD_BYTES, sizeof word);
        atomic_store_explicit(&words[i], word, memory_order_relaxed);
    }
}

static void get_text(const _Atomic uint64_t *words, size_t count, char *ret_text)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);
        memcpy(ret_text + i * WORD_BYTES, &word, sizeof word);
    }
    ret_text[count * WORD_BYTES - 1] = '\0';
}

static void begin_change(_Atomic uint32_t *version)
{
    atomic_fetch_add_explicit(version, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void end_change(_Atomic uint32_t *version)
{
    atomic_fetch_add_explicit(version, 1, memory_order_release);
}

/* --- the program's threads --- */

/* The note with this key, else a free one. */
static struct note *find_note(const char *key)
{
    struct note *found = NULL;
    for (uint32_t i = 0; i < SONDE__SAMPLER_NOTES_MAX; i++) {
        char other[SONDE__SAMPLER_NOTE_KEY_BYTES];
        get_text(all.notes[i].key, KEY_WORDS, other);
        if (strcmp(other, key) == 0) {
            return &all.notes[i];
        }
        found = found == NULL && other[0] == '\0' ? &all.notes[i] : found;
    }
    return found;
}

enum sonde_status sonde_watch_note(const char *key, const char *value)
{
    if (key == NULL || key[0] == '\0' ||
        strnlen(key, SONDE__SAMPLER_NOTE_KEY_BYTES) >= SONDE__SAMPLER_NOTE_KEY_BYTES) {
        return SONDE_USAGE;
    }
    begin_writing();
    struct note *note = find_note(key);
    if (note != NULL) {
        begin_change(&note->version);
        put_text(note->key, KEY_WORDS, value != NULL ? key : "");
        put_text(note->value, VALUE_WORDS, value != NULL ? value : "");
        end_change(&note->version);
    }
    end_writing();
    return note != NULL || value == NULL ? SONDE_OK : SONDE_LIMIT;
}

void sonde_watch_phase(const char *name, enum sonde_consent consent)
{
    begin_writing();
    begin_change(&all.phase_version);
    put_text(all.phase, PHASE_WORDS, name != NULL ? name : "");
    atomic_store_explicit(&all.consent, (uint32_t)consent, memory_order_relaxed);
    atomic_store_explicit(&all.phase_ns, sonde__host_monotonic_ns(), memory_order_relaxed);
    end_change(&all.phase_version);
    end_writing();
    sonde__record_inside_phase(name != NULL ? name : "", (uint32_t)consent);
    sonde__api_phase_tell(name != NULL ? name : "", (uint32_t)consent);
}

/* --- the watch's thread --- */

/* False: it is changing. */
static bool begin_reading(const _Atomic uint32_t *version, uint32_t *ret_version)
{
    *ret_version = atomic_load_explicit(version, memory_order_acquire);
    return *ret_version % 2 == 0;
}

static bool has_read(const _Atomic uint32_t *version, uint32_t before)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(version, memory_order_relaxed) == before;
}

static bool read_note(const struct note *note, struct sonde__sampler_note *ret_note)
{
    for (uint32_t i = 0, version; i < READ_TRIES; i++) {
        if (begin_reading(&note->version, &version)) {
            get_text(note->key, KEY_WORDS, ret_note->key);
            get_text(note->value, VALUE_WORDS, ret_note->value);
            if (has_read(&note->version, version)) {
                return ret_note->key[0] != '\0';
            }
        }
    }
    return false;
}

static bool read_phase(struct sonde__sampler_notes *notes)
{
    for (uint32_t i = 0, version; i < READ_TRIES; i++) {
        if (begin_reading(&all.phase_version, &version)) {
            get_text(all.phase, PHASE_WORDS, notes->phase);
            notes->consent = atomic_load_explicit(&all.consent, memory_order_relaxed);
            notes->phase_ns = atomic_load_explicit(&all.phase_ns, memory_order_relaxed);
            if (has_read(&all.phase_version, version)) {
                return notes->phase[0] != '\0' || notes->consent != 0;
            }
        }
    }
    notes->phase[0] = '\0';
    notes->consent = 0;
    return false;
}

/* Null: "". */
static void copy_text(const char *text, char ret_copy[SONDE__SAMPLER_PHASE_BYTES])
{
    snprintf(ret_copy, SONDE__SAMPLER_PHASE_BYTES, "%s", text != NULL ? text : "");
}

bool sonde__api_notes_read(const struct sonde__probe_slot *slot,
                           struct sonde__sampler_notes *ret_notes)
{
    uint64_t phase = atomic_load_explicit(&slot->phase, memory_order_acquire);
    const char *text = (const char *)(uintptr_t)phase;
    bool any = read_phase(ret_notes);
    ret_notes->count = 0;
    for (uint32_t i = 0; i < SONDE__SAMPLER_NOTES_MAX; i++) {
        ret_notes->count += read_note(&all.notes[i], &ret_notes->notes[ret_notes->count]);
    }
    copy_text(text, ret_notes->loop_phase);
    const char *mode = sonde__api_run_loop_mode(atomic_load(&slot->tid));
    copy_text(mode, ret_notes->mode);
    ret_notes->app_state = atomic_load_explicit(&sonde__api_marks.app_state, memory_order_relaxed);
    return any || ret_notes->count > 0 || text != NULL || mode[0] != '\0' ||
           ret_notes->app_state != SONDE_APP_UNKNOWN;
}

void sonde__api_notes_after_fork(void)
{
    for (uint32_t i = 0; i < SONDE__SAMPLER_NOTES_MAX; i++) {
        struct note *note = &all.notes[i];
        if (atomic_load(&note->version) % 2 != 0) {
            put_text(note->key, KEY_WORDS, "");
            end_change(&note->version);
        }
    }
    if (atomic_load(&all.phase_version) % 2 != 0) {
        put_text(all.phase, PHASE_WORDS, "");
        atomic_store(&all.consent, 0);
        end_change(&all.phase_version);
    }
    end_writing();
}
