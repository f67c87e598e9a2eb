// SPDX-License-Identifier: Apache-2.0
/* A program that ended in a stall: the stall is fatal if nothing else is known that ends programs;
 * else it is open, and a note says what. */
#include "spool_blame.h"

#include <string.h>
#include <unistd.h>

#include "host_life.h"
#include "host_process.h"
#include "host_run.h"
#include "runs.h"
#include "spool_finish.h"
#include "test.h"

enum { NOBODY = 0x3fffff01 }; /* above every pid_max */

struct life {
    uint64_t boot, program;
    const char *executable;
    uint32_t app_state, first_doubts, doubts;
};

static struct sonde__report *live_of(const struct life *life)
{
    struct sonde__report *live;
    CHECK_OK(sonde__report_create(&live));
    sonde__report_set_header(live, &(struct sonde__report_header){.kind = SONDE__REPORT_WATCH,
                                                                  .pid = NOBODY,
                                                                  .report_id = "1",
                                                                  .threshold_ns = 250 * MS});
    (void)sonde__report_add_process(
        live, &(struct sonde__report_process){.pid = NOBODY,
                                              .boot = life->boot,
                                              .program = life->program,
                                              .executable =
                                                  sonde__report_string(live, life->executable)});
    return live;
}

/* The stall, in two parts, and its file after the next start. */
static struct sonde__report *finish(const struct life *life)
{
    const struct sonde__spool_finishing how = {0};
    struct run run;
    char name[SONDE__SPOOL_NAME];
    struct sonde__report_stall part = {.begin_ns = 500 * MS,
                                       .duration_ns = 300 * MS,
                                       .tid = 1,
                                       .process = 1,
                                       .open = true,
                                       .app_state = life->app_state,
                                       .doubts = life->first_doubts};
    run_begin(&run, NOBODY);
    sonde__report_destroy(run.live);
    run.live = live_of(life);
    sonde__report_writer_destroy(run.live_writer);
    sonde__spool_stream_reset(&run.session.live);
    CHECK_OK(sonde__report_writer_create(NULL, sonde__spool_stream_write, &run.session.live,
                                         &run.live_writer));
    CHECK_OK(sonde__report_writer_growing(run.live_writer, run.live, &part));
    part.app_state = 0;
    part.doubts = life->doubts;
    CHECK_OK(sonde__report_writer_growing(run.live_writer, run.live, &part));
    run_kill(&run);
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_finish(folder, &how));
    sonde__host_close(folder);
    sonde__spool_file_name(run.session.run, SONDE__SPOOL_REPORT, name);
    struct sonde__report *report = runs_read(name);
    CHECK_EQ(sonde__report_stall_count(report), 1);
    CHECK(sonde__report_stall(report, 0)->open);
    return report;
}

static bool says(const struct sonde__report *report, const char *text)
{
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        if (strstr(sonde__report_note(report, i), text) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_fatal(const struct life *life)
{
    struct sonde__report *report = finish(life);
    CHECK(sonde__report_stall(report, 0)->fatal);
    CHECK(!says(report, "not known to be the reason"));
    sonde__report_destroy(report);
}

static void check_other(const struct life *life, const char *why)
{
    struct sonde__report *report = finish(life);
    CHECK(!sonde__report_stall(report, 0)->fatal);
    CHECK(says(report, "ended in the stall after 500 ms, which is not known to be the reason: "));
    CHECK(says(report, why));
    CHECK_EQ(sonde__report_stall(report, 0)->doubts, 0);
    CHECK_EQ(sonde__report_process(report, 1)->boot, 0);
    sonde__report_destroy(report);
}

TEST(a_stall_of_an_active_app_is_blamed)
{
    check_fatal(&(struct life){.executable = "/a"});
    check_fatal(&(struct life){.boot = sonde__host_boot(),
                               .program = sonde__host_program(),
                               .executable = "/a",
                               .app_state = SONDE__REPORT_APP_ACTIVE});
    check_fatal(&(struct life){.executable = "/a", .app_state = SONDE__REPORT_APP_INACTIVE});
}

TEST(a_restart_ends_every_program)
{
    CHECK(sonde__host_boot() != 0);
    CHECK_EQ(sonde__host_boot(), sonde__host_boot());
    check_other(&(struct life){.boot = sonde__host_boot() + 1, .executable = "/a"},
                "restarted since");
}

TEST(the_system_ends_apps_in_the_background_and_extensions)
{
    check_other(&(struct life){.executable = "/a", .app_state = SONDE__REPORT_APP_BACKGROUND},
                "in the background");
    check_other(&(struct life){.executable = "/a", .app_state = SONDE__REPORT_APP_EXTENSION},
                "an app extension");
}

/* Also if the last part does not say it any more, or only the last one does. */
TEST(what_else_ends_programs_is_in_any_part)
{
    check_other(&(struct life){.executable = "/a", .first_doubts = SONDE__REPORT_DOUBT_DEBUGGER},
                "a debugger was attached");
    check_other(&(struct life){.executable = "/a", .doubts = SONDE__REPORT_DOUBT_DEBUGGER},
                "a debugger was attached");
    check_other(&(struct life){.executable = "/a", .doubts = SONDE__REPORT_DOUBT_MEMORY},
                "its memory was short");
    check_other(&(struct life){.executable = "/a", .doubts = SONDE__REPORT_DOUBT_ENDS},
                "asked to end");
}

/* Apple's systems tell the build. */
TEST(an_update_ends_the_program_of_its_name)
{
    char path[4096];
    uint64_t program = sonde__host_program();
    CHECK(sonde__host_executable((int32_t)getpid(), path, sizeof path));
    check_fatal(&(struct life){.program = program + 1, .executable = "/another"});
    if (program == 0) {
        check_fatal(&(struct life){.program = 1, .executable = path});
    } else {
        check_other(&(struct life){.program = program + 1, .executable = path},
                    "the program was updated since");
    }
}
