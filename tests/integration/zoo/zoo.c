// SPDX-License-Identifier: Apache-2.0
#include "zoo.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_truths(struct zoo *zoo)
{
    const char *line = zoo->output;
    while (line != NULL && *line != '\0') {
        struct zoo_truth *truth = &zoo->truths[zoo->truth_count];
        if (zoo->truth_count < ZOO_TRUTHS_MAX &&
            sscanf(line, "injected %47s %u ms", truth->kind, &truth->ms) == 2) {
            zoo->truth_count++;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

void zoo_read(struct zoo *zoo, const char *output, const char *report)
{
    struct test_run show =
        test_run((const char *[]){program_sonde(), "show", "--json", report, NULL}, NULL, NULL, 60);
    if (show.status != 0) {
        FAIL("sonde show ended with %d: %s", show.status, show.err);
    }
    zoo->output = strdup(output);
    read_truths(zoo);
    zoo->report = json_parse(show.out);
    test_run_done(&show);
    CHECK_STR(json_text(zoo->report, "kind"), "watch");
}

const char *zoo_ms(unsigned ms)
{
    static char texts[8][16];
    static unsigned next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], "%u", ms * test_slack());
    return text;
}

const char *zoo_stall(void)
{
    static char text[16];
    snprintf(text, sizeof text, "%sms", zoo_ms(150));
    return text;
}

/* A number in a program's arguments is the milliseconds of its stalls. */
static void with_slack(const char *const argv[], const char **ret_argv, size_t capacity)
{
    size_t n = 0;
    for (; *argv != NULL && n + 1 < capacity; argv++) {
        const char *end = *argv + strspn(*argv, "0123456789");
        ret_argv[n++] = *end == '\0' ? zoo_ms((unsigned)strtoul(*argv, NULL, 10)) : *argv;
    }
    ret_argv[n] = NULL;
}

void zoo_run(struct zoo *zoo, const char *const argv[], unsigned timeout_s)
{
    const char *list[32];
    char report[128];
    with_slack(argv, list, 32);
    snprintf(report, sizeof report, "%s/report", test_folder());
    memset(zoo, 0, sizeof *zoo);
    struct test_run run =
        program_watch((const char *[]){"--stall", zoo_stall(), NULL}, report, list, timeout_s);
    if (run.status != 0 || run.timed_out) {
        FAIL("%s ended with %d: %s%s", argv[0], run.status, run.out, run.err);
    }
    zoo_read(zoo, run.out, report);
    test_run_done(&run);
}

/* The only report of a followed program in the test's folder. */
static bool find_followed(char *ret_path, size_t capacity)
{
    DIR *folder = opendir(test_folder());
    unsigned found = 0;
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        int pid = 0, used = 0;
        if (sscanf(e->d_name, "report.%d%n", &pid, &used) == 1 && e->d_name[used] == '\0') {
            snprintf(ret_path, capacity, "%s/report.%d", test_folder(), pid);
            found++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    CHECK(found <= 1);
    return found == 1;
}

bool zoo_run_followed(struct zoo *zoo, const char *const argv[], unsigned timeout_s)
{
    const char *list[32] = {"sh", "-c", "\"$@\"; exit $?", "sh"};
    char report[128];
    with_slack(argv, list + 4, 28);
    snprintf(report, sizeof report, "%s/report", test_folder());
    memset(zoo, 0, sizeof *zoo);
    struct test_run run = program_watch((const char *[]){"--stall", zoo_stall(), "--follow", NULL},
                                        report, list, timeout_s);
    if (run.status != 0 || run.timed_out) {
        FAIL("%s ended with %d: %s%s", list[4], run.status, run.out, run.err);
    }
    bool found = find_followed(report, sizeof report);
    if (found) {
        CHECK_CONTAINS(run.err, "its event loop stalled:");
        zoo_read(zoo, run.out, report);
        unlink(report); /* for the next run */
    }
    test_run_done(&run);
    return found;
}

void zoo_done(struct zoo *zoo)
{
    free(zoo->output);
    json_free(zoo->report);
    memset(zoo, 0, sizeof *zoo);
}

/* The machine's fault: the thread could have run, and got no CPU. */
static bool is_starved(const struct json *stall)
{
    int64_t duration = json_int(stall, "duration_ns");
    return json_int(stall, "runqueue_ns") * 2 > duration;
}

static const char *describe(const struct json *stall)
{
    static char text[4096];
    size_t n = (size_t)snprintf(
        text, sizeof text, "%lld ms of %s (%s), on CPU %lld ms, queued %lld ms, path",
        (long long)json_int(stall, "duration_ns") / 1000000, json_text(stall, "thread_name"),
        json_text(stall, "loop_detail"), (long long)json_int(stall, "cpu_ns") / 1000000,
        (long long)json_int(stall, "runqueue_ns") / 1000000);
    JSON_EACH(frame, json_get(stall, "dominant_path"))
    {
        if (n + 200 < sizeof text) {
            const char *name = json_text(frame, "function");
            n += (size_t)snprintf(text + n, sizeof text - n, " > %.100s",
                                  *name != '\0' ? name : json_text(frame, "image_name"));
        }
    }
    return text;
}

static bool fits(const struct zoo_truth *truth, const struct json *stall)
{
    int64_t ms = json_int(stall, "duration_ns") / 1000000;
    return ms >= truth->ms / 2 && ms <= (int64_t)truth->ms * 2 + 100;
}

void zoo_check_stalls(const struct zoo *zoo,
                      void (*check)(const struct zoo_truth *, const struct json *))
{
    unsigned found = 0;
    CHECK(zoo->truth_count > 0);
    JSON_EACH(stall, json_need(zoo->report, "stalls"))
    {
        if (found < zoo->truth_count && fits(&zoo->truths[found], stall)) {
            CHECK(*json_text(stall, "loop_detail") != '\0');
            CHECK(!json_bool(stall, "open"));
            if (check != NULL) {
                check(&zoo->truths[found], stall);
            }
            found++;
        } else if (is_starved(stall)) {
            printf("  starved by the machine: %s\n", describe(stall));
        } else {
            FAIL("a stall that nobody injected (next: %s): %s",
                 found < zoo->truth_count ? zoo->truths[found].kind : "none", describe(stall));
        }
    }
    if (found != zoo->truth_count) {
        FAIL("%u of %u stalls found; the first that was not: %s", found, zoo->truth_count,
             zoo->truths[found].kind);
    }
}

void zoo_check_silent(const struct zoo *zoo, unsigned turns)
{
    int64_t seen = json_int(json_need(zoo->report, "totals"), "turns");
    JSON_EACH(stall, json_need(zoo->report, "stalls"))
    {
        if (!is_starved(stall)) {
            FAIL("a stall where none was: %s", describe(stall));
        }
    }
    if (seen < turns) {
        FAIL("the loop was not watched: %lld turns, at least %u expected", (long long)seen, turns);
    }
}

bool zoo_on_path(const struct json *stall, const char *text)
{
    while (*text != '\0') {
        char one[128];
        size_t size = strcspn(text, "|");
        snprintf(one, sizeof one, "%.*s", (int)size, text);
        JSON_EACH(frame, json_get(stall, "dominant_path"))
        {
            if (strstr(json_text(frame, "function"), one) != NULL) {
                return true;
            }
        }
        text += size + (text[size] == '|');
    }
    return false;
}

void zoo_need_on_path(const struct json *stall, const char *text)
{
    if (!zoo_on_path(stall, text)) {
        FAIL("%s is not on the dominant path: %s", text, describe(stall));
    }
}
