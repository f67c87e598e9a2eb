// SPDX-License-Identifier: Apache-2.0
#include "report_messages.h"

#include "report_model.h"

/* One field of struct sonde__report_S: its number, its member. */
#define MEMBER(s, m) (((struct sonde__report_##s *)0)->m)
#define AT(s, m)     (uint16_t) offsetof(struct sonde__report_##s, m)
#define NUMBER(n, s, m)                                                                            \
    .number = n, .kind = SONDE__FIELD_NUMBER, .offset = AT(s, m),                                  \
    .size_bytes = sizeof MEMBER(s, m),                                                             \
    .is_signed = (__typeof__(MEMBER(s, m)))-1 < (__typeof__(MEMBER(s, m)))1
#define FIELD(n, k, s, m)    .number = n, .kind = SONDE__FIELD_##k, .offset = AT(s, m)
#define ARRAY(n, k, s, m, c) FIELD(n, k, s, m), .count_offset = AT(s, c)
#define BOUND(m, l)          .max = (m), .lost_offset = AT(lost, l)
#define NAME                 .is_name = true

#define MESSAGE(s)                                                                                 \
    const struct sonde__message sonde__message_##s = {s, sizeof(s) / sizeof *(s),                  \
                                                      sizeof(struct sonde__report_##s)};           \
    _Static_assert(sizeof(s) / sizeof *(s) <= SONDE__MESSAGE_FIELDS_MAX, "a reader has room")

#define PART(n, s, l, m)                                                                           \
    .message = &sonde__message_##s, .number = (n), .lost_offset = AT(lost, l), .max = (m)
#define DICTIONARY(n, s, l) PART(n, s, l, UINT32_MAX), .is_dictionary = true

static const struct sonde__field header[] = {
    {NUMBER(1, header, format)},       {NUMBER(2, header, kind)},
    {FIELD(3, TEXT, header, tool)},    {FIELD(4, FIXED64, header, time_unix_ns)},
    {NUMBER(5, header, pid)},          {FIELD(6, TEXT, header, executable)},
    {FIELD(7, TEXT, header, os)},      {FIELD(8, TEXT, header, arch)},
    {NUMBER(9, header, threshold_ns)}, {FIELD(10, TEXT, header, source)},
    {NUMBER(11, header, pause_ns)},
};
MESSAGE(header);

static const struct sonde__field image[] = {
    {FIELD(1, STRING, image, path)}, {FIELD(2, BUILD_ID, image, build_id)},
    {NUMBER(3, image, flags)},       {NUMBER(4, image, arch)},
    {NUMBER(5, image, code_id)},
};
static MESSAGE(image);

static const struct sonde__field inlined[] = {
    {FIELD(1, STRING, inlined, name)},
    {FIELD(2, STRING, inlined, file)},
    {NUMBER(3, inlined, line)},
};
static MESSAGE(inlined);

static const struct sonde__field frame[] = {
    {NUMBER(1, frame, image)},
    {NUMBER(2, frame, offset)},
    {NUMBER(3, frame, how)},
    {FIELD(4, STRING, frame, name), NAME},
    {NUMBER(5, frame, name_offset)},
    {NUMBER(6, frame, name_source), NAME},
    {NUMBER(7, frame, lost_count)},
    {NUMBER(8, frame, kind)},
    {FIELD(9, STRING, frame, file), NAME},
    {NUMBER(10, frame, line), NAME},
    {ARRAY(11, MESSAGES, frame, inlined, inlined_count), NAME, .elements = &sonde__message_inlined,
     BOUND(SONDE__REPORT_INLINED_MAX, frames)},
    {NUMBER(12, frame, alternatives)},
    {NUMBER(13, frame, code_id)},
};
static MESSAGE(frame);

static const struct sonde__field node[] = {
    {NUMBER(1, node, parent)},
    {NUMBER(2, node, frame)},
    {ARRAY(3, NUMBERS, node, tail_calls, tail_call_count),
     BOUND(SONDE__REPORT_TAIL_CALLS_MAX, frames)},
};
static MESSAGE(node);

static const struct sonde__field thread[] = {
    {NUMBER(1, thread, tid)},          {FIELD(2, STRING, thread, name)},
    {NUMBER(3, thread, state)},        {NUMBER(4, thread, main)},
    {NUMBER(5, thread, stack)},        {NUMBER(6, thread, end)},
    {NUMBER(7, thread, end_at)},       {NUMBER(8, thread, captured_by)},
    {NUMBER(9, thread, syscall)},      {NUMBER(10, thread, pause_ns)},
    {FIELD(11, STRING, thread, note)}, {NUMBER(12, thread, frame_count)},
    {NUMBER(13, thread, time_ns)},     {FIELD(14, STRING, thread, detail)},
};
static MESSAGE(thread);

static const struct sonde__field sample[] = {
    {NUMBER(1, sample, time_ns)}, {NUMBER(2, sample, weight_ns)},
    {NUMBER(3, sample, stack)},   {NUMBER(4, sample, end)},
    {NUMBER(5, sample, phase)},   {NUMBER(6, sample, captured_by)},
    {NUMBER(7, sample, syscall)}, {FIELD(8, STRING, sample, detail)},
};
static MESSAGE(sample);

static const struct sonde__field stall[] = {
    {NUMBER(1, stall, begin_ns)},
    {NUMBER(2, stall, duration_ns)},
    {NUMBER(3, stall, tid)},
    {FIELD(4, STRING, stall, thread_name)},
    {NUMBER(5, stall, loop)},
    {FIELD(6, STRING, stall, loop_detail)},
    {NUMBER(7, stall, loop_turns)},
    {ARRAY(8, MESSAGES, stall, samples, sample_count), .elements = &sonde__message_sample,
     BOUND(SONDE__REPORT_SAMPLES_MAX, samples)},
    {ARRAY(9, MESSAGES, stall, threads, thread_count), .elements = &sonde__message_thread,
     BOUND(SONDE__REPORT_THREADS_MAX, threads)},
    {NUMBER(10, stall, cpu_ns)},
    {NUMBER(11, stall, runqueue_ns)},
    {NUMBER(12, stall, open)},
    {NUMBER(13, stall, overhead_ns)},
    {NUMBER(14, stall, samples_early)},
    {NUMBER(15, stall, sampler)},
    {NUMBER(16, stall, main)},
};
static MESSAGE(stall);

static const struct sonde__field call[] = {
    {FIELD(1, STRING, call, function)}, {NUMBER(2, call, stack)},
    {NUMBER(3, call, count)},           {NUMBER(4, call, end)},
    {FIELD(5, STRING, call, missed)},
};
static MESSAGE(call);

static const struct sonde__field heap_blocks[] = {
    {NUMBER(1, heap_blocks, time_ns)},      {NUMBER(2, heap_blocks, stack)},
    {NUMBER(3, heap_blocks, function)},     {NUMBER(4, heap_blocks, count)},
    {NUMBER(5, heap_blocks, size_bytes)},   {NUMBER(6, heap_blocks, growth)},
    {NUMBER(7, heap_blocks, growth_bytes)}, {NUMBER(8, heap_blocks, oldest_ns)},
    {NUMBER(9, heap_blocks, newest_ns)},    {NUMBER(10, heap_blocks, tid)},
};
static MESSAGE(heap_blocks);

static const struct sonde__field end[] = {
    {NUMBER(1, end, stall_count)},
    {NUMBER(2, end, turn_count)},
    {NUMBER(3, end, lost_records)},
    {NUMBER(4, end, watched_ns)},
};
MESSAGE(end);

const struct sonde__part sonde__parts[] = {
    [SONDE__PART_IMAGES] = {DICTIONARY(3, image, images)},
    [SONDE__PART_FRAMES] = {DICTIONARY(4, frame, frames)},
    [SONDE__PART_NODES] = {DICTIONARY(5, node, nodes)},
    [SONDE__PART_THREADS] = {PART(6, thread, threads, SONDE__REPORT_THREADS_MAX)},
    [SONDE__PART_STALLS] = {PART(7, stall, stalls, SONDE__REPORT_STALLS_MAX)},
    [SONDE__PART_CALLS] = {PART(10, call, calls, SONDE__REPORT_CALLS_MAX)},
    [SONDE__PART_HEAP_BLOCKS] = {PART(11, heap_blocks, heap_blocks, SONDE__REPORT_HEAP_BLOCKS_MAX)},
};
