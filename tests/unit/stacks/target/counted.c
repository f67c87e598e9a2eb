// SPDX-License-Identifier: Apache-2.0
#include "counted.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_process.h"
#include "os.h"
#include "test.h"

enum { FRAMES = 64 };

struct shared *shared;
pid_t program;

static void ignore(int signal)
{
    (void)signal;
}

static void wait_in_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        while (!atomic_load(&shared->vfork_over)) {
            usleep(LOOK_US);
        }
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void obey(unsigned i)
{
    sigset_t set;
    switch ((enum order)atomic_load(&shared->order[i])) {
    case COUNT:
        break;
    case VFORK:
        wait_in_vfork();
        break;
    case EXIT_THREAD:
        pthread_exit(NULL);
    case EXIT_PROCESS:
        _exit(7);
    case EXEC:
        execl("/bin/sleep", "sleep", "0", (char *)NULL);
        _exit(127);
    case BLOCK_SIGNAL:
        sigemptyset(&set);
        sigaddset(&set, SIGURG);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        break;
    case TAKE_SIGNAL:
        signal(SIGURG, ignore);
        break;
    case REST:
        pause();
        break;
    case NAP:
        for (volatile int n = 0; n < 100000; n++) {
        }
        usleep(20);
        return;
    }
    atomic_store(&shared->order[i], COUNT);
}

static void *count(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    atomic_store(&shared->tid[i], sonde__os_tid());
    for (;;) {
        atomic_fetch_add(&shared->turns[i], 1);
        if (atomic_load(&shared->order[i]) != COUNT) {
            obey(i);
        }
    }
    return NULL;
}

static void on_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&shared->signals, 1);
}

/* As the probe has it. */
static void answer(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    while (atomic_load(&shared->hold)) {
    }
    sonde__probe_sample_answer(&shared->sample, shared->asker, info, context);
}

static void run_program(void)
{
    const struct sigaction probe = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, on_signal);
    sigaction(SIGURG, &probe, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, count, (void *)i);
    }
    for (;;) {
        pause();
    }
}

void start_program(void)
{
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        SKIP("under an emulator no thread can be captured");
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    shared->asker = getpid();
    shared->sample.handler = SONDE__PROBE_HANDLER_SET;
    program = fork();
    if (program == 0) {
        run_program();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->turns[i]) == 0; n++) {
            usleep(LOOK_US);
        }
    }
}

void end_program(void)
{
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    munmap(shared, sizeof *shared);
}

void order(uint64_t tid, enum order what)
{
    for (unsigned i = 0; i < THREADS; i++) {
        if (shared->tid[i] == tid) {
            atomic_store(&shared->order[i], what);
        }
    }
}

char letter_of(uint64_t tid)
{
    struct sonde__host_thread now = {.letter = '?'};
    (void)!sonde__host_thread_read(program, tid, &now);
    return now.letter;
}

bool await_letter(uint64_t tid, char letter)
{
    for (unsigned n = 0; n < LOOKS_MAX; n++) {
        if (letter_of(tid) == letter) {
            return true;
        }
        usleep(LOOK_US);
    }
    return false;
}

int32_t tracer_of(uint64_t tid)
{
    struct sonde__host_process process = {0};
    return sonde__host_process_read((int32_t)tid, &process, NULL) == SONDE_OK ? process.tracer : 0;
}

void check_goes_on(unsigned i)
{
    uint64_t before = atomic_load(&shared->turns[i]);
    for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->turns[i]) < before + 3; n++) {
        if (letter_of(shared->tid[i]) == 't' && n > 2000) {
            FAIL("thread %u is left stopped", i);
        }
        usleep(LOOK_US);
    }
    CHECK(atomic_load(&shared->turns[i]) >= before + 3);
    CHECK_EQ(tracer_of(shared->tid[i]), 0);
}

struct sonde__target *open_program(enum sonde__target_mode mode, uint32_t ways)
{
    const struct sonde__target_options options = {
        .mode = mode,
        .restricted = true,
        .ways = ways,
        .sample = (ways & SONDE__TARGET_BY_SIGNAL) != 0 ? &shared->sample : NULL};
    struct sonde__target *target;
    struct sonde_error error;
    CHECK_OK(sonde__target_open_process(program, &options, &target, &error));
    return target;
}

struct sonde__capture capture(struct sonde__target *target, unsigned i)
{
    const struct sonde__thread thread = {.tid = shared->tid[i]};
    struct sonde__capture captured;
    struct sonde_stack stack;
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    sonde__target_capture(target, &thread, &stack, &captured);
    return captured;
}

struct sonde__capture capture_running(struct sonde__target *target, unsigned i)
{
    struct sonde__capture captured;
    do {
        captured = capture(target, i);
    } while (strstr(captured.note, "had no CPU") != NULL ||
             strstr(captured.note, "each of 12 times") != NULL);
    return captured;
}
