// SPDX-License-Identifier: Apache-2.0
/* A report with a value in every field of the schema that the samples of sample.c leave empty. */
#include <string.h>

#include "sample.h"
#include "test.h"

enum { PYTHON = 1, TASKS_MAIN = 4711, HELPER = 4712 };

static void set_header(struct sonde__report *r)
{
    static const struct sonde__report_tag tags[] = {{"tester", "kim"}, {"case", "login; 2"}};
    const struct sonde__report_header header = {
        .kind = SONDE__REPORT_AUDIT,
        .tool = "sonde 0.1.0",
        .executable = "/opt/app/server",
        .os = "Linux 6.1.0",
        .arch = "x86_64",
        .source = "run",
        .time_unix_ns = 1700000000123456789u,
        .pid = TASKS_MAIN,
        .pause_ns = 3000000,
        .report_id = "00112233445566778899aabbccddeeff",
        .build = "1.4.2-rc1",
        .device = {.id = "bench-7",
                   .model = "Board X",
                   .os = "Debian GNU/Linux 12 (bookworm)",
                   .kernel = "6.1.0-13-amd64",
                   .cpu = "Example CPU",
                   .cpu_count = 8,
                   .memory_bytes = 17179869184u},
        .tags = tags,
        .tag_count = 2,
    };
    sonde__report_set_header(r, &header);
}

static uint32_t add_image(struct sonde__report *r, const char *path, uint32_t flags,
                          uint32_t platform)
{
    const struct sonde__report_image image = {.path = sonde__report_string(r, path),
                                              .build_id = {4, {1, 0xbe, 0xef, 0}},
                                              .flags = flags,
                                              .platform = platform,
                                              .code_id = 0x1122334455667788};
    return sonde__report_add_image(r, &image);
}

static uint32_t push_script(struct sonde__report *r, const struct sonde__report_node *at,
                            const char *function, const char *file, uint32_t line)
{
    const struct sonde__report_frame frame = {.kind = SONDE__REPORT_FRAME_SCRIPT,
                                              .language = sonde__report_string(r, "Python"),
                                              .name = sonde__report_string(r, function),
                                              .file = sonde__report_string(r, file),
                                              .line = line};
    struct sonde__report_node node = *at;
    node.frame = sonde__report_add_frame(r, &frame);
    return sonde__report_add_node_value(r, &node);
}

/* save() runs in the task "save-1", which accept() created and main() awaits; all are in the file
 * of the program. */
static uint32_t push_scripts(struct sonde__report *r, uint32_t python, uint32_t libc)
{
    const struct sonde__report_frame accept = {.kind = SONDE__REPORT_FRAME_SCRIPT,
                                               .language = sonde__report_string(r, "Python"),
                                               .name = sonde__report_string(r, "accept"),
                                               .file = sonde__report_string(r, "/opt/app/app.py"),
                                               .line = 40};
    uint32_t main_ = push_script(r, &(struct sonde__report_node){0}, "main", "/opt/app/app.py", 90);
    uint32_t node = sample_push(r, 0, python, "_start", 0x21a0a1, SONDE_FOUND_CFI);
    node = sample_push(r, node, python, "_PyEval_EvalFrameDefault", 0x1d64b4, SONDE_FOUND_CFI);
    node = push_script(r, &(struct sonde__report_node){.parent = node}, "Loop.run_once",
                       "/usr/lib/python3.11/asyncio/base_events.py", 1922);
    node = push_script(r,
                       &(struct sonde__report_node){.parent = node,
                                                    .awaiter = main_,
                                                    .task = sonde__report_string(r, "save-1"),
                                                    .creator = sonde__report_add_frame(r, &accept)},
                       "Session.save", "/opt/app/session.py", 88);
    return sample_push(r, node, libc, "fsync", 0x10e6ba, SONDE_HOW_EXACT);
}

static void add_dictionaries(struct sonde__report *r)
{
    const struct sonde__report_process processes[] = {
        {.pid = TASKS_MAIN,
         .parent_pid = 4000,
         .executable = sonde__report_string(r, "/opt/app/server"),
         .start_ticks = 123456},
        {.pid = 4800,
         .parent = 1,
         .parent_pid = TASKS_MAIN,
         .executable = sonde__report_string(r, "/usr/bin/git")},
    };
    const struct sonde__report_named_phase phases[] = {
        {.name = sonde__report_string(r, "start"), .consent = SONDE__REPORT_CONSENT_BEFORE},
        {.name = sonde__report_string(r, "signed in"),
         .begin_ns = 2000000000,
         .consent = SONDE__REPORT_CONSENT_GIVEN,
         .process = 1},
    };
    const struct sonde__report_rule rule = {
        .name = sonde__report_string(r, "ssh-key-read"),
        .pack = sonde__report_string(r, "linux-secrets"),
        .category = sonde__report_string(r, "secret"),
        .severity = SONDE__REPORT_SEVERITY_ERROR,
        .text = sonde__report_string(r, "reads a private key"),
        .limit_count = 1,
        .limit_ns = 2000000000,
        .over_first_ns = 2500000000,
        .over_last_ns = 3500000000,
    };
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ(sonde__report_add_process(r, &processes[i]), i + 1);
        CHECK_EQ(sonde__report_add_phase(r, &phases[i]), i + 1);
    }
    CHECK_EQ(sonde__report_add_rule(r, &rule), 1);
}

static void add_stall(struct sonde__report *r, uint32_t stack)
{
    const struct sonde__report_sample sample = {.time_ns = 50000000,
                                                .weight_ns = 350000000,
                                                .stack = stack,
                                                .script_stack = 1,
                                                .phase = SONDE__REPORT_PHASE_DISK,
                                                .syscall = 74 + 1};
    const struct sonde__report_uncovered uncovered[] = {
        {.duration_ns = 50000000,
         .reason = SONDE__REPORT_UNCOVERED_BEFORE,
         .cpu_ns = 40000000,
         .runqueue_ns = 1000000,
         .detail = sonde__report_string(r, "folio_wait_bit")},
        {.time_ns = 400000000, .duration_ns = 20000000, .reason = SONDE__REPORT_UNCOVERED_LATE},
    };
    const struct sonde__report_wait waits[] = {
        {.tid = TASKS_MAIN,
         .process = 1,
         .kind = SONDE__REPORT_WAIT_MUTEX,
         .resource = sonde__report_string(r, "mutex 0x7f0000001000"),
         .owner_tid = HELPER,
         .owner_process = 1},
        {.tid = HELPER,
         .process = 1,
         .kind = SONDE__REPORT_WAIT_SOCKET,
         .resource = sonde__report_string(r, "fd 7 socket:[12]"),
         .peer = sonde__report_string(r, "127.0.0.1:5432")},
    };
    const struct sonde__report_annotation annotations[] = {
        {sonde__report_string(r, "document"), sonde__report_string(r, "annual report.odt")},
        {sonde__report_string(r, "plugins"), sonde__report_string(r, "spell, sync")},
    };
    sonde__report_add_stall(
        r, &(struct sonde__report_stall){
               .begin_ns = 1500000000,
               .annotations = annotations,
               .annotation_count = 2,
               .duration_ns = 420000000,
               .tid = TASKS_MAIN,
               .main = true,
               .loop = SONDE__REPORT_LOOP_RUN_LOOP,
               .loop_turns = 42,
               .samples = &sample,
               .sample_count = 1,
               .process = 1,
               .fingerprint = sonde__report_string(r, "1:00000000000000000000000000000001"),
               .uncovered = uncovered,
               .uncovered_count = 2,
               .waits = waits,
               .wait_count = 2,
               .phase = 1,
               .kind = SONDE__REPORT_STALL_LAUNCH,
               .fatal = true,
               .open = true,
               .samples_early = 1,
               .loop_phase = sonde__report_string(r, "before sources"),
               .mode = sonde__report_string(r, "kCFRunLoopDefaultMode"),
               .app_state = 3,
               .load = {.measured_ns = 400000000,
                        .minor_faults = 120,
                        .major_faults = 3,
                        .has_pressure = true,
                        .cpu_pressure_ns = 372000000,
                        .memory_pressure_ns = 1000000,
                        .io_pressure_ns = 48000000},
           });
}

static void add_findings(struct sonde__report *r, uint32_t stack)
{
    sonde__report_add_call(r, &(struct sonde__report_call){
                                  .function = sonde__report_string(r, "open"),
                                  .missed = sonde__report_string(r, "direct calls in libc.so.6")});
    const struct sonde__report_argument arguments[] = {
        {.position = 1,
         .value = sonde__report_string(r, "~/.ssh/id_ed25519"),
         .count = 2,
         .name = sonde__report_string(r, "path")},
        {.position = 1, .count = 1, .name = sonde__report_string(r, "path")},
        {.position = 0, .value = sonde__report_string(r, "-1"), .count = 1},
    };
    sonde__report_add_call(
        r, &(struct sonde__report_call){
               .function = sonde__report_string(r, "open"),
               .stack = stack,
               .count = 3,
               .rule = 1,
               .process = 2,
               .phase = 2,
               .first_ns = 2100000000,
               .last_ns = 2900000000,
               .tid = 4800,
               .over_limit = 2,
               .sdk = sonde__report_string(r, "analytics"),
               .arguments = arguments,
               .argument_count = 3,
               .fingerprint = sonde__report_string(r, "1:00000000000000000000000000000002"),
               .threads = SONDE__REPORT_LATER_THREADS | 5,
           });
}

struct sonde__report *sample_all(void)
{
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    set_header(r);
    uint32_t python =
        add_image(r, "/usr/bin/python3.11", SONDE__IMAGE_MAIN | SONDE__REPORT_IMAGE_SYSTEM,
                  SONDE__REPORT_PLATFORM_LINUX);
    uint32_t libc = add_image(r, "/opt/own/libc.so.6", SONDE__REPORT_IMAGE_SYSTEM, 2);
    add_dictionaries(r);
    uint32_t stack = push_scripts(r, python, libc);
    add_stall(r, stack);
    add_findings(r, stack);
    sonde__report_add_thread(r, &(struct sonde__report_thread){
                                    .tid = 0x100000000000001,
                                    .state = 'S',
                                    .stack = stack,
                                    .captured_by = 1,
                                    .process = 2,
                                    .pause_ns = 1000,
                                    .qos = 1,
                                    .queue = sonde__report_string(r, "com.example.queue"),
                                    .script_stack = 1,
                                });
    sonde__report_add_sample(r, &(struct sonde__report_sample){.time_ns = 7000000000,
                                                               .weight_ns = 10000000,
                                                               .stack = stack,
                                                               .phase = SONDE__REPORT_PHASE_RUNNING,
                                                               .tid = TASKS_MAIN,
                                                               .process = 1});
    sonde__report_add_tasks(
        r, &(struct sonde__report_tasks){.tid = 4801, .process = 2, .stack = 1, .count = 3000});
    sonde__report_add_tasks(
        r, &(struct sonde__report_tasks){.tid = 4801, .process = 2, .stack = 1, .count = 1});
    sonde__report_add_wait(
        r, &(struct sonde__report_wait){
               .tid = 4800, .process = 2, .kind = SONDE__REPORT_WAIT_CHILD, .owner_process = 2});
    sonde__report_add_stall_count(
        r, &(struct sonde__report_stall_count){
               .fingerprint = sonde__report_string(r, "1:00000000000000000000000000000001"),
               .count = 119,
               .total_ns = 48000000000,
               .longest_ns = 650000000,
               .first_ns = 1000000000,
               .last_ns = 90000000000});
    sonde__report_set_end(
        r, &(struct sonde__report_end){
               .turn_counts = (const struct sonde__report_turn_count[]){{31250000, 62500000, 12},
                                                                        {16000000000, 0, 1}},
               .turn_count_count = 2,
               .frame_ns = 16666666,
               .frames_dropped = 37,
               .stall_count = 120,
               .lost_records = 5,
               .watched_ns = 99000000000,
               .overhead_ns = 77});
    CHECK_EQ(sonde__report_lost_records(r), 0);
    return r;
}
