// SPDX-License-Identifier: Apache-2.0
/* A Perfetto trace: message Trace (protos/perfetto/trace/trace.proto) with track events, the stable
 * part of the schema.
 *
 * A stall is a slice on its thread's track, with a slice inside for each function, as long as the
 * function is on the stack of successive samples. Perfetto's own sample messages do not fit:
 * PerfSample has no weights, so sums would count samples, and only the newest versions read
 * StackSample. The other threads have an event with their stack. */
#include "export_formats.h"
#include "export_strings.h"
#include "export_tracks.h"
#include "mem_heap.h"

/* Field numbers. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,

    INTERNED_EVENT_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_SOURCE_LOCATIONS = 4,
    INTERNED_ANNOTATION_STRINGS = 29,

    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_NAME = 23,
    EVENT_SOURCE_LOCATION_IID = 34,
    EVENT_CALLSTACK = 55,
};

enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum { CLOCK_REALTIME = 1, CLOCK_BOOTTIME = 6 };
enum { ANNOTATION_MODULE = 1, ANNOTATION_BUILD_ID, ANNOTATION_PC, ANNOTATION_WAITS_FOR };
enum { UUID_PROCESS = 1, UUID_THREADS };

struct perfetto {
    struct sonde__export_wire wire;
    const struct sonde__export_set *set;
    struct sonde__export_tracks tracks;
    struct sonde__export_path path;
    uint32_t *open; /* functions with open slices, outermost first */
    uint32_t open_count;
    uint64_t base_ns; /* timestamp of the start of the watch */
    uint64_t end_ns;  /* end of the samples so far, since the start of the watch */
    uint64_t uuid;    /* of the current track */
};

static void put_packet(struct perfetto *p, uint32_t flags)
{
    sonde__proto_uint(&p->wire.message, PACKET_SEQUENCE_ID, 1);
    sonde__proto_uint(&p->wire.message, PACKET_SEQUENCE_FLAGS, flags);
    sonde__export_wire_put(&p->wire, TRACE_PACKET);
}

/* --- what events refer to --- */

/* Two clocks, read at the same time. */
static void put_clocks(struct perfetto *p)
{
    static const uint32_t clocks[] = {CLOCK_BOOTTIME, CLOCK_REALTIME};
    struct sonde__proto *m = &p->wire.message;
    size_t mark = sonde__proto_begin(m, PACKET_CLOCK_SNAPSHOT);
    for (unsigned i = 0; i < 2; i++) {
        size_t clock = sonde__proto_begin(m, 1);
        sonde__proto_uint(m, 1, clocks[i]);
        sonde__proto_uint(m, 2, p->base_ns);
        sonde__proto_end(m, clock);
    }
    sonde__proto_end(m, mark);
    put_packet(p, SEQUENCE_CLEARED);
}

static void put_interned(struct perfetto *p, uint32_t field, uint64_t iid, const char *text)
{
    struct sonde__proto *m = &p->wire.message;
    size_t mark = sonde__proto_begin(m, PACKET_INTERNED_DATA);
    size_t entry = sonde__proto_begin(m, field);
    sonde__proto_uint(m, 1, iid);
    sonde__export_wire_string(m, 2, text);
    sonde__proto_end(m, entry);
    sonde__proto_end(m, mark);
    put_packet(p, SEQUENCE_NEEDS_STATE);
}

static void put_function_names(struct perfetto *p)
{
    struct sonde__proto *m = &p->wire.message;
    for (uint32_t i = 0; i < p->set->functions.count && !p->wire.stopped; i++) {
        struct sonde__export_wire_text text;
        size_t mark = sonde__proto_begin(m, PACKET_INTERNED_DATA);
        size_t entry = sonde__proto_begin(m, INTERNED_EVENT_NAMES);
        sonde__proto_uint(m, 1, (uint64_t)i + 1);
        sonde__export_wire_begin(&text, m, 2);
        sonde__export_put_name(&text.out, &p->set->functions, i);
        sonde__export_wire_end(&text);
        sonde__proto_end(m, entry);
        sonde__proto_end(m, mark);
        put_packet(p, SEQUENCE_NEEDS_STATE);
    }
}

static uint64_t location_of(const struct perfetto *p, uint32_t frame, uint32_t inlined)
{
    return inlined == 0 ? frame
                        : (uint64_t)sonde__report_frame_count(p->set->report) + inlined +
                              p->set->functions.first_inlined[frame];
}

static void put_location(struct perfetto *p, uint64_t iid, uint32_t file, uint32_t line)
{
    struct sonde__proto *m = &p->wire.message;
    if (file != 0) {
        size_t mark = sonde__proto_begin(m, PACKET_INTERNED_DATA);
        size_t entry = sonde__proto_begin(m, INTERNED_SOURCE_LOCATIONS);
        sonde__proto_uint(m, 1, iid);
        sonde__export_wire_string(m, 2, sonde__report_text(p->set->report, file));
        sonde__proto_uint(m, 4, line);
        sonde__proto_end(m, entry);
        sonde__proto_end(m, mark);
        put_packet(p, SEQUENCE_NEEDS_STATE);
    }
}

static void put_locations(struct perfetto *p)
{
    const struct sonde__report *r = p->set->report;
    for (uint32_t id = 1; id <= sonde__report_frame_count(r) && !p->wire.stopped; id++) {
        const struct sonde__report_frame *f = sonde__report_frame(r, id);
        put_location(p, location_of(p, id, 0), f->file, f->line);
        for (uint32_t i = 0; i < f->inlined_count; i++) {
            put_location(p, location_of(p, id, i + 1), f->inlined[i].file, f->inlined[i].line);
        }
    }
}

static void put_images(struct perfetto *p)
{
    const struct sonde__report *r = p->set->report;
    put_interned(p, INTERNED_ANNOTATION_NAMES, ANNOTATION_MODULE, "module");
    put_interned(p, INTERNED_ANNOTATION_NAMES, ANNOTATION_BUILD_ID, "build_id");
    put_interned(p, INTERNED_ANNOTATION_NAMES, ANNOTATION_PC, "offset");
    put_interned(p, INTERNED_ANNOTATION_NAMES, ANNOTATION_WAITS_FOR, "waits_for");
    for (uint32_t id = 1; id <= sonde__report_image_count(r) && !p->wire.stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(r, id);
        char text[SONDE__REPORT_BUILD_ID_TEXT];
        (void)sonde__report_build_id_text(&image->build_id, text);
        put_interned(p, INTERNED_ANNOTATION_STRINGS, 2 * (uint64_t)id,
                     sonde__report_text(r, image->path));
        put_interned(p, INTERNED_ANNOTATION_STRINGS, 2 * (uint64_t)id + 1, text);
    }
}

static void put_tracks(struct perfetto *p)
{
    const struct sonde__report_header *header = sonde__report_header(p->set->report);
    struct sonde__proto *m = &p->wire.message;
    size_t mark = sonde__proto_begin(m, PACKET_TRACK_DESCRIPTOR);
    sonde__proto_uint(m, 1, UUID_PROCESS);
    size_t inner = sonde__proto_begin(m, 3);
    sonde__proto_int(m, 1, header->pid);
    sonde__export_wire_string(m, 6, header->executable);
    sonde__proto_end(m, inner);
    sonde__proto_end(m, mark);
    put_packet(p, SEQUENCE_NEEDS_STATE);
    for (uint32_t i = 0; i < p->tracks.count && !p->wire.stopped; i++) {
        const struct sonde__export_track *track = &p->tracks.list[i];
        mark = sonde__proto_begin(m, PACKET_TRACK_DESCRIPTOR);
        sonde__proto_uint(m, 1, UUID_THREADS + (uint64_t)i);
        sonde__proto_uint(m, 5, UUID_PROCESS);
        inner = sonde__proto_begin(m, 4);
        sonde__proto_int(m, 1, header->pid);
        sonde__proto_int(m, 2, (int32_t)track->tid);
        sonde__export_wire_string(m, 5, sonde__report_text(p->set->report, track->name));
        sonde__proto_end(m, inner);
        sonde__proto_end(m, mark);
        put_packet(p, SEQUENCE_NEEDS_STATE);
    }
}

/* --- events --- */

/* Begin an event on the current track; returns the mark that closes it. */
static size_t begin_event(struct perfetto *p, uint64_t at_ns, uint32_t type)
{
    sonde__proto_uint(&p->wire.message, PACKET_TIMESTAMP, p->base_ns + at_ns);
    size_t mark = sonde__proto_begin(&p->wire.message, PACKET_TRACK_EVENT);
    sonde__proto_uint(&p->wire.message, EVENT_TYPE, type);
    sonde__proto_uint(&p->wire.message, EVENT_TRACK_UUID, p->uuid);
    return mark;
}

static void end_event(struct perfetto *p, size_t mark)
{
    sonde__proto_end(&p->wire.message, mark);
    put_packet(p, SEQUENCE_NEEDS_STATE);
}

/* field: number of the value's type in DebugAnnotation; 17 is an interned text. */
static void put_annotation(struct sonde__proto *m, uint32_t name, uint32_t field, uint64_t value)
{
    size_t mark = sonde__proto_begin(m, EVENT_ANNOTATIONS);
    sonde__proto_uint(m, 1, name);
    sonde__proto_uint(m, field, value);
    sonde__proto_end(m, mark);
}

static void open_slice(struct perfetto *p, uint64_t at_ns, const struct sonde__export_place *place)
{
    const struct sonde__report_frame *f = sonde__report_frame(p->set->report, place->frame);
    struct sonde__proto *m = &p->wire.message;
    uint32_t file = place->inlined != 0 ? f->inlined[place->inlined - 1].file : f->file;
    size_t mark = begin_event(p, at_ns, SLICE_BEGIN);
    sonde__proto_uint(m, EVENT_NAME_IID, (uint64_t)place->function + 1);
    if (place->frame != 0 && file != 0) {
        sonde__proto_uint(m, EVENT_SOURCE_LOCATION_IID,
                          location_of(p, place->frame, place->inlined));
    }
    if (place->frame != 0 && f->image != 0) {
        put_annotation(m, ANNOTATION_MODULE, 17, 2 * (uint64_t)f->image);
        put_annotation(m, ANNOTATION_BUILD_ID, 17, 2 * (uint64_t)f->image + 1);
        put_annotation(m, ANNOTATION_PC, 7, f->offset);
    }
    end_event(p, mark);
}

static void close_slices(struct perfetto *p, uint64_t at_ns, uint32_t count)
{
    while (p->open_count > count) {
        p->open_count--;
        end_event(p, begin_event(p, at_ns, SLICE_END));
    }
}

static bool put_sample(void *ctx, const struct sonde__export_sample *sample)
{
    struct perfetto *p = ctx;
    uint32_t same = 0;
    sonde__export_path_read(&p->path, &p->set->functions, sample->stack, sample->leaf, 0);
    while (same < p->open_count && same < p->path.count &&
           p->open[same] == p->path.places[p->path.count - 1 - same].function) {
        same++;
    }
    close_slices(p, sample->at_ns, same);
    for (uint32_t i = same; i < p->path.count; i++) {
        const struct sonde__export_place *place = &p->path.places[p->path.count - 1 - i];
        open_slice(p, sample->at_ns, place);
        p->open[p->open_count++] = place->function;
    }
    p->end_ns = sample->at_ns + sample->weight;
    return !p->wire.stopped && !p->wire.failed;
}

static void put_stall_begin(struct perfetto *p, uint32_t index)
{
    const struct sonde__export_series series = {SONDE__EXPORT_STALL, index};
    const struct sonde__report_stall *stall = sonde__report_stall(p->set->report, index);
    struct sonde__export_wire_text text;
    size_t mark = begin_event(p, stall->begin_ns, SLICE_BEGIN);
    sonde__export_wire_begin(&text, &p->wire.message, EVENT_NAME);
    sonde__export_put_title(&text.out, p->set, &series);
    sonde__export_wire_end(&text);
    end_event(p, mark);
}

static void put_callstack(struct perfetto *p, uint32_t stack)
{
    const struct sonde__report *r = p->set->report;
    struct sonde__proto *m = &p->wire.message;
    sonde__export_path_read(&p->path, &p->set->functions, stack, 0, 0);
    size_t mark = sonde__proto_begin(m, EVENT_CALLSTACK);
    for (uint32_t i = p->path.count; i > 0; i--) {
        const struct sonde__export_place *place = &p->path.places[i - 1];
        const struct sonde__report_frame *f = sonde__report_frame(r, place->frame);
        const struct sonde__report_inlined *call =
            place->inlined != 0 ? &f->inlined[place->inlined - 1] : NULL;
        const char *file = sonde__report_text(r, call != NULL ? call->file : f->file);
        struct sonde__export_wire_text text;
        size_t frame = sonde__proto_begin(m, 1);
        sonde__export_wire_begin(&text, m, 1);
        sonde__export_put_name(&text.out, &p->set->functions, place->function);
        sonde__export_wire_end(&text);
        sonde__proto_bytes(m, 2, file, __builtin_strlen(file));
        sonde__proto_uint(m, 3, call != NULL ? call->line : f->line);
        sonde__proto_end(m, frame);
    }
    sonde__proto_end(m, mark);
}

/* Write a thread that did not stall. */
static void put_thread(struct perfetto *p, const struct sonde__report_thread *thread,
                       uint64_t at_ns)
{
    const char *detail = sonde__report_text(p->set->report, thread->detail);
    size_t mark = begin_event(p, at_ns, INSTANT);
    sonde__export_wire_string(&p->wire.message, EVENT_NAME, "stack");
    if (*detail != '\0') {
        size_t annotation = sonde__proto_begin(&p->wire.message, EVENT_ANNOTATIONS);
        sonde__proto_uint(&p->wire.message, 1, ANNOTATION_WAITS_FOR);
        sonde__export_wire_string(&p->wire.message, 6, detail);
        sonde__proto_end(&p->wire.message, annotation);
    }
    put_callstack(p, thread->stack);
    end_event(p, mark);
}

static void put_track_events(struct perfetto *p, uint32_t number)
{
    const struct sonde__report *r = p->set->report;
    const struct sonde__export_track *track = &p->tracks.list[number];
    p->uuid = UUID_THREADS + (uint64_t)number;
    for (uint32_t i = 0; i < track->count && !p->wire.stopped; i++) {
        const struct sonde__export_appearance *seen = &p->tracks.appearances[track->first + i];
        const struct sonde__report_thread *thread = sonde__export_thread_of(r, seen);
        if (thread != NULL) {
            put_thread(p, thread,
                       seen->stall != 0 ? sonde__report_stall(r, seen->stall - 1)->begin_ns
                                        : thread->time_ns);
            continue;
        }
        const struct sonde__export_series series = {SONDE__EXPORT_STALL, seen->stall - 1};
        put_stall_begin(p, series.stall);
        p->end_ns = sonde__report_stall(r, series.stall)->begin_ns;
        sonde__export_each(p->set, &series, put_sample, p);
        close_slices(p, p->end_ns, 0);
        end_event(p, begin_event(p, p->end_ns, SLICE_END));
    }
}

bool sonde__export_perfetto(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    uint64_t time_ns = sonde__report_header(set->report)->time_unix_ns;
    struct perfetto p = {.set = set, .base_ns = time_ns != 0 ? time_ns : 1};
    bool done = sonde__export_path_make(&p.path) == SONDE_OK &&
                sonde__export_tracks_make(&p.tracks, set->report) == SONDE_OK;
    p.open = sonde__mem_alloc_array(SONDE__EXPORT_PLACES_MAX + 2, sizeof *p.open);
    if (done && p.open != NULL) {
        sonde__export_wire_init(&p.wire, sink);
        put_clocks(&p);
        put_tracks(&p);
        put_function_names(&p);
        put_locations(&p);
        put_images(&p);
        for (uint32_t i = 0; i < p.tracks.count && !p.wire.stopped; i++) {
            put_track_events(&p, i);
        }
        done = sonde__export_wire_done(&p.wire);
    }
    done = done && p.open != NULL;
    sonde__mem_free(p.open);
    sonde__export_tracks_done(&p.tracks);
    sonde__export_path_done(&p.path);
    return done;
}
