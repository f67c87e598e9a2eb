// SPDX-License-Identifier: Apache-2.0
/* A sender's passes over a folder, in virtual time, against a server that fails in every way. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_folder.h"
#include "mem_heap.h"
#include "runs.h"
#include "server.h"
#include "test.h"
#include "upload_folder.h"

#define NS 1000000000u

/* A report of a run that is over. */
static void add_report(int32_t pid)
{
    struct run run;
    run_begin(&run, pid);
    run_add_stall(&run, 5 * MS, "1:a");
    run_end(&run);
}

/* A report large enough to be compressed. */
static void add_large_report(int32_t pid)
{
    struct run run;
    run_begin(&run, pid);
    for (unsigned i = 0; i < 30; i++) {
        run_add_stall(&run, i * (uint64_t)MS, "1:a");
    }
    run_end(&run);
}

static struct sonde__upload_state state_of(const char *suffix)
{
    struct sonde__upload_state state;
    struct sonde__spool_runs runs;
    char name[SONDE__SPOOL_NAME];
    int32_t folder = runs_open_folder();
    CHECK_OK(sonde__spool_find_runs(folder, suffix, &runs));
    CHECK_EQ(runs.count, 1);
    sonde__spool_file_name(runs.names[0], suffix, name);
    sonde__upload_load(folder, name, &state);
    sonde__mem_free(runs.names);
    close(folder);
    return state;
}

TEST(what_was_stored_is_removed_with_its_state)
{
    struct server server;
    server_start(&server);
    for (int32_t pid = 1; pid <= 3; pid++) {
        add_report(pid);
    }
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(result.stored, 3);
    CHECK_EQ(result.later + result.refused, 0);
    CHECK(result.wait_ns == UINT64_MAX);
    CHECK_EQ(server.stored_count, 3);
    CHECK_EQ(runs_count(".sonde") + runs_count(".upload") + runs_count(".part"), 0);
    CHECK_CONTAINS(server.last_headers, "Content-Type: application/x-sonde-report\n");
    CHECK_CONTAINS(server.last_headers, "Sonde-Protocol: 1\n");
    CHECK(strstr(server.last_headers, "Content-Encoding") == NULL);
}

TEST(a_report_that_is_to_be_kept_is_not_sent_again)
{
    struct server server;
    server_start(&server);
    add_report(1);
    const struct sonde_upload_options keep = {.struct_bytes = sizeof keep, .keep = 1};
    for (unsigned i = 0; i < 2; i++) {
        struct sonde_upload_result result;
        struct sonde__upload_sender sender = server_sender(&server, "https://c.example", &keep);
        sender.is_hasty = true;
        CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
        sonde__upload_sender_done(&sender);
        CHECK_EQ(result.stored, i == 0);
    }
    CHECK_EQ(server.request_count, 1);
    CHECK_EQ(runs_count(".sonde"), 1);
    /* another server has not stored it */
    struct sonde_upload_result result;
    struct sonde__upload_sender sender = server_sender(&server, "https://d.example", &keep);
    CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
    sonde__upload_sender_done(&sender);
    CHECK_EQ(result.stored, 1);
}

TEST(a_server_in_trouble_is_asked_again_later_and_later)
{
    struct server server;
    static const uint32_t waits[] = {60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 28800, 28800};
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 503});
    add_report(1);
    for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        struct sonde_upload_result result = server_pass(&server);
        uint64_t wait_s = result.wait_ns / NS;
        CHECK_EQ(server.request_count, i + 1);
        CHECK_EQ(result.later, 1);
        CHECK(wait_s >= waits[i] - 1 && wait_s <= waits[i] + 1);
        server.now_s += (int64_t)wait_s - 1;
        CHECK_EQ(server_pass(&server).later, 0); /* one second too early */
        CHECK_EQ(server.request_count, i + 1);
        server.now_s += 1;
    }
    server.answer_count = 0;
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK_EQ(server.stored_count, 1);
}

TEST(retry_after_holds_even_for_who_is_in_haste)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 429, .header = "Retry-After: 300"});
    server_then(&server, (struct server_answer){.status = 200});
    add_report(1);
    struct sonde_upload_result result = server_hasty_pass(&server);
    CHECK_EQ(result.wait_ns / NS, 300);
    server.now_s += 299;
    result = server_hasty_pass(&server);
    CHECK_EQ(server.request_count, 1);
    CHECK_EQ(result.wait_ns / NS, 1);
    CHECK_CONTAINS(result.why, "429");
    server.now_s += 1;
    CHECK_EQ(server_hasty_pass(&server).stored, 1);
}

TEST(haste_takes_no_notice_of_our_own_waits)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 503});
    server_then(&server, (struct server_answer){.status = 200});
    add_report(1);
    CHECK_EQ(server_hasty_pass(&server).later, 1);
    CHECK_EQ(server.request_count, 1); /* once per pass, hasty or not */
    CHECK_EQ(server_pass(&server).stored, 0);
    CHECK_EQ(server_hasty_pass(&server).stored, 1);
}

TEST(trouble_ends_the_pass_and_a_refusal_does_not)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 413});
    server_then(&server, (struct server_answer){.status = 200});
    server_then(&server, (struct server_answer){.failure = SONDE_UPLOAD_UNREACHABLE});
    for (int32_t pid = 1; pid <= 4; pid++) {
        add_report(pid);
    }
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(server.request_count, 3);
    CHECK_EQ(result.refused, 1);
    CHECK_EQ(result.stored, 1);
    CHECK_EQ(result.later, 1);
    CHECK_CONTAINS(result.why, "cannot be reached");
    server.answer_count = 0;
    server.now_s += 100;
    CHECK_EQ(server_pass(&server).stored, 2);
    /* the refused report stays, and no sender sends it again */
    CHECK_EQ(runs_count(".sonde"), 1);
    server.now_s += 1000000;
    CHECK_EQ(server_hasty_pass(&server).stored, 0);
    CHECK_EQ(state_of(".upload").stage, SONDE__UPLOAD_REFUSED_FOR_GOOD);
}

TEST(a_wrong_key_stops_all_and_blames_no_report)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 401});
    add_report(1);
    add_report(2);
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(server.request_count, 1);
    CHECK_EQ(result.wait_ns / NS, SONDE__UPLOAD_WAIT_LAST_S);
    CHECK_EQ(runs_count(".sonde"), 2);
    CHECK_EQ(state_of(".upload").tries, 0);
    server.answer_count = 0;
    CHECK_EQ(server_hasty_pass(&server).stored, 2); /* the key was changed */
}

TEST(one_report_that_harms_the_server_does_not_keep_the_others_from_it)
{
    struct server server;
    server_start(&server);
    for (int32_t pid = 1; pid <= 3; pid++) {
        struct run run;
        run_begin(&run, pid);
        run_add_stall(&run, (uint64_t)pid * MS, "1:a"); /* so that their ids differ */
        run_end(&run);
    }
    server_then(&server, (struct server_answer){.status = 200});
    char poison[40] = "";
    /* which one comes first? */
    struct server probe;
    server_start(&probe);
    server_then(&probe, (struct server_answer){.failure = SONDE_UPLOAD_UNREACHABLE});
    (void)server_pass(&probe);
    memcpy(poison, probe.last_id, sizeof poison);
    server.poison = poison;
    for (unsigned i = 0; i < 20; i++) {
        server.now_s += 600;
        (void)server_pass(&server);
    }
    CHECK_EQ(server.stored_count, 2);
    CHECK_EQ(runs_count(".sonde"), 1);
}

TEST(an_answer_that_got_lost_is_asked_for_again_and_counted_once)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.is_lost = true});
    server_then(&server, (struct server_answer){.status = 200});
    add_report(1);
    CHECK_EQ(server_pass(&server).later, 1);
    CHECK_EQ(runs_count(".sonde"), 1);
    server.now_s += 100;
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK_EQ(server.stored_count, 1);
    CHECK_EQ(server.repeated_count, 1);
}

static void die(struct server *server)
{
    (void)server;
    raise(SIGKILL);
}

TEST(a_sender_that_is_killed_in_a_request_counts_as_a_try)
{
    struct server server;
    server_start(&server);
    add_report(1);
    for (uint32_t i = 1; i <= 3; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            server.on_request = die;
            (void)server_hasty_pass(&server);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(state_of(".upload").tries, i);
        CHECK_CONTAINS(state_of(".upload").why, "before the answer came");
    }
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(server.request_count, 0); /* not before its wait has passed */
    server.now_s += (int64_t)(result.wait_ns / NS);
    CHECK_EQ(server_pass(&server).stored, 1);
}

static void try_second(struct server *server)
{
    struct sonde_upload_result result;
    struct server other;
    struct sonde_error error = {0};
    server_start(&other);
    struct sonde__upload_sender sender = server_sender(&other, "https://c.example", NULL);
    CHECK_EQ(sonde__upload_pass(&sender, &result, &error), SONDE_BUSY);
    CHECK_CONTAINS(error.what, "another sender");
    sonde__upload_sender_done(&sender);
    server->on_request = NULL;
}

TEST(a_second_sender_is_held_off)
{
    struct server server;
    server_start(&server);
    server.on_request = try_second;
    add_report(1);
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK(server.on_request == NULL);
}

TEST(runs_that_go_on_and_runs_that_were_killed_are_left_alone)
{
    struct server server;
    struct run running, killed;
    server_start(&server);
    run_begin(&running, 1);
    run_add_stall(&running, MS, "1:a");
    run_begin(&killed, 2);
    run_add_stall(&killed, MS, "1:a");
    run_kill(&killed);
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(server.request_count, 0);
    CHECK(result.wait_ns == UINT64_MAX);
    CHECK_EQ(runs_count(".sonde"), 2);
    run_end(&running);
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK_EQ(runs_count(".live"), 1);
}

/* As on a disk that was full at the begin: only the lock shows that the run goes on. */
TEST(a_run_without_a_live_file_is_left_alone_while_it_goes_on)
{
    struct server server;
    struct run run;
    char path[700];
    server_start(&server);
    run_begin(&run, 1);
    run_add_stall(&run, MS, "1:a");
    snprintf(path, sizeof path, "%s/%s.live", runs_folder(), run.session.run);
    CHECK_EQ(unlink(path), 0);
    (void)server_hasty_pass(&server);
    CHECK_EQ(server.request_count, 0);
    CHECK_EQ(runs_count(".sonde"), 1);
    run_end(&run);
    CHECK_EQ(server_hasty_pass(&server).stored, 1);
}

TEST(a_clock_that_steps_loses_nothing_and_waits_for_nothing)
{
    struct server server;
    server_start(&server);
    server_then(&server, (struct server_answer){.status = 503, .header = "Retry-After: 1000"});
    server_then(&server, (struct server_answer){.status = 200});
    add_report(1);
    CHECK_EQ(server_pass(&server).wait_ns / NS, 1000);
    server.now_s -= 10 * 365 * 86400;
    CHECK_EQ(server_pass(&server).stored, 1);
}

TEST(a_metered_network_and_a_policy_of_never_send_nothing)
{
    struct server server;
    struct sonde_upload_options options = {.struct_bytes = sizeof options};
    server_start(&server);
    server.metered = SONDE_UPLOAD_METERED_YES;
    add_report(1);
    struct sonde_upload_result result = server_pass(&server);
    CHECK_CONTAINS(result.why, "metered");
    CHECK_EQ(server.request_count, 0);
    for (unsigned i = 0; i < 3; i++) {
        static const enum sonde_upload_policy policies[] = {
            SONDE_UPLOAD_NEVER, SONDE_UPLOAD_UNMETERED, SONDE_UPLOAD_ALWAYS};
        options.policy = policies[i];
        struct sonde__upload_sender sender = server_sender(&server, "https://c.example", &options);
        CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
        sonde__upload_sender_done(&sender);
        CHECK_EQ(server.request_count, i == 2);
    }
    add_report(2);
    server.metered = SONDE_UPLOAD_METERED_UNKNOWN; /* counts as not metered */
    CHECK_EQ(server_pass(&server).stored, 1);
}

TEST(codings_are_tried_in_turn_within_one_try)
{
    struct server server;
    server_start(&server);
    server.compressed_to = 100;
    server_then(&server, (struct server_answer){.status = 415});
    server_then(&server, (struct server_answer){.status = 415});
    server_then(&server, (struct server_answer){.status = 200});
    add_large_report(1);
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK_EQ(server.request_count, 3);
    CHECK(server.last_bytes > 100);
    add_large_report(2);
    server.answer_count = 0;
    CHECK_EQ(server_pass(&server).stored, 1);
    CHECK_EQ(server.last_bytes, 100);
    CHECK_CONTAINS(server.last_headers, "Content-Encoding: zstd\n");
}

TEST(what_is_no_report_is_refused_without_a_request)
{
    struct server server;
    char path[700];
    server_start(&server);
    add_report(1);
    snprintf(path, sizeof path, "%s/20261123T164012Z-4242.sonde", runs_folder());
    test_write_file(path, "not a report", 12);
    CHECK_EQ(chmod(path, 0600), 0);
    struct sonde_upload_result result = server_pass(&server);
    CHECK_EQ(result.refused, 1);
    CHECK_EQ(result.stored, 1);
    CHECK_EQ(server.request_count, 1);
    CHECK_CONTAINS(state_of(".upload").why, "nothing of the report can be read");
}

TEST(states_of_reports_that_are_gone_are_removed_and_others_files_are_not)
{
    struct server server;
    char path[700];
    server_start(&server);
    add_report(1);
    CHECK_EQ(server_pass(&server).stored, 1);
    snprintf(path, sizeof path, "%s/20261123T164012Z-4242.upload", runs_folder());
    test_write_file(path, "x", 1);
    snprintf(path, sizeof path, "%s/other.upload", runs_folder());
    test_write_file(path, "x", 1);
    (void)server_pass(&server);
    CHECK_EQ(runs_count("4242.upload"), 0);
    CHECK_EQ(runs_count("other.upload"), 1);
}

static int32_t skip_it(void *ctx, const struct sonde_upload_item *item)
{
    ++*(unsigned *)ctx;
    CHECK_CONTAINS(item->name, ".sonde");
    return 1;
}

TEST(who_is_asked_before_may_say_no)
{
    struct server server;
    unsigned asked = 0;
    const struct sonde_upload_options options = {
        .struct_bytes = sizeof options, .on_begin = skip_it, .ctx = &asked};
    struct sonde_upload_result result;
    server_start(&server);
    add_report(1);
    struct sonde__upload_sender sender = server_sender(&server, "https://c.example", &options);
    CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
    sonde__upload_sender_done(&sender);
    CHECK_EQ(asked, 1);
    CHECK_EQ(server.request_count, 0);
    CHECK_EQ(runs_count(".sonde"), 1);
    CHECK_EQ(runs_count(".upload"), 0);
}

/* --- the time that an app gets when it enters the background --- */

static void take_two_seconds(struct server *server)
{
    server->now_ns += 2 * (uint64_t)NS;
}

static struct sonde_upload_result pass_within(struct server *server, uint64_t within_ns)
{
    const struct sonde_upload_options within = {.struct_bytes = sizeof within,
                                                .within_ns = within_ns};
    struct sonde__upload_sender sender = server_sender(server, "https://c.example", &within);
    struct sonde_upload_result result;
    sender.is_hasty = true;
    CHECK_OK(sonde__upload_pass(&sender, &result, NULL));
    sonde__upload_sender_done(&sender);
    return result;
}

TEST(what_does_not_fit_the_time_is_sent_another_time)
{
    struct server server;
    server_start(&server);
    server.on_request = take_two_seconds;
    for (int32_t pid = 1; pid <= 6; pid++) {
        add_report(pid);
    }
    struct sonde_upload_result result = pass_within(&server, 5 * (uint64_t)NS);
    CHECK_EQ(server.request_count, 3);
    CHECK_EQ(server.last_timeout_ns, NS); /* what was left */
    CHECK_EQ(result.stored, 2);
    CHECK_EQ(result.later, 1); /* it was cancelled */
    CHECK_EQ(runs_count(".sonde"), 4);
    result = pass_within(&server, 0);
    CHECK_EQ(result.stored, 4);
    CHECK_EQ(server.last_timeout_ns, SONDE_UPLOAD_TIMEOUT_NS);
    CHECK_EQ(server.stored_count, 6);
    CHECK_EQ(server.repeated_count, 0);
}

TEST(a_request_has_at_most_its_own_time)
{
    struct server server;
    server_start(&server);
    add_report(1);
    CHECK_EQ(pass_within(&server, 3600 * (uint64_t)NS).stored, 1);
    CHECK_EQ(server.last_timeout_ns, SONDE_UPLOAD_TIMEOUT_NS);
}
