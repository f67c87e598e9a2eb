// SPDX-License-Identifier: Apache-2.0
/* The lists of the model, and their accessors. */
#include <string.h>

#include "report_model.h"
#include "report_store.h"

static uint64_t *lost_at(struct sonde__report *report, uint16_t offset)
{
    return (uint64_t *)(void *)((char *)&report->lost + offset);
}

uint32_t sonde__report_append(struct sonde__report *report, enum sonde__report_part part,
                              const void *object)
{
    struct sonde__report_list *list = &report->parts[part];
    void *entry =
        list->count < sonde__parts[part].max ? sonde__report_list_add(&report->arena, list) : NULL;
    if (entry == NULL) {
        *lost_at(report, sonde__parts[part].lost_offset) += 1;
        return 0;
    }
    memcpy(entry, object, list->element_bytes);
    return list->count;
}

void sonde__report_keep_arrays(struct sonde__report *report, const struct sonde__message *message,
                               void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (!sonde__field_is_array(field)) {
            continue;
        }
        uint32_t *count = sonde__field_count(field, object);
        void **elements = sonde__field_elements(field, object);
        uint32_t kept = *count < field->max ? *count : field->max;
        size_t size = kept * sonde__field_element_bytes(field);
        void *copy = kept == 0 ? NULL : sonde__report_arena_take(&report->arena, size);
        if (copy != NULL) {
            memcpy(copy, *elements, size);
        } else {
            kept = 0;
        }
        *lost_at(report, field->lost_offset) += *count - kept;
        *elements = copy;
        *count = kept;
    }
}

static const char *keep_text(struct sonde__report *report, const char *text)
{
    uint32_t length = 0;
    if (text == NULL || *text == '\0') {
        return "";
    }
    text = sonde__report_scrub(report, text);
    const char *copy = sonde__report_copy_text(report, text, strlen(text), &length);
    if (copy == NULL) {
        report->lost.strings++;
        return "";
    }
    return copy;
}

void sonde__report_keep_texts(struct sonde__report *report, const struct sonde__message *message,
                              void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        void *member = (char *)object + field->offset;
        if (field->kind == SONDE__FIELD_TEXT) {
            *(const char **)member = keep_text(report, *(const char **)member);
        } else if (field->kind == SONDE__FIELD_MESSAGE) {
            sonde__report_keep_texts(report, field->elements, member);
        } else if (field->kind == SONDE__FIELD_MESSAGES) {
            for (uint32_t k = 0; k < *sonde__field_count(field, object); k++) {
                sonde__report_keep_texts(report, field->elements,
                                         (char *)*sonde__field_elements(field, object) +
                                             k * sonde__field_element_bytes(field));
            }
        }
    }
}

void sonde__report_set_header(struct sonde__report *report,
                              const struct sonde__report_header *header)
{
    report->header = *header;
    if (header->format == 0) {
        report->header.format = SONDE__REPORT_FORMAT;
    }
    sonde__report_keep_arrays(report, &sonde__message_header, &report->header);
    sonde__report_keep_texts(report, &sonde__message_header, &report->header);
}

uint32_t sonde__report_add_process(struct sonde__report *report,
                                   const struct sonde__report_process *process)
{
    struct sonde__report_process kept = *process;
    if (kept.parent > sonde__report_process_count(report)) {
        kept.parent = 0;
        report->lost.processes++;
    }
    return sonde__report_append(report, SONDE__PART_PROCESSES, &kept);
}

/* Add an object that has no arrays. */
#define ADD(name, s, part)                                                                         \
    uint32_t sonde__report_add_##name(struct sonde__report *report,                                \
                                      const struct sonde__report_##s *object)                      \
    {                                                                                              \
        return sonde__report_append(report, SONDE__PART_##part, object);                           \
    }

ADD(phase, named_phase, PHASES)
ADD(rule, rule, RULES)
ADD(sample, sample, SAMPLES)
ADD(wait, wait, WAITS)
ADD(stall_count, stall_count, STALL_COUNTS)
ADD(thread, thread, THREADS)
ADD(heap_blocks, heap_blocks, HEAP_BLOCKS)
ADD(tasks, tasks, TASKS)

uint32_t sonde__report_find_phase(struct sonde__report *report,
                                  const struct sonde__report_named_phase *phase)
{
    uint32_t id = sonde__report_phase_count(report);
    for (; id > 0; id--) {
        const struct sonde__report_named_phase *other = sonde__report_phase(report, id);
        if (other->begin_ns == phase->begin_ns && other->consent == phase->consent &&
            other->process == phase->process &&
            strcmp(sonde__report_text(report, other->name),
                   sonde__report_text(report, phase->name)) == 0) {
            return id;
        }
    }
    return sonde__report_add_phase(report, phase);
}

static const char hex_digits[] = "0123456789abcdef";

const char *sonde__report_build_id_text(const struct sonde__build_id *id,
                                        char buffer[SONDE__REPORT_BUILD_ID_TEXT])
{
    size_t size = id->size < SONDE__BUILD_ID_MAX ? id->size : SONDE__BUILD_ID_MAX;
    for (size_t i = 0; i < size; i++) {
        buffer[2 * i] = hex_digits[id->bytes[i] >> 4];
        buffer[2 * i + 1] = hex_digits[id->bytes[i] & 15];
    }
    buffer[2 * size] = '\0';
    return buffer;
}

void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall)
{
    struct sonde__report_stall kept = *stall;
    sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_STALLS].message, &kept);
    (void)sonde__report_append(report, SONDE__PART_STALLS, &kept);
}

void sonde__report_add_call(struct sonde__report *report, const struct sonde__report_call *call)
{
    struct sonde__report_call kept = *call;
    if (call->argument_count != 0) {
        sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_CALLS].message, &kept);
    }
    (void)sonde__report_append(report, SONDE__PART_CALLS, &kept);
}

const struct sonde__report_header *sonde__report_header(const struct sonde__report *report)
{
    return &report->header;
}

const struct sonde__report_end *sonde__report_end(const struct sonde__report *report)
{
    return report->has_end ? &report->end : NULL;
}

const struct sonde__report_lost *sonde__report_lost(const struct sonde__report *report)
{
    return &report->lost;
}

uint64_t sonde__report_lost_records(const struct sonde__report *report)
{
    const struct sonde__report_lost *l = &report->lost;
    return l->strings + l->images + l->frames + l->nodes + l->threads + l->stalls + l->samples +
           l->notes + l->calls + l->heap_blocks + l->processes + l->phases + l->rules + l->waits +
           l->stall_counts + l->tasks + l->details;
}

const char *sonde__report_text(const struct sonde__report *report, uint32_t string)
{
    const struct sonde__report_string *s =
        string == 0 ? NULL : sonde__report_list_at(&report->strings, string - 1);
    return s == NULL ? "" : s->text;
}

/* A zeroed object if the id does not exist. */
static const void *object_at(const struct sonde__report *r, enum sonde__report_part part,
                             uint32_t index)
{
    static const union sonde__report_object none;
    const void *object = sonde__report_list_at(&r->parts[part], index);
    return object != NULL ? object : &none;
}

/* The accessors that report_model.h declares for a list: its count, and element `number`, counted
 * from `first` (1 for ids). */
#define LIST(name, s, part, first)                                                                 \
    uint32_t sonde__report_##name##_count(const struct sonde__report *report)                      \
    {                                                                                              \
        return report->parts[SONDE__PART_##part].count;                                            \
    }                                                                                              \
    const struct sonde__report_##s *sonde__report_##name(const struct sonde__report *report,       \
                                                         uint32_t number)                          \
    {                                                                                              \
        return object_at(report, SONDE__PART_##part, number - (first));                            \
    }

LIST(image, image, IMAGES, 1)
LIST(frame, frame, FRAMES, 1)
LIST(node, node, NODES, 1)
LIST(process, process, PROCESSES, 1)
LIST(phase, named_phase, PHASES, 1)
LIST(rule, rule, RULES, 1)
LIST(thread, thread, THREADS, 0)
LIST(stall, stall, STALLS, 0)
LIST(call, call, CALLS, 0)
LIST(heap_blocks, heap_blocks, HEAP_BLOCKS, 0)
LIST(tasks, tasks, TASKS, 0)
LIST(sample, sample, SAMPLES, 0)
LIST(wait, wait, WAITS, 0)

const struct sonde__report_stall_count *sonde__report_stall_count_at(const struct sonde__report *r,
                                                                     uint32_t i)
{
    return object_at(r, SONDE__PART_STALL_COUNTS, i);
}

int32_t sonde__report_pid(const struct sonde__report *report, uint32_t process)
{
    return process == 0 || process > sonde__report_process_count(report)
               ? report->header.pid
               : sonde__report_process(report, process)->pid;
}

uint32_t sonde__report_main_image(const struct sonde__report *report)
{
    for (uint32_t id = 1; id <= sonde__report_image_count(report); id++) {
        if ((sonde__report_image(report, id)->flags & SONDE__IMAGE_MAIN) != 0) {
            return id;
        }
    }
    return 0;
}

const char *sonde__report_build(const struct sonde__report *report,
                                char buffer[SONDE__REPORT_BUILD_ID_TEXT])
{
    if (*report->header.build != '\0') {
        return report->header.build;
    }
    sonde__report_build_id_text(
        &sonde__report_image(report, sonde__report_main_image(report))->build_id, buffer);
    return buffer;
}

const char *sonde__report_note(const struct sonde__report *report, uint32_t i)
{
    const struct sonde__report_string *note = sonde__report_list_at(&report->notes, i);
    return note == NULL ? "" : note->text;
}

uint32_t sonde__report_string_count(const struct sonde__report *report)
{
    return report->strings.count;
}

uint32_t sonde__report_note_count(const struct sonde__report *report)
{
    return report->notes.count;
}

uint32_t sonde__report_stall_count_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_STALL_COUNTS].count;
}
