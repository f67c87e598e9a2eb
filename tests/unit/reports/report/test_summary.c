// SPDX-License-Identifier: Apache-2.0
/* A stall in one sentence, word by word. */
#include <stdio.h>
#include <stdlib.h>

#include "report_load.h"
#include "report_summary.h"
#include "sample.h"
#include "test.h"

#define MS 1000000ull

enum { READ = 0, WAIT4 = 61, FSYNC = 74, FUTEX = 202, PID = 4711, HELPER = 4712 };

struct scene {
    struct sonde__report *r;
    uint32_t app, libc;
    struct sonde__report_sample samples[8];
    struct sonde__report_wait waits[4];
    struct sonde__report_stall stall;
    uint64_t at_ns;
};

static struct scene make(uint64_t duration_ms)
{
    struct scene s = {0};
    const struct sonde__report_header header = {
        .kind = SONDE__REPORT_WATCH, .arch = "x86_64", .pid = PID, .device = {.cpu_count = 2}};
    CHECK_OK(sonde__report_create(&s.r));
    sonde__report_set_header(s.r, &header);
    const struct sonde__report_image app = {.path = sonde__report_string(s.r, "/opt/app/server"),
                                            .flags = SONDE__IMAGE_MAIN};
    const struct sonde__report_image libc = {
        .path = sonde__report_string(s.r, "/usr/lib/x86_64-linux-gnu/libc.so.6")};
    s.app = sonde__report_add_image(s.r, &app);
    s.libc = sonde__report_add_image(s.r, &libc);
    s.stall = (struct sonde__report_stall){.tid = PID,
                                           .main = true,
                                           .duration_ns = duration_ms * MS,
                                           .thread_name = sonde__report_string(s.r, "server")};
    return s;
}

/* A function of the program, called by main. */
static uint32_t under(struct scene *s, const char *name, const char *file, uint32_t line)
{
    uint32_t node = sample_push(s->r, 0, s->app, "main", 0x1000, SONDE_FOUND_CFI);
    struct sonde__report_frame frame = {.image = s->app,
                                        .offset = 0x2000 + line,
                                        .how = SONDE_FOUND_CFI,
                                        .name = sonde__report_string(s->r, name),
                                        .file =
                                            *file != '\0' ? sonde__report_string(s->r, file) : 0,
                                        .line = line};
    return sonde__report_add_node(s->r, node, sonde__report_add_frame(s->r, &frame));
}

static void add(struct scene *s, uint64_t ms, uint32_t phase, int64_t call, const char *detail,
                uint32_t caller)
{
    uint32_t stack = caller;
    if (call >= 0) {
        stack = sample_push(s->r, caller, s->libc, "syscall", 0x300, SONDE_HOW_EXACT);
    }
    s->samples[s->stall.sample_count++] = (struct sonde__report_sample){
        .time_ns = s->at_ns,
        .weight_ns = ms * MS,
        .phase = phase,
        .syscall = call + 1,
        .detail = *detail != '\0' ? sonde__report_string(s->r, detail) : 0,
        .stack = stack};
    s->at_ns += ms * MS;
}

static void blocks(struct scene *s, uint64_t ms, int64_t call, const char *detail, uint32_t caller)
{
    add(s, ms, SONDE__REPORT_PHASE_BLOCKED, call, detail, caller);
}

static void runs(struct scene *s, uint64_t ms, uint32_t stack)
{
    add(s, ms, SONDE__REPORT_PHASE_RUNNING, -1, "", stack);
}

static void waits(struct scene *s, uint32_t kind, const char *resource, int64_t owner)
{
    s->waits[s->stall.wait_count++] =
        (struct sonde__report_wait){.tid = PID,
                                    .kind = kind,
                                    .resource = sonde__report_string(s->r, resource),
                                    .owner_tid = owner};
}

/* Ends the scene. */
static void check(struct scene *s, const char *expected)
{
    struct sonde__report_analysis a = {0};
    char text[512];
    s->stall.samples = s->samples;
    s->stall.waits = s->waits;
    CHECK_OK(sonde__report_analyse(s->r, &s->stall, &a));
    sonde__report_summary_text(s->r, &s->stall, &a, text, sizeof text);
    CHECK_STR(text, expected);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(s->r);
}

TEST(summary_of_one_call)
{
    struct scene s = make(1200);
    s.stall.cpu_ns = 10 * MS;
    blocks(&s, 1190, FSYNC, "fd 7 /data/app.db", under(&s, "save_session", "/src/session.c", 88));
    check(&s, "main blocked 1.20 s in fsync (fd 7 /data/app.db) under save_session (session.c:88)");
    s = make(1200); /* nothing but the thread is known of an old report */
    blocks(&s, 1200, READ, "", under(&s, "load", "", 0));
    s.stall.main = false;
    check(&s, "thread 4711 \"server\" blocked 1.20 s in read under load");
}

TEST(summary_of_a_call_that_is_a_part)
{
    struct scene s = make(1000);
    s.stall.cpu_ns = 200 * MS;
    uint32_t save = under(&s, "save", "/src/a.c", 5);
    runs(&s, 200, save);
    blocks(&s, 500, FSYNC, "fd 7 /data/a", save);
    blocks(&s, 300, FSYNC, "fd 8 /data/b", under(&s, "other", "/src/a.c", 9));
    check(&s, "main blocked 800 ms of 1.00 s, 500 ms of it in fsync (fd 7 /data/a) under save "
              "(a.c:5)");
    s = make(1000);
    save = under(&s, "save", "/src/a.c", 5);
    blocks(&s, 400, FSYNC, "fd 7 /data/a", save);
    blocks(&s, 300, FSYNC, "fd 8 /data/b", save);
    blocks(&s, 300, READ, "fd 8 /data/b", save);
    check(&s, "main blocked 1.00 s in several calls under save (a.c:5)");
}

TEST(summary_of_a_disk)
{
    struct scene s = make(500);
    add(&s, 500, SONDE__REPORT_PHASE_DISK, READ, "fd 3 /mnt/x", under(&s, "f", "", 0));
    check(&s, "main blocked uninterruptibly 500 ms in read (fd 3 /mnt/x) under f");
}

TEST(summary_of_running)
{
    struct scene s = make(1000);
    s.stall.cpu_ns = 900 * MS;
    runs(&s, 400, under(&s, "crunch", "/src/w.c", 10));
    runs(&s, 300, under(&s, "crunch", "/src/w.c", 11));
    runs(&s, 300, under(&s, "crunch", "/src/w.c", 12));
    check(&s, "main ran 900 ms of 1.00 s under crunch (w.c)");
    s = make(1000);
    s.stall.cpu_ns = 1000 * MS;
    runs(&s, 600, under(&s, "one", "/src/w.c", 10));
    runs(&s, 400, under(&s, "two", "/src/w.c", 20));
    check(&s, "main ran 1.00 s, mostly under one (w.c:10)");
    s = make(1000);
    s.stall.cpu_ns = 1000 * MS;
    runs(&s, 500, under(&s, "one", "/src/w.c", 10));
    runs(&s, 500, under(&s, "two", "/src/w.c", 20));
    check(&s, "main ran 1.00 s");
}

/* Functions around a system call, from the outer one to the inner one; all are in one image. */
static uint32_t push_all(struct scene *s, uint32_t image, const char *const *names)
{
    uint32_t node = 0;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        node = sample_push(s->r, node, image, names[i], 0x2000 + 0x100 * i, SONDE_FOUND_CFI);
    }
    return node;
}

/* The names are those of glibc 2.36 and musl 1.2.3, in programs that are linked statically. */
TEST(summary_of_a_call_by_libc_in_the_programs_image)
{
    static const struct {
        const char *names[8];
        const char *where;
    } cases[] = {
        {{"main", "nap", "usleep", "nanosleep", "clock_nanosleep"}, " under nap"},
        {{"main", "nap", "usleep", "nanosleep", "clock_nanosleep", "__syscall_cp_c"}, " under nap"},
        {{"main", "take", "pthread_mutex_lock", "__lll_lock_wait"}, " under take"},
        {{"main", "take", "__new_sem_wait_slow64.constprop.0", "__futex_abstimed_wait_common"},
         " under take"},
        {{"main", "ask", "fgets", "_IO_getline_info", "_IO_default_uflow", "_IO_new_file_underflow",
          "read"},
         " under ask"},
        {{"main", "run", "do_system", "wait4"}, " under run"},
        {{"main", "nap", "my_futex"}, " under my_futex"},
        {{"main", "_ZN3app4waitEv"}, " under _ZN3app4waitEv"},
        {{"select"}, " under select"}, /* nothing else is known */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s = make(1000);
        char expected[64];
        add(&s, 1000, SONDE__REPORT_PHASE_BLOCKED, -1, "", push_all(&s, s.app, cases[i].names));
        s.samples[0].syscall = FUTEX + 1;
        snprintf(expected, sizeof expected, "main blocked 1.00 s in futex%s", cases[i].where);
        check(&s, expected);
    }
}

/* Only the functions that made the call. The same names mean nothing in a program with a shared
 * libc, nor of a thread that runs. */
TEST(names_of_libc_are_the_programs_elsewhere)
{
    static const char *const names[] = {"main", "flush", "send", NULL};
    struct scene s = make(1000);
    blocks(&s, 1000, FUTEX, "", push_all(&s, s.app, names));
    check(&s, "main blocked 1.00 s in futex under send");
    s = make(1000);
    s.stall.cpu_ns = 1000 * MS;
    runs(&s, 1000, push_all(&s, s.app, names));
    check(&s, "main ran 1.00 s under send");
}

TEST(the_heaviest_function_is_not_libcs)
{
    static const char *const names[] = {"main", "nap", "nanosleep", "clock_nanosleep", NULL};
    struct scene s = make(1000);
    struct sonde__report_analysis a = {0};
    add(&s, 1000, SONDE__REPORT_PHASE_BLOCKED, -1, "", push_all(&s, s.app, names));
    s.stall.samples = s.samples;
    for (int64_t call = 0; call <= 1; call++) {
        s.samples[0].syscall = call;
        CHECK_OK(sonde__report_analyse(s.r, &s.stall, &a));
        const struct sonde__report_frame *frame = sonde__report_frame(s.r, a.heaviest_app.frame);
        CHECK_STR(sonde__report_text(s.r, frame->name), call != 0 ? "nap" : "clock_nanosleep");
        sonde__report_analysis_done(&a);
    }
    sonde__report_destroy(s.r);
}

/* What the system's own code does is not the program's. */
TEST(summary_without_a_function_of_the_program)
{
    struct scene s = make(1000);
    s.stall.cpu_ns = 1000 * MS;
    runs(&s, 1000, sample_push(s.r, 0, s.libc, "qsort", 0x300, SONDE_FOUND_CFI));
    check(&s, "main ran 1.00 s");
}

TEST(summary_of_a_thread_without_a_processor)
{
    struct scene s = make(1000);
    s.stall.cpu_ns = 100 * MS;
    s.stall.runqueue_ns = 800 * MS;
    runs(&s, 1000, under(&s, "crunch", "/src/w.c", 10));
    check(&s, "main waited 800 ms of 1.00 s for a processor under crunch (w.c:10); processors were "
              "short");
    s = make(1000);
    s.stall.cpu_ns = 400 * MS;
    s.stall.runqueue_ns = 200 * MS;
    runs(&s, 600, under(&s, "one", "/src/w.c", 10));
    blocks(&s, 400, FSYNC, "", under(&s, "two", "/src/w.c", 20));
    check(&s, "main was away from its loop for 1.00 s: ran 400 ms, waited for a processor 200 ms, "
              "blocked 400 ms, mostly under one (w.c:10)");
    s = make(1000);
    s.stall.load = (struct sonde__report_load){
        .measured_ns = 900 * MS, .has_pressure = true, .cpu_pressure_ns = 500 * MS};
    blocks(&s, 1000, FSYNC, "", under(&s, "save", "", 0));
    CHECK(!sonde__report_is_congested(&s.stall)); /* it needs no processor */
    check(&s, "main blocked 1.00 s in fsync under save");
    s = make(1000);
    s.stall.cpu_ns = 900 * MS;
    s.stall.load = (struct sonde__report_load){
        .measured_ns = 900 * MS, .has_pressure = true, .cpu_pressure_ns = 500 * MS};
    runs(&s, 1000, under(&s, "f", "", 0));
    check(&s, "main ran 900 ms of 1.00 s under f; processors were short");
    s = make(1000);
    s.stall.cpu_ns = 900 * MS;
    s.stall.load = (struct sonde__report_load){
        .measured_ns = 900 * MS, .has_pressure = true, .cpu_pressure_ns = 300 * MS};
    runs(&s, 1000, under(&s, "f", "", 0));
    check(&s, "main ran 900 ms of 1.00 s under f");
}

TEST(summary_of_a_lock)
{
    struct scene s = make(1000);
    blocks(&s, 1000, FUTEX, "futex 0x7f0000001000", under(&s, "push", "", 0));
    waits(&s, SONDE__REPORT_WAIT_MUTEX, "mutex 0x7f0000001000", HELPER);
    check(&s,
          "main blocked 1.00 s in futex (mutex 0x7f0000001000, held by thread 4712) under push");
    s = make(1000); /* another lock */
    blocks(&s, 900, FUTEX, "futex 0x7f0000002000", under(&s, "push", "", 0));
    blocks(&s, 100, FUTEX, "futex 0x7f0000001000", under(&s, "push", "", 0));
    waits(&s, SONDE__REPORT_WAIT_MUTEX, "mutex 0x7f0000001000", HELPER);
    check(&s, "main blocked 1.00 s, 900 ms of it in futex (futex 0x7f0000002000) under push");
    s = make(1000); /* one of two children */
    blocks(&s, 1000, WAIT4, "a child", under(&s, "spawn", "", 0));
    waits(&s, SONDE__REPORT_WAIT_CHILD, "process 5 (sort)", 0);
    waits(&s, SONDE__REPORT_WAIT_CHILD, "process 6 (grep)", 0);
    check(&s, "main blocked 1.00 s in wait4 (a child) under spawn");
}

/* The call's own text has only a number; the wait was looked up. */
TEST(summary_of_a_socket)
{
    static const char *const peer = "fd 7 tcp 10.0.0.5:4000 to 10.0.0.9:5432";
    struct scene s = make(1000);
    blocks(&s, 1000, READ, "fd 7 socket:[123]", under(&s, "query", "", 0));
    waits(&s, SONDE__REPORT_WAIT_SOCKET, peer, 0);
    check(&s, "main blocked 1.00 s in read (fd 7 tcp 10.0.0.5:4000 to 10.0.0.9:5432) under query");
    s = make(1000); /* of another descriptor, whose number begins alike */
    blocks(&s, 1000, READ, "fd 77 socket:[123]", under(&s, "query", "", 0));
    waits(&s, SONDE__REPORT_WAIT_SOCKET, peer, 0);
    check(&s, "main blocked 1.00 s in read (fd 77 socket:[123]) under query");
    s = make(1000); /* the number was used for two sockets */
    blocks(&s, 100, READ, "fd 7 socket:[122]", under(&s, "query", "", 0));
    blocks(&s, 900, READ, "fd 7 socket:[123]", under(&s, "query", "", 0));
    waits(&s, SONDE__REPORT_WAIT_SOCKET, peer, 0);
    check(&s, "main blocked 1.00 s, 900 ms of it in read (fd 7 socket:[123]) under query");
    s = make(1000);
    blocks(&s, 1000, READ, "fd 3 pipe:[9]", under(&s, "load", "", 0));
    waits(&s, SONDE__REPORT_WAIT_PIPE, "fd 3 pipe:[9]", HELPER);
    check(&s, "main blocked 1.00 s in read (fd 3 pipe:[9], of thread 4712) under load");
}

TEST(summary_of_what_was_not_sampled)
{
    struct scene s = make(1000);
    s.stall.cpu_ns = 700 * MS;
    runs(&s, 100, under(&s, "one", "/src/w.c", 10));
    check(&s, "main ran 700 ms of 1.00 s; no sample covers 900 ms of 1.00 s");
    s = make(1000);
    check(&s, "main was away from its loop for 1.00 s; no sample covers 1.00 s");
    s = make(1000);
    s.stall.kind = SONDE__REPORT_STALL_LAUNCH;
    s.stall.cpu_ns = 1;
    check(&s, "at launch, main blocked 1.00 s; no sample covers 1.00 s");
}

/* A file may say anything. */
TEST(summary_of_weights_without_sense)
{
    struct scene s = make(1);
    uint32_t f = under(&s, "f", "", 0);
    blocks(&s, UINT64_MAX / MS, FSYNC, "", f);
    blocks(&s, UINT64_MAX / MS, READ, "", f);
    s.stall.duration_ns = 0;
    s.stall.cpu_ns = s.stall.runqueue_ns = UINT64_MAX;
    struct sonde__report_analysis a = {0};
    char text[64];
    s.stall.samples = s.samples;
    CHECK_OK(sonde__report_analyse(s.r, &s.stall, &a));
    sonde__report_summary_text(s.r, &s.stall, &a, text, sizeof text);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(s.r);
}

TEST(runnable_threads_are_the_programs)
{
    struct scene s = make(1000);
    const struct sonde__report_process other = {.pid = 4800};
    uint32_t child = sonde__report_add_process(s.r, &other);
    const struct sonde__report_thread threads[] = {{.tid = 1, .state = 'R'},
                                                   {.tid = 2, .state = 'S'},
                                                   {.tid = 3, .state = 'R'},
                                                   {.tid = 4, .state = 'R', .process = child}};
    s.stall.threads = threads;
    s.stall.thread_count = 4;
    CHECK_EQ(sonde__report_runnable(s.r, &s.stall), 2);
    s.stall.cpu_ns = 900 * MS;
    CHECK_EQ(sonde__report_runnable(s.r, &s.stall), 3);
    sonde__report_destroy(s.r);
}
