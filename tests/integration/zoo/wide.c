// SPDX-License-Identifier: Apache-2.0
#include "wide.h"

#include "wide_victim.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS 1000000ll

/* A planned lead of a tenth may be this much less by the program's stamps. */
enum { NEAR_MS = 120, ERROR_MS = 10, ERROR_PERCENT = 2, ROUNDED_US = 500 };

struct truth {
    int64_t wall_ns;              /* the begin of the turn */
    int64_t injected_us, turn_us; /* of the stall; of the turn around it */
    char longest[32];
    unsigned phases;
    bool led; /* the longest phase leads by a tenth: on a loaded machine it may not */
    bool found;
};

struct truths {
    struct truth at[WIDE_STALLS];
    unsigned count;
    int64_t tid; /* of the thread that stalls */
    bool done;
};

bool wide_is_here(const struct wide_program *what)
{
    return what->needs[0] == '/' ? access(what->needs, R_OK) == 0 : program_on_path(what->needs);
}

static void fill(char *ret, size_t capacity, const char *text, const char *folder, int port)
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < capacity; text++) {
        const char *zoo = program_source("zoo");
        if (text[0] == '%' && strchr("FPS", text[1]) != NULL && text[1] != '\0') {
            n += text[1] == 'P'
                     ? (size_t)snprintf(ret + n, capacity - n, "%d", port)
                     : (size_t)snprintf(ret + n, capacity - n, "%s", text[1] == 'F' ? folder : zoo);
            text++;
        } else {
            ret[n++] = *text;
        }
    }
    ret[n < capacity ? n : capacity - 1] = '\0';
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

/* Files of the program, and its words behind argv. */
static size_t prepare(const struct wide_run *run, const char **argv)
{
    static char words[WIDE_WORDS][1024], config[4096];
    const struct wide_program *what = run->what;
    int port = program_free_port();
    size_t n = 0;
    mkdir(run->folder, 0755);
    write_text(run->folder, "log", "");
    if (what->config != NULL) {
        fill(config, sizeof config, what->config, run->folder, port);
        write_text(run->folder, "config", config);
    }
    for (; n < WIDE_WORDS && what->argv[n] != NULL; n++) {
        fill(words[n], sizeof words[n], what->argv[n], run->folder, port);
        argv[n] = words[n];
    }
    return n;
}

struct wide_run wide_start(const struct wide_program *what, const struct wide_plan *plan)
{
    static char preload[512], intruder[512], stall[32], report[256];
    static unsigned number;
    struct wide_run run = {.what = what, .runs = true, .asked = plan->stalls > 0};
    snprintf(run.folder, sizeof run.folder, "%s/%u", test_folder(), number++);
    snprintf(preload, sizeof preload, "%s=%s", plan->stalls > 0 ? "LD_PRELOAD" : "ZOO_IDLE",
             program_built("zoo/libzoo_intruder.so"));
    snprintf(intruder, sizeof intruder, "ZOO_INTRUDER=%s/log %u %u %u %u %u", run.folder,
             plan->seed + number * 977, plan->stalls, plan->min_ms, plan->max_ms, plan->phases);
    snprintf(stall, sizeof stall, "--stall=%ums", plan->threshold_ms);
    snprintf(report, sizeof report, "--report=%s/report", run.folder);
    /* GTK would start a bus and leave it */
    const char *argv[WIDE_WORDS + 12] = {"env",
                                         "NO_AT_BRIDGE=1",
                                         "DBUS_SESSION_BUS_ADDRESS=disabled:",
                                         preload,
                                         intruder,
                                         program_sonde(),
                                         "run",
                                         "--equal=0",
                                         stall,
                                         report,
                                         "--"};
    argv[11 + prepare(&run, argv + 11)] = NULL;
    run.program = program_start(argv);
    return run;
}

static void read_truths(const struct wide_run *run, struct truths *truths)
{
    char path[256];
    snprintf(path, sizeof path, "%s/log", run->folder);
    char *text = test_read_file(path, NULL);
    memset(truths, 0, sizeof *truths);
    for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct truth *t = &truths->at[truths->count];
        long long wall, injected, turn;
        int used = 0;
        char name[32];
        unsigned phase_us, longest = 0, second = 0;
        truths->done = truths->done || strncmp(line, "done", 4) == 0;
        if (sscanf(line, "thread %lld", &wall) == 1) {
            truths->tid = wall;
        }
        if (truths->count < WIDE_STALLS &&
            sscanf(line, "stall %lld %lld %lld%n", &wall, &injected, &turn, &used) == 3) {
            *t = (struct truth){.wall_ns = wall, .injected_us = injected, .turn_us = turn};
            for (char *at = line + used;
                 sscanf(at, " %31s %u%n", name, &phase_us, &used) == 2 && *at != '\n'; at += used) {
                t->phases++;
                if (phase_us > longest) {
                    snprintf(t->longest, sizeof t->longest, "%s", name);
                }
                second = phase_us > longest ? longest : phase_us > second ? phase_us : second;
                longest = phase_us > longest ? phase_us : longest;
            }
            t->led = longest - second + ROUNDED_US >= second / 10;
            truths->count++;
        }
        if (strchr(line, '\n') == NULL) {
            break;
        }
    }
    free(text);
}

void wide_stop(struct wide_run *run)
{
    if (!run->runs) {
        return;
    }
    run->runs = false;
    kill(run->program.pid, SIGTERM);
    for (int i = 0; i < 400 && !program_has_ended(&run->program); i++) {
        program_pause_ms(20);
        kill(run->program.pid, i == 150 ? SIGKILL : 0);
    }
    program_pause_ms(300); /* the supervisor writes */
}

void wide_await(struct wide_run *run, unsigned timeout_s)
{
    struct truths truths = {0};
    for (unsigned i = 0; i < timeout_s * 10 && !truths.done; i++) {
        program_pause_ms(100);
        read_truths(run, &truths);
        if (program_has_ended(&run->program)) {
            break;
        }
    }
    if (!truths.done) {
        fprintf(stderr, "  %s: only %u stalls were made\n", run->what->name, truths.count);
    }
    wide_stop(run);
}

/* "2026-11-24T13:52:04.374707849Z", in nanoseconds since 1970. */
static int64_t wall_of(const char *text)
{
    long long year, month, day, hour, minute, second, nanos;
    if (sscanf(text, "%lld-%lld-%lldT%lld:%lld:%lld.%lldZ", &year, &month, &day, &hour, &minute,
               &second, &nanos) != 7) {
        FAIL("no time: %s", text);
    }
    year -= month <= 2; /* years that begin in March end with the day that some have not */
    int64_t days = year * 365 + year / 4 - year / 100 + year / 400 +
                   (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
    return ((days * 24 + hour) * 60 + minute) * 60 * 1000000000 + second * 1000000000 + nanos;
}

static struct truth *find_truth(struct truths *truths, int64_t wall_ns)
{
    struct truth *best = NULL;
    for (unsigned i = 0; i < truths->count; i++) {
        int64_t apart = llabs(truths->at[i].wall_ns - wall_ns);
        if (apart < NEAR_MS * MS && !truths->at[i].found &&
            (best == NULL || apart < llabs(best->wall_ns - wall_ns))) {
            best = &truths->at[i];
        }
    }
    return best;
}

/* Has the thread waited for the injected thread, during a stall of that one? */
static bool is_victim(const struct json *stall, int64_t begin_ns, const struct truths *truths)
{
    bool is = false;
    for (unsigned i = 0; i < truths->count; i++) {
        const struct truth *t = &truths->at[i];
        is = is || wide_is_victim(stall, truths->tid, t->wall_ns - begin_ns, t->turn_us * 1000);
    }
    return is;
}

static void compare_other(const struct json *stall, int64_t begin_ns, const struct truths *truths,
                          struct wide_counts *c)
{
    int64_t ns = json_int(stall, "duration_ns");
    bool victim = is_victim(stall, begin_ns, truths);
    bool starved = !victim && json_int(stall, "runqueue_ns") * 2 > ns;
    c->victims += victim;
    c->starved += starved;
    c->wrong += !victim && !starved;
    fprintf(stderr, "    %s: %lld ms at %lld, %s, %s\n",
            victim    ? "victim"
            : starved ? "starved"
                      : "WRONG",
            (long long)ns / 1000000, (long long)json_int(stall, "begin_ns") / 1000000,
            json_text(stall, "loop_detail"), json_text(stall, "summary"));
}

static void compare_stall(const struct json *stall, int64_t begin_ns, struct truths *truths,
                          struct wide_counts *c)
{
    bool injected = json_int(stall, "tid") == truths->tid;
    struct truth *truth =
        injected ? find_truth(truths, begin_ns + json_int(stall, "begin_ns")) : NULL;
    int64_t us = json_int(stall, "duration_ns") / 1000;
    const char *heaviest = json_text(json_get(stall, "heaviest_app_function"), "function");
    if (truth == NULL) {
        compare_other(stall, begin_ns, truths, c);
        return;
    }
    truth->found = true;
    int64_t allowed = truth->turn_us * ERROR_PERCENT / 100;
    allowed = allowed > ERROR_MS * 1000 ? allowed : ERROR_MS * 1000;
    int64_t error = us < truth->injected_us ? truth->injected_us - us
                    : us > truth->turn_us   ? us - truth->turn_us
                                            : 0;
    c->found++;
    if (error > allowed) {
        c->off++;
        fprintf(stderr, "    off: %lld ms for %lld to %lld\n", (long long)us / 1000,
                (long long)truth->injected_us / 1000, (long long)truth->turn_us / 1000);
    }
    c->worst_ms = (double)error / 1000 > c->worst_ms ? (double)error / 1000 : c->worst_ms;
    if (truth->phases > 1 && truth->led) {
        c->phased++;
        c->blamed += strcmp(heaviest, truth->longest) == 0;
        if (strcmp(heaviest, truth->longest) != 0) {
            fprintf(stderr, "    blamed %s for %s of %u phases in %lld ms (%s)\n", heaviest,
                    truth->longest, truth->phases, (long long)us / 1000,
                    json_text(stall, "summary"));
        }
    }
}

static void compare_report(const char *path, struct truths *truths, struct wide_counts *c)
{
    struct test_run show =
        test_run((const char *[]){program_sonde(), "show", "--json", path, NULL}, NULL, NULL, 60);
    if (show.status == 0) {
        struct json *report = json_parse(show.out);
        int64_t begin_ns = wall_of(json_text(report, "time"));
        JSON_EACH(stall, json_get(report, "stalls"))
        {
            compare_stall(stall, begin_ns, truths, c);
        }
        json_free(report);
    } else {
        fprintf(stderr, "    %s: %s", path, show.err);
    }
    test_run_done(&show);
}

static void print_end(const struct wide_run *run)
{
    char *output = program_output(&run->program);
    for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "sonde run: ", 11) == 0) {
            fprintf(stderr, "    %s\n", line + 11);
        }
    }
    free(output);
}

void wide_compare(struct wide_run *run, struct wide_counts *counts)
{
    struct truths truths;
    struct wide_counts c = {0};
    read_truths(run, &truths);
    DIR *folder = opendir(run->folder);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", run->folder, e->d_name);
        if (strncmp(e->d_name, "report", 6) == 0) {
            compare_report(path, &truths, &c);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    c.made = truths.count;
    c.programs = truths.count > 0;
    c.unstalled = run->asked && truths.count == 0;
    for (unsigned i = 0; i < truths.count; i++) {
        if (!truths.at[i].found) {
            fprintf(stderr, "    MISSED: %lld ms, number %u\n",
                    (long long)truths.at[i].injected_us / 1000, i + 1);
        }
    }
    print_end(run);
    if (c.unstalled > 0) {
        fprintf(stderr, "    NOT STALLED\n");
    }
    fprintf(stderr,
            "  %-16s %-28s %2u of %2u found, %u wrong, %u victims, %u off, blame %u of %u\n",
            run->what->name, run->what->kind, c.found, c.made, c.wrong, c.victims, c.off, c.blamed,
            c.phased);
    counts->programs += c.programs;
    counts->unstalled += c.unstalled;
    counts->made += c.made;
    counts->found += c.found;
    counts->wrong += c.wrong;
    counts->starved += c.starved;
    counts->victims += c.victims;
    counts->off += c.off;
    counts->phased += c.phased;
    counts->blamed += c.blamed;
    counts->worst_ms = c.worst_ms > counts->worst_ms ? c.worst_ms : counts->worst_ms;
}
