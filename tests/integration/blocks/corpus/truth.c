// SPDX-License-Identifier: Apache-2.0
#include "truth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "runtime.h"

enum { WORDS = 64, MARKS = 2048, SHOWN = 256, LINE = 400, HEADER = 32, FAKE = WORDS * 8 };

void (*corpus_observer)(const struct shown *shown);

/* --- known values --- */

static struct mark {
    uint64_t value;
    unsigned size;
    char kind;
} marks[MARKS];
static unsigned mark_count;

static uint64_t mark(uint64_t value, unsigned size, char kind)
{
    marks[mark_count++] = (struct mark){value, size, kind};
    if (mark_count == MARKS) {
        abort();
    }
    return value;
}

short corpus_half(void)
{
    return 0x4a5b;
}
int corpus_int(void)
{
    return (int)mark(0x5eed0000u + mark_count, 4, 'd');
}
long corpus_long(void)
{
    return (long)mark(0x10b65eed00000000u + mark_count, 8, 'd');
}

float corpus_single(void)
{
    uint32_t bits = (uint32_t)mark(0x41500000u + mark_count, 4, 'd');
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

double corpus_real(void)
{
    uint64_t bits = mark(0x4012345600000000u + mark_count, 8, 'd');
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

void *corpus_place(void)
{
    static char places[64][64];
    static unsigned next;
    return (void *)mark((uint64_t)places[next++ % 64], 8, 'd');
}

void corpus_address(const void *address)
{
    (void)mark((uint64_t)address, 8, 'p');
}

static struct object *objects[MARKS];
static unsigned object_count;

void *corpus_object(void)
{
    struct object *object = corpus_new_object();
    object->retains = 1;
    objects[object_count++] = object;
    return (void *)mark((uint64_t)object, 8, 'u');
}

void *corpus_loose(void)
{
    struct object *object = corpus_object();
    object->releases = 1; /* as if its owner kept the balance */
    return object;
}

void corpus_use(const void *first, ...)
{
    (void)first;
}

/* --- a fake block: each word leads to a place of its own --- */

static struct detector {
    uint64_t words[8];
} detectors[WORDS];
static unsigned char source[FAKE] __attribute__((aligned(64)));
static unsigned char copy[FAKE] __attribute__((aligned(64)));
static char kinds[FAKE];

static void note(size_t offset, char kind)
{
    if (offset >= FAKE) {
        return;
    }
    /* a block is retained as one and released as an object */
    if (kinds[offset] != 'b' || kind != 's') {
        kinds[offset] = kind;
    }
}

static void place(const void *address, char kind)
{
    const unsigned char *at = address;
    if (at >= source && at < source + FAKE) {
        note((size_t)(at - source), kind);
    } else if (at >= copy && at < copy + FAKE) {
        note((size_t)(at - copy), kind);
    }
}

static void value(const void *value, char kind)
{
    const struct detector *at = value;
    if (at >= detectors && at < detectors + WORDS) {
        note((size_t)(at - detectors) * 8, kind);
    }
}

static const struct teller teller = {place, value};

void corpus_cxx(const void *object)
{
    if (corpus_teller != NULL) {
        place(object, 'c');
    }
}

static void fake(unsigned char *bytes, const void *real, size_t header, size_t size)
{
    memcpy(bytes, real, header);
    for (size_t i = header / 8; i < (size + 7) / 8; i++) {
        const void *to = &detectors[i];
        memcpy(bytes + i * 8, &to, 8);
    }
}

/* An object that counts its uses without a call. */
static void note_written(void)
{
    for (unsigned i = 0; i < WORDS; i++) {
        if (memcmp(&detectors[i], &(struct detector){{0}}, sizeof(struct detector)) != 0) {
            note((size_t)i * 8, 'c');
        }
    }
    memset(detectors, 0, sizeof detectors);
}

static void run_helpers(const void *real, size_t header, size_t size, void (*keep)(void *, void *),
                        void (*destroy)(void *))
{
    memset(kinds, 0, sizeof kinds);
    corpus_teller = &teller;
    fake(source, real, header, size);
    fake(copy, real, header, size);
    keep(copy, source);
    note_written();
    fake(source, real, header, size);
    destroy(source);
    note_written();
    corpus_teller = NULL;
}

/* --- the lines --- */

struct line {
    char text[LINE];
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    line->used += (size_t)vsnprintf(line->text + line->used, LINE - line->used, format, arguments);
    va_end(arguments);
    if (line->used >= LINE) {
        abort();
    }
}

static void add_found(struct line *line, const unsigned char *bytes, size_t from, size_t size)
{
    for (size_t at = from; at + 4 <= size; at += 4) {
        for (unsigned i = 0; i < mark_count; i++) {
            const struct mark *m = &marks[i];
            if (at + m->size <= size && at % m->size == 0 &&
                memcmp(bytes + at, &m->value, m->size) == 0) {
                add(line,
                    m->kind == 'd'   ? " d%zu.%u"
                    : m->kind == 'p' ? " p%zu"
                                     : " u%zu",
                    at, m->size);
                break;
            }
        }
    }
}

static void add_kinds(struct line *line, const char *which)
{
    for (size_t i = 0; i < FAKE; i++) {
        if (which[i] != 0) {
            add(line, " %c%zu", which[i], i);
        }
    }
}

static void add_byref(struct line *owned, struct line *found, const void *real, size_t offset)
{
    const struct byref *byref = *(const struct byref *const *)((const char *)real + offset);
    byref = byref->forwarding;
    size_t header = (byref->flags & HAS_HELPERS) != 0 ? 40 : 24;
    add(owned, "(");
    if ((byref->flags & HAS_HELPERS) != 0) {
        run_helpers(byref, header, byref->size, byref->keep, byref->destroy);
        add_kinds(owned, kinds);
    }
    add(owned, " )");
    add(found, " r%zu(", offset);
    add_found(found, (const void *)byref, header, byref->size);
    add(found, " )");
}

static void show(const char *name, const struct block *real, bool here)
{
    struct line owned = {"", 0}, found = {"", 0};
    char of_block[FAKE] = {0};
    size_t size = real->descriptor[1];
    if ((real->flags & HAS_HELPERS) != 0) {
        run_helpers(real, HEADER, size, (void (*)(void *, void *))real->descriptor[2],
                    (void (*)(void *))real->descriptor[3]);
        memcpy(of_block, kinds, sizeof of_block);
    }
    for (size_t i = 0; i < FAKE; i++) {
        if (of_block[i] != 0) {
            add(&owned, " %c%zu", of_block[i], i);
            if (of_block[i] == 'r') {
                add_byref(&owned, &found, real, i);
            }
        }
    }
    add_found(&found, (const void *)real, HEADER, size);
    struct shown shown = {name, real, here, owned.text, found.text};
    if (corpus_observer != NULL) {
        corpus_observer(&shown);
    }
}

static const void *heap_copies[SHOWN];
static unsigned heap_count;

void corpus_show(const char *name, const void *block)
{
    const void *heap = _Block_copy(block);
    if (heap_count < SHOWN) {
        heap_copies[heap_count++] = heap;
    }
    show(name, heap, false);
}

void corpus_show_here(const char *name, const void *block)
{
    show(name, block, true);
}

#pragma weak corpus_c
#pragma weak corpus_cpp
#pragma weak corpus_arc
#pragma weak corpus_mrc
#pragma weak corpus_objcxx
void corpus_c(void);
void corpus_cpp(void);
void corpus_arc(void);
void corpus_mrc(void);
void corpus_objcxx(void);

void corpus_run(void)
{
    void (*const parts[])(void) = {corpus_c, corpus_cpp, corpus_arc, corpus_mrc, corpus_objcxx};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL) {
            parts[i]();
        }
    }
}

unsigned corpus_end(void)
{
    unsigned bad = 0;
    corpus_drain();
    for (unsigned i = 0; i < heap_count; i++) {
        _Block_release(heap_copies[i]);
    }
    heap_count = 0;
    for (unsigned i = 0; i < object_count; i++) {
        bad += objects[i]->retains != objects[i]->releases;
    }
    return bad;
}
