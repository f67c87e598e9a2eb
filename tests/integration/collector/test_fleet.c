// SPDX-License-Identifier: Apache-2.0
/* A small test fleet: builds of an app, whose addresses differ, on several machines, without symbol
 * files. Each pair of API and app path is one group over all builds. `./dev bench fleet` is a whole
 * day of it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collector.h"
#include "fleet.h"
#ifdef SONDE_TEST_POSTGRES
#    include "postgres.h"
#endif

enum { BUILDS = 5, DEVICES = 4, STACKS = 50 };

static struct fleet the_fleet(void)
{
    return (struct fleet){.builds = BUILDS,
                          .devices = DEVICES,
                          .stacks = STACKS,
                          .time_unix_ns = (uint64_t)(time(NULL) - 86400) * 1000000000u};
}

static void write_reports(const struct fleet *fleet)
{
    for (unsigned i = 0; i < BUILDS * DEVICES; i++) {
        char path[300];
        size_t size;
        void *bytes = fleet_report(fleet, i / DEVICES, i % DEVICES, &size);
        snprintf(path, sizeof path, "%s/run%02u.sonde", test_folder(), i);
        test_write_file(path, bytes, size);
        free(bytes);
    }
}

/* Four senders at once: the machines of one build. */
static void send_reports(const struct collector_run *run)
{
    char *out = collector_script(
        run, "for of in 0 1 2 3; do (for i in $(seq $of 4 19); do "
             "curl -s -m 20 -o /dev/null -w '%{http_code}\\n' -H \"Authorization: Bearer $INGEST\" "
             "--data-binary @run$(printf %02u $i).sonde $URL/api/reports; done >codes$of) & done; "
             "wait; cat codes? | sort | uniq -c | tr -d ' '");
    CHECK_STR(out, "20201\n");
    free(out);
}

static void check_group(const struct collector_run *run, const struct json *group)
{
    char path[80];
    CHECK_EQ(json_int(group, "count"), (int64_t)BUILDS * DEVICES * fleet_calls());
    CHECK_EQ(json_int(group, "devices"), DEVICES);
    snprintf(path, sizeof path, "/api/projects/default/groups/%lld",
             (long long)json_int(group, "number"));
    struct json *one = collector_get(run, path);
    CHECK_EQ(json_need(one, "builds")->count, BUILDS);
    for (const struct json *build = json_need(one, "builds")->first; build != NULL;
         build = build->next) {
        CHECK_EQ(json_int(build, "count"), DEVICES * fleet_calls());
    }
    json_free(one);
}

static void check_groups(const struct collector_run *run, const struct fleet *fleet)
{
    struct json *groups = collector_get(run, "/api/projects/default/groups?limit=1000");
    CHECK_EQ(json_need(groups, "groups")->count, fleet_groups(fleet));
    for (const struct json *group = json_need(groups, "groups")->first; group != NULL;
         group = group->next) {
        check_group(run, group);
    }
    json_free(groups);
}

static void check_fleet(struct collector_run *run)
{
    struct fleet fleet = the_fleet();
    write_reports(&fleet);
    send_reports(run);
    kill(run->program.pid, SIGKILL);
    CHECK_EQ(program_end(&run->program, 30), 128 + SIGKILL);
    collector_again(run);
    collector_settle(run);
    check_groups(run, &fleet);
    collector_stop(run);
}

TEST_TIMEOUT(fleet_has_one_group_for_each_api_and_path, 120)
{
    struct collector_run run = collector_start(NULL);
    check_fleet(&run);
}

#ifdef SONDE_TEST_POSTGRES
TEST_TIMEOUT(fleet_is_the_same_on_postgres, 180)
{
    struct postgres_server server = postgres_start();
    struct collector_run run = {.database = server.where};
    collector_begin(&run, NULL);
    check_fleet(&run);
    postgres_stop(&server);
}
#endif
