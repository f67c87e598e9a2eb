// SPDX-License-Identifier: Apache-2.0
/* Senders inside a program: refused options, and their end. reports/upload tests their passes over
 * a folder, in virtual time. */
#include <sonde/upload.h>

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sonde/report.h>

#include "test.h"

static _Atomic int requests, is_given_up;

static void pause_ms(unsigned ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static void *nothing(void *arg)
{
    return arg;
}

/* Memory that libc keeps for good would look like a leak: an arena for each thread, and data about
 * threads and time zones. */
static __attribute__((constructor)) void warm_up(void)
{
    pthread_t thread;
    mallopt(M_ARENA_MAX, 1);
    tzset();
    CHECK_OK(pthread_create(&thread, NULL, nothing, NULL));
    pthread_join(thread, NULL);
}

static void store(void *ctx, const struct sonde_upload_request *request,
                  struct sonde_upload_reply *reply)
{
    (void)ctx, (void)request;
    requests++;
    reply->header(reply, "Sonde-Protocol: 1", strlen("Sonde-Protocol: 1"));
    reply->status(reply, 200);
}

/* Wait until nobody wants the answer any more. */
static void hang(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    (void)ctx, (void)request;
    requests++;
    while (reply->wanted(reply)) {
        pause_ms(5);
    }
    is_given_up = 1;
    reply->failed(reply, SONDE_UPLOAD_CANCELLED, NULL);
}

static const char *folder(void)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/spool", test_folder());
    return path;
}

struct bytes {
    char data[1 << 20];
    size_t size;
};

static int append(void *ctx, const void *data, size_t size)
{
    struct bytes *bytes = ctx;
    if (size > sizeof bytes->data - bytes->size) {
        return 28; /* ENOSPC */
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

static void add_report(void)
{
    static struct bytes bytes;
    struct sonde_error error = {0};
    bytes.size = 0;
    CHECK_OK(sonde_report_write(SONDE_REPORT_NO_NAMES, append, &bytes, NULL));
    if (sonde_upload_add(folder(), bytes.data, bytes.size, &error) != SONDE_OK) {
        FAIL("%s", error.what);
    }
}

static struct sonde_upload_options options_of(const struct sonde_upload_transport *transport)
{
    return (struct sonde_upload_options){.struct_bytes = sizeof(struct sonde_upload_options),
                                         .folder = folder(),
                                         .to = "https://c.example",
                                         .transport = transport};
}

static const struct sonde_upload_transport good = {.struct_bytes = sizeof good, .send = store};
static const struct sonde_upload_transport slow = {.struct_bytes = sizeof slow, .send = hang};

TEST(options_that_cannot_work_are_refused)
{
    struct sonde_upload_options options = options_of(&good);
    struct sonde_upload *upload;
    struct sonde_error error;
    CHECK_EQ(sonde_upload_now(NULL, NULL, &error), SONDE_USAGE);
    options.transport = NULL;
    CHECK_EQ(sonde_upload_now(&options, NULL, &error), SONDE_USAGE);
    options = options_of(&good);
    options.to = "http://c.example"; /* readable on the way */
    CHECK_EQ(sonde_upload_start(&options, &upload, &error), SONDE_USAGE);
    CHECK_CONTAINS(error.what, "on the way");
    options = options_of(&good);
    options.folder = NULL;
    CHECK_EQ(sonde_upload_start(&options, &upload, &error), SONDE_USAGE);
    CHECK_EQ(sonde_upload_now(&options, NULL, &error), SONDE_USAGE);
    options = options_of(&good);
    CHECK_EQ(sonde_upload_now(&options, NULL, &error), SONDE_ABSENT); /* there is no folder */
    CHECK_EQ(requests, 0);
}

static int32_t count_entry(void *ctx, const struct sonde_upload_entry *entry)
{
    char *name = ctx;
    snprintf(name, 64, "%s", entry->name);
    CHECK_EQ(entry->state, SONDE_UPLOAD_WAITS);
    CHECK_EQ(entry->tries, 0);
    CHECK(entry->size_bytes > 100);
    return 0;
}

TEST(only_reports_of_the_folder_are_read_and_deleted)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "../x.sonde",
                                      "counts.sonde",
                                      "upload.state",
                                      "/etc/passwd",
                                      "20261123T164012Z-7.live"};
    static struct bytes bytes;
    char name[64] = "";
    add_report();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(sonde_upload_read(folder(), bad[i], append, &bytes, NULL), SONDE_USAGE);
        CHECK_EQ(sonde_upload_delete(folder(), bad[i], NULL), SONDE_USAGE);
    }
    CHECK_EQ(sonde_upload_delete(folder(), "20261123T164012Z-7.sonde", NULL), SONDE_ABSENT);
    CHECK_EQ(sonde_upload_read(folder(), "20261123T164012Z-7.sonde", append, &bytes, NULL),
             SONDE_ABSENT);
    CHECK_EQ(sonde_upload_add(folder(), "no report", 9, NULL), SONDE_CORRUPT);
    CHECK_OK(sonde_upload_list(folder(), count_entry, name, NULL));
    CHECK_OK(sonde_upload_read(folder(), name, append, &bytes, NULL));
    CHECK(bytes.size > 100);
    CHECK_OK(sonde_upload_delete(folder(), name, NULL));
    CHECK_EQ(sonde_upload_delete(folder(), name, NULL), SONDE_ABSENT);
}

TEST(a_sender_sends_what_is_there_and_what_is_added)
{
    const struct sonde_upload_options options = options_of(&good);
    struct sonde_upload *upload;
    add_report();
    CHECK_OK(sonde_upload_start(&options, &upload, NULL));
    while (requests < 1) {
        pause_ms(5);
    }
    add_report();
    sonde_upload_wake(upload);
    while (requests < 2) {
        pause_ms(5);
    }
    sonde_upload_pause(upload, 1);
    add_report();
    sonde_upload_wake(upload);
    pause_ms(50);
    sonde_upload_stop(upload);
    sonde_upload_stop(NULL);
    CHECK_EQ(requests, 2);
}

TEST(a_request_that_is_under_way_is_given_up_at_the_end)
{
    const struct sonde_upload_options options = options_of(&slow);
    struct sonde_upload *upload;
    char name[64] = "";
    struct sonde_upload_result result = {.struct_bytes = sizeof result};
    struct sonde_error error = {0};
    add_report();
    CHECK_OK(sonde_upload_start(&options, &upload, NULL));
    while (requests < 1) {
        pause_ms(5);
    }
    const struct sonde_upload_options other = options_of(&good);
    CHECK_EQ(sonde_upload_now(&other, &result, &error), SONDE_BUSY);
    CHECK_EQ(sonde_upload_delete(folder(), name, NULL), SONDE_USAGE);
    int status;
    pid_t child = fork();
    if (child == 0) { /* has no sender, and ends none */
        sonde_upload_stop(upload);
        _exit(is_given_up);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    sonde_upload_stop(upload);
    CHECK_EQ(is_given_up, 1);
    CHECK_OK(sonde_upload_now(&other, &result, &error)); /* and is sent another time */
    CHECK_EQ(result.stored, 1);
}
