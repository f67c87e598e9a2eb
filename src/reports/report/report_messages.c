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

static const struct sonde__field device[] = {
    {FIELD(1, TEXT, device, id)},      {FIELD(2, TEXT, device, model)},
    {FIELD(3, TEXT, device, os)},      {FIELD(4, TEXT, device, kernel)},
    {FIELD(5, TEXT, device, cpu)},     {NUMBER(6, device, cpu_count)},
    {NUMBER(7, device, memory_bytes)},
};
static MESSAGE(device);

static const struct sonde__field tag[] = {
    {FIELD(1, TEXT, tag, key)},
    {FIELD(2, TEXT, tag, value)},
};
static MESSAGE(tag);

static const struct sonde__field header[] = {
    {NUMBER(1, header, format)},
    {NUMBER(2, header, kind)},
    {FIELD(3, TEXT, header, tool)},
    {FIELD(4, FIXED64, header, time_unix_ns)},
    {NUMBER(5, header, pid)},
    {FIELD(6, TEXT, header, executable)},
    {FIELD(7, TEXT, header, os)},
    {FIELD(8, TEXT, header, arch)},
    {NUMBER(9, header, threshold_ns)},
    {FIELD(10, TEXT, header, source)},
    {NUMBER(11, header, pause_ns)},
    {FIELD(12, TEXT, header, report_id)},
    {FIELD(13, TEXT, header, build)},
    {FIELD(14, MESSAGE, header, device), .elements = &sonde__message_device},
    {ARRAY(15, MESSAGES, header, tags, tag_count), .elements = &sonde__message_tag,
     BOUND(SONDE__REPORT_TAGS_MAX, details)},
};
MESSAGE(header);

static const struct sonde__field image[] = {
    {FIELD(1, STRING, image, path)}, {FIELD(2, BUILD_ID, image, build_id)},
    {NUMBER(3, image, flags)},       {NUMBER(4, image, arch)},
    {NUMBER(5, image, code_id)},     {NUMBER(6, image, platform)},
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
    {FIELD(14, STRING, frame, language), NAME},
};
static MESSAGE(frame);

static const struct sonde__field node[] = {
    {NUMBER(1, node, parent)},
    {NUMBER(2, node, frame)},
    {ARRAY(3, NUMBERS, node, tail_calls, tail_call_count),
     BOUND(SONDE__REPORT_TAIL_CALLS_MAX, frames)},
    {NUMBER(4, node, awaiter)},
    {FIELD(5, STRING, node, task), NAME},
    {NUMBER(6, node, creator)},
};
static MESSAGE(node);

static const struct sonde__field process[] = {
    {NUMBER(1, process, pid)},         {NUMBER(2, process, parent)},
    {NUMBER(3, process, parent_pid)},  {FIELD(4, STRING, process, executable)},
    {NUMBER(5, process, start_ticks)}, {NUMBER(6, process, boot)},
    {NUMBER(7, process, program)},
};
static MESSAGE(process);

static const struct sonde__field named_phase[] = {
    {FIELD(1, STRING, named_phase, name)},
    {NUMBER(2, named_phase, begin_ns)},
    {NUMBER(3, named_phase, consent)},
    {NUMBER(4, named_phase, process)},
};
static MESSAGE(named_phase);

static const struct sonde__field rule[] = {
    {FIELD(1, STRING, rule, name)},     {FIELD(2, STRING, rule, pack)},
    {FIELD(3, STRING, rule, category)}, {NUMBER(4, rule, severity)},
    {FIELD(5, STRING, rule, text)},     {NUMBER(6, rule, limit_count)},
    {NUMBER(7, rule, limit_ns)},        {NUMBER(8, rule, over_first_ns)},
    {NUMBER(9, rule, over_last_ns)},
};
static MESSAGE(rule);

static const struct sonde__field thread[] = {
    {NUMBER(1, thread, tid)},           {FIELD(2, STRING, thread, name)},
    {NUMBER(3, thread, state)},         {NUMBER(4, thread, main)},
    {NUMBER(5, thread, stack)},         {NUMBER(6, thread, end)},
    {NUMBER(7, thread, end_at)},        {NUMBER(8, thread, captured_by)},
    {NUMBER(9, thread, syscall)},       {NUMBER(10, thread, pause_ns)},
    {FIELD(11, STRING, thread, note)},  {NUMBER(12, thread, frame_count)},
    {NUMBER(13, thread, time_ns)},      {FIELD(14, STRING, thread, detail)},
    {NUMBER(15, thread, process)},      {NUMBER(16, thread, qos)},
    {FIELD(17, STRING, thread, queue)}, {NUMBER(18, thread, script_stack)},
};
static MESSAGE(thread);

static const struct sonde__field sample[] = {
    {NUMBER(1, sample, time_ns)},       {NUMBER(2, sample, weight_ns)},
    {NUMBER(3, sample, stack)},         {NUMBER(4, sample, end)},
    {NUMBER(5, sample, phase)},         {NUMBER(6, sample, captured_by)},
    {NUMBER(7, sample, syscall)},       {FIELD(8, STRING, sample, detail)},
    {NUMBER(9, sample, tid)},           {NUMBER(10, sample, process)},
    {NUMBER(11, sample, script_stack)}, {NUMBER(12, sample, qos)},
    {FIELD(13, STRING, sample, queue)},
};
static MESSAGE(sample);

static const struct sonde__field uncovered[] = {
    {NUMBER(1, uncovered, time_ns)},     {NUMBER(2, uncovered, duration_ns)},
    {NUMBER(3, uncovered, reason)},      {NUMBER(4, uncovered, cpu_ns)},
    {NUMBER(5, uncovered, runqueue_ns)}, {FIELD(6, STRING, uncovered, detail)},
};
static MESSAGE(uncovered);

static const struct sonde__field wait[] = {
    {NUMBER(1, wait, tid)},         {NUMBER(2, wait, process)},
    {NUMBER(3, wait, kind)},        {FIELD(4, STRING, wait, resource)},
    {NUMBER(5, wait, owner_tid)},   {NUMBER(6, wait, owner_process)},
    {FIELD(7, STRING, wait, peer)},
};
static MESSAGE(wait);

static const struct sonde__field tasks[] = {
    {NUMBER(1, tasks, tid)},
    {NUMBER(2, tasks, process)},
    {NUMBER(3, tasks, stack)},
    {NUMBER(4, tasks, count)},
};
static MESSAGE(tasks);

static const struct sonde__field load[] = {
    {NUMBER(1, load, measured_ns)},     {NUMBER(2, load, minor_faults)},
    {NUMBER(3, load, major_faults)},    {NUMBER(4, load, has_pressure)},
    {NUMBER(5, load, cpu_pressure_ns)}, {NUMBER(6, load, memory_pressure_ns)},
    {NUMBER(7, load, io_pressure_ns)},
};
static MESSAGE(load);

static const struct sonde__field annotation[] = {
    {FIELD(1, STRING, annotation, key)},
    {FIELD(2, STRING, annotation, value)},
};
static MESSAGE(annotation);

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
    {NUMBER(17, stall, process)},
    {FIELD(18, STRING, stall, fingerprint)},
    {ARRAY(19, MESSAGES, stall, uncovered, uncovered_count), .elements = &sonde__message_uncovered,
     BOUND(SONDE__REPORT_UNCOVERED_MAX, details)},
    {ARRAY(20, MESSAGES, stall, waits, wait_count), .elements = &sonde__message_wait,
     BOUND(SONDE__REPORT_WAITS_MAX, waits)},
    {NUMBER(21, stall, phase)},
    {NUMBER(22, stall, kind)},
    {NUMBER(23, stall, fatal)},
    {FIELD(24, STRING, stall, loop_phase)},
    {FIELD(25, STRING, stall, mode)},
    {NUMBER(26, stall, app_state)},
    {FIELD(27, MESSAGE, stall, load), .elements = &sonde__message_load},
    {ARRAY(28, MESSAGES, stall, annotations, annotation_count),
     .elements = &sonde__message_annotation, BOUND(SONDE__REPORT_ANNOTATIONS_MAX, details)},
    {NUMBER(29, stall, doubts)},
};
static MESSAGE(stall);

static const struct sonde__field stall_count[] = {
    {FIELD(1, STRING, stall_count, fingerprint)}, {NUMBER(2, stall_count, count)},
    {NUMBER(3, stall_count, total_ns)},           {NUMBER(4, stall_count, longest_ns)},
    {NUMBER(5, stall_count, first_ns)},           {NUMBER(6, stall_count, last_ns)},
};
static MESSAGE(stall_count);

static const struct sonde__field argument[] = {
    {NUMBER(1, argument, position)},
    {FIELD(2, STRING, argument, value)},
    {NUMBER(3, argument, count)},
    {FIELD(4, STRING, argument, name)},
};
static MESSAGE(argument);

static const struct sonde__field call[] = {
    {FIELD(1, STRING, call, function)},
    {NUMBER(2, call, stack)},
    {NUMBER(3, call, count)},
    {NUMBER(4, call, end)},
    {FIELD(5, STRING, call, missed)},
    {NUMBER(6, call, rule)},
    {NUMBER(7, call, process)},
    {NUMBER(8, call, phase)},
    {NUMBER(9, call, first_ns)},
    {NUMBER(10, call, last_ns)},
    {NUMBER(11, call, tid)},
    {NUMBER(12, call, over_limit)},
    {FIELD(13, STRING, call, sdk)},
    {ARRAY(14, MESSAGES, call, arguments, argument_count), .elements = &sonde__message_argument,
     BOUND(SONDE__REPORT_ARGUMENTS_MAX, details)},
    {FIELD(15, STRING, call, fingerprint)},
    {NUMBER(16, call, threads)},
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

static const struct sonde__field turn_count[] = {
    {NUMBER(1, turn_count, from_ns)},
    {NUMBER(2, turn_count, to_ns)},
    {NUMBER(3, turn_count, count)},
};
static MESSAGE(turn_count);

static const struct sonde__field end[] = {
    {NUMBER(1, end, stall_count)},
    {NUMBER(2, end, turn_count)},
    {NUMBER(3, end, lost_records)},
    {NUMBER(4, end, watched_ns)},
    {NUMBER(5, end, overhead_ns)},
    {ARRAY(6, MESSAGES, end, turn_counts, turn_count_count), .elements = &sonde__message_turn_count,
     BOUND(SONDE__REPORT_TURN_COUNTS_MAX, details)},
    {NUMBER(7, end, frame_ns)},
    {NUMBER(8, end, frames_dropped)},
};
MESSAGE(end);

const struct sonde__part sonde__parts[] = {
    [SONDE__PART_IMAGES] = {DICTIONARY(3, image, images)},
    [SONDE__PART_FRAMES] = {DICTIONARY(4, frame, frames)},
    [SONDE__PART_NODES] = {DICTIONARY(5, node, nodes)},
    [SONDE__PART_PROCESSES] = {PART(12, process, processes, SONDE__REPORT_PROCESSES_MAX),
                               .is_dictionary = true},
    [SONDE__PART_PHASES] = {PART(13, named_phase, phases, SONDE__REPORT_NAMED_PHASES_MAX),
                            .is_dictionary = true},
    [SONDE__PART_RULES] = {PART(18, rule, rules, SONDE__REPORT_RULES_MAX), .is_dictionary = true},
    [SONDE__PART_THREADS] = {PART(6, thread, threads, SONDE__REPORT_THREADS_MAX)},
    [SONDE__PART_STALLS] = {PART(7, stall, stalls, SONDE__REPORT_STALLS_MAX)},
    [SONDE__PART_CALLS] = {PART(10, call, calls, SONDE__REPORT_CALLS_MAX)},
    [SONDE__PART_HEAP_BLOCKS] = {PART(11, heap_blocks, heap_blocks, SONDE__REPORT_HEAP_BLOCKS_MAX)},
    [SONDE__PART_SAMPLES] = {PART(14, sample, samples, SONDE__REPORT_LOOSE_SAMPLES_MAX)},
    [SONDE__PART_WAITS] = {PART(16, wait, waits, SONDE__REPORT_WAITS_MAX)},
    [SONDE__PART_STALL_COUNTS] = {PART(17, stall_count, stall_counts,
                                       SONDE__REPORT_STALL_COUNTS_MAX)},
    [SONDE__PART_TASKS] = {PART(20, tasks, tasks, SONDE__REPORT_TASKS_MAX)},
};
