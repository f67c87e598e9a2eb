// SPDX-License-Identifier: Apache-2.0
/* Apple's crash logs as reports: one crash in both forms is one group; what the watchdog ended is a
 * fatal stall; logs that are damaged, or of another kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"
#include "imports.h"
#include "mem_heap.h"
#include "test.h"

#define HEADER                                                                                     \
    "{\"app_name\":\"Shop\",\"timestamp\":\"2025-11-29 11:20:54.00 +0100\",\"app_version\":"       \
    "\"1.2.3\",\"build_version\":\"45\",\"bug_type\":\"309\",\"os_version\":\"iPhone OS 17.5 "     \
    "(21F79)\",\"incident_id\":\"5C32DF84-31A0-43E7-87D0-239F7F594940\"}\n"
#define ABOUT                                                                                      \
    "\"procPath\":\"\\/private\\/var\\/Shop.app\\/Shop\",\"bundleInfo\":{"                         \
    "\"CFBundleShortVersionString\":\"1.2.3\",\"CFBundleVersion\":\"45\"},\"osVersion\":{"         \
    "\"train\":\"iPhone OS 17.5\",\"build\":\"21F79\"},\"modelCode\":\"iPhone14,3\",\"cpuType\":"  \
    "\"ARM-64\",\"captureTime\":\"2025-11-29 11:20:54.1234 +0100\",\"crashReporterKey\":"          \
    "\"0af0af\","
#define IMAGES                                                                                     \
    "\"usedImages\":[{\"base\":4339040256,\"size\":32768,\"uuid\":"                                \
    "\"c42f630f-a71a-3edc-9225-cf2c231a6669\",\"path\":\"\\/private\\/var\\/Shop.app\\/Shop\"},"   \
    "{\"base\":6806884352,\"size\":4096,\"uuid\":\"11111111-2222-3333-4444-555566667777\","        \
    "\"path\":\"\\/usr\\/lib\\/system\\/libsystem_kernel.dylib\"}]"
#define THREADS                                                                                    \
    "\"threads\":[{\"id\":771,\"queue\":\"com.apple.main-thread\",\"frames\":[{\"imageOffset\":"   \
    "16,"                                                                                          \
    "\"symbol\":\"mach_msg\",\"symbolLocation\":8,\"imageIndex\":1},{\"imageOffset\":16804,"       \
    "\"symbol\":\"save_all\",\"symbolLocation\":52,\"imageIndex\":0},{\"imageOffset\":16900,"      \
    "\"symbol\":\"main\",\"symbolLocation\":4,\"imageIndex\":0}]},{\"id\":772,\"triggered\":true," \
    "\"name\":\"worker\",\"frames\":[{\"imageOffset\":20,\"symbol\":\"__pthread_kill\","           \
    "\"symbolLocation\":8,\"imageIndex\":1},{\"imageOffset\":17000,\"symbol\":\"load_cart\","      \
    "\"symbolLocation\":40,\"imageIndex\":0},{\"imageOffset\":17100,\"symbol\":\"work\","          \
    "\"symbolLocation\":40,\"imageIndex\":0}]}],"
#define CRASH                                                                                      \
    HEADER "{" ABOUT                                                                               \
           "\"exception\":{\"type\":\"EXC_CRASH\",\"signal\":\"SIGABRT\"}," THREADS IMAGES "}"
#define WATCHDOG                                                                                   \
    HEADER                                                                                         \
    "{" ABOUT "\"exception\":{\"type\":\"EXC_CRASH\",\"signal\":\"SIGKILL\"},\"termination\":{"    \
    "\"namespace\":\"FRONTBOARD\",\"code\":2343432205,\"details\":[\"<RBSTerminateContext| "       \
    "domain:10 "                                                                                   \
    "code:0x8BADF00D explanation:scene-update watchdog transgression: app<x>:1234 exhausted real " \
    "(wall clock) time allowance of 10.00 seconds\"]}," THREADS IMAGES "}"

static const char text_log[] =
    "Incident Identifier: 5C32DF84-31A0-43E7-87D0-239F7F594940\n"
    "CrashReporter Key:   0af0af\n"
    "Hardware Model:      iPhone14,3\n"
    "Process:             Shop [2341]\n"
    "Path:                /private/var/Shop.app/Shop\n"
    "Version:             1.2.3 (45)\n"
    "Code Type:           ARM-64\n"
    "Date/Time:           2025-11-29 11:20:54.1234 +0100\n"
    "OS Version:          iPhone OS 17.5 (21F79)\n"
    "\n"
    "Exception Type:  EXC_CRASH (SIGABRT)\n"
    "Exception Codes: 0x0000000000000000, 0x0000000000000000\n"
    "Triggered by Thread:  1\n"
    "\n"
    "Thread 0 name:  Dispatch queue: com.apple.main-thread\n"
    "Thread 0:\n"
    "0   libsystem_kernel.dylib        \t0x0000000195b9c010 mach_msg + 8\n"
    "1   Shop                          \t0x0000000102a0c1a4 save_all + 52\n"
    "2   Shop                          \t0x0000000102a0c204 main + 4\n"
    "\n"
    "Thread 1 name:  worker\n"
    "Thread 1 Crashed:\n"
    "0   libsystem_kernel.dylib        \t0x0000000195b9c014 __pthread_kill + 8\n"
    "1   Shop                          \t0x0000000102a0c268 load_cart + 40\n"
    "2   Shop                          \t0x0000000102a0c2cc 0x102a08000 + 17100\n"
    "\n"
    "Thread 1 crashed with ARM Thread State (64-bit):\n"
    "    x0: 0x0000000000000000   x1: 0x0000000000000000\n"
    "\n"
    "Binary Images:\n"
    "0x102a08000 - 0x102a0ffff Shop arm64  <c42f630fa71a3edc9225cf2c231a6669> "
    "/private/var/Shop.app/Shop\n"
    "0x195b9c000 - 0x195b9cfff libsystem_kernel.dylib arm64e  <11111111222233334444555566667777> "
    "/usr/lib/system/libsystem_kernel.dylib\n";

static void check_about(const struct digest *digest)
{
    CHECK_EQ(digest->kind, SONDE__REPORT_STACKS);
    CHECK_STR(digest->program, "/private/var/Shop.app/Shop");
    CHECK_STR(digest->build, "1.2.3 (45)");
    CHECK_STR(digest->os, "iPhone OS 17.5 (21F79)");
    CHECK_STR(digest->arch, "ARM-64");
    CHECK_EQ(digest->time_ns, 1764411654000000000);
    CHECK_EQ(strlen(digest->device), 16);
    CHECK_EQ(digest->event_count, 1);
    CHECK_EQ(digest->events[0].kind, DIGEST_ERROR);
    CHECK(digest->events[0].is_fatal);
}

/* The frame of the crashed thread's stack, counted from the innermost. */
static const struct sonde__report_frame *frame_of(const struct imported *read, unsigned index)
{
    uint32_t node = sonde__report_thread(read->report, 1)->stack;
    for (; index > 0; index--) {
        node = sonde__report_node(read->report, node)->parent;
    }
    return sonde__report_frame(read->report, sonde__report_node(read->report, node)->frame);
}

TEST(crash_of_json_has_its_thread)
{
    struct imported read = imports_read_text(IMPORT_IPS, CRASH);
    check_about(&read.digest);
    CHECK_STR(read.digest.events[0].title, "EXC_CRASH (SIGABRT) in load_cart");
    CHECK_STR(read.digest.events[0].why,
              "error EXC_CRASH (SIGABRT)\nfunction work\nfunction load_cart\n");
    CHECK_EQ(frame_of(&read, 1)->offset, 17000 + ((uint64_t)1 << 32));
    CHECK_EQ(frame_of(&read, 1)->name_offset, 40);
    CHECK_EQ(frame_of(&read, 0)->offset, 20);
    CHECK_EQ(sonde__report_image(read.report, frame_of(&read, 1)->image)->build_id.bytes[0], 0xc4);
    imports_done(&read);
}

TEST(crash_of_text_is_the_same)
{
    struct imported text = imports_read_text(IMPORT_CRASH, text_log),
                    json = imports_read_text(IMPORT_IPS, CRASH);
    check_about(&text.digest);
    CHECK_STR(text.digest.device, json.digest.device);
    CHECK_STR(text.digest.events[0].title, json.digest.events[0].title);
    CHECK_EQ(sonde__report_thread_count(text.report), 2);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(frame_of(&text, i)->offset, frame_of(&json, i)->offset);
    }
    CHECK_EQ(frame_of(&text, 2)->name, 0);
    CHECK_STR(sonde__report_text(text.report, sonde__report_thread(text.report, 1)->name),
              "worker");
    imports_done(&text);
    imports_done(&json);
}

TEST(watchdog_is_a_fatal_stall_of_the_main_thread)
{
    struct imported read = imports_read_text(IMPORT_IPS, WATCHDOG);
    CHECK_EQ(read.digest.kind, SONDE__REPORT_WATCH);
    CHECK_EQ(read.digest.event_count, 1);
    CHECK_EQ(read.digest.events[0].kind, DIGEST_STALL);
    CHECK(read.digest.events[0].is_fatal);
    CHECK_EQ(read.digest.events[0].total_ns, 10000000000);
    CHECK_STR(read.digest.events[0].why, "stall loop\nthread main\nfunction save_all\n");
    imports_done(&read);
    char text[sizeof text_log + 200];
    const char *at = strstr(text_log, "Triggered");
    snprintf(text, sizeof text,
             "%.*sTermination Reason: FRONTBOARD 2343432205\nTermination Description: "
             "process-launch watchdog transgression: exhausted real (wall clock) time allowance of "
             "20.00 seconds\n%s",
             (int)(at - text_log), text_log, at);
    read = imports_read_text(IMPORT_CRASH, text);
    CHECK_EQ(read.digest.events[0].total_ns, 20000000000);
    CHECK_STR(read.digest.events[0].why, "stall launch\nthread main\nfunction save_all\n");
    imports_done(&read);
}

/* The stack of the object that was thrown says more than that of abort(). */
TEST(stack_of_an_exception_is_that_of_its_thread)
{
    struct imported read = imports_read_text(
        IMPORT_IPS,
        "{\"exception\":{\"type\":\"EXC_CRASH\"},\"lastExceptionBacktrace\":[{\"imageOffset\":1,"
        "\"symbol\":\"throw_it\",\"imageIndex\":0}]," THREADS IMAGES "}");
    CHECK_STR(read.digest.events[0].why, "error EXC_CRASH\nfunction throw_it\n");
    CHECK_EQ(sonde__report_thread_count(read.report), 2);
    imports_done(&read);
}

TEST(logs_of_other_kinds_have_a_reason)
{
    static const struct {
        const char *text, *what;
        enum import_form form;
    } logs[] = {{HEADER "{\"largestProcess\":\"x\"}", "it has no threads", IMPORT_IPS},
                {HEADER "{\"threads\":[],\"usedImages\":[]}", "no thread with frames", IMPORT_IPS},
                {HEADER "{\"threads\":", "JSON: ", IMPORT_IPS},
                {"Process:             Shop [2341]\n", "no thread with frames", IMPORT_CRASH}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        void *bytes;
        size_t size;
        struct sonde_error error = {0};
        CHECK_EQ(import_read(logs[i].form, logs[i].text, strlen(logs[i].text), IMPORTS_ID, &bytes,
                             &size, &error),
                 SONDE_CORRUPT);
        CHECK_CONTAINS(error.what, logs[i].what);
    }
}

TEST(other_texts_are_no_logs)
{
    static const char *const texts[] = {"",         "{}", "{\"a\":1}", "hello\n", "Process: x\n",
                                        "\xef\xbb", "[]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ(foreign_form(texts[i], strlen(texts[i])), 0);
    }
    CHECK_EQ(foreign_form("\xef\xbb\xbf" CRASH, strlen(CRASH) + 3), IMPORT_IPS);
}

static void damage(const char *log, enum import_form form)
{
    static const char bytes_put[] = {'"', '{', '}', '[', ']', '0', '9', '\\', '\n', ' '};
    size_t size = strlen(log);
    char *text = strdup(log);
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < sizeof bytes_put; j++) {
            struct sonde_error error = {0};
            void *bytes;
            size_t bytes_size;
            text[i] = bytes_put[j];
            if (import_read(form, text, size, IMPORTS_ID, &bytes, &bytes_size, &error) ==
                SONDE_OK) {
                sonde__mem_free(bytes);
            } else {
                CHECK(error.what[0] != '\0');
            }
            text[i] = log[i];
        }
    }
    free(text);
}

/* Damaged anywhere: a report, or a reason; no crash (ASan runs this, too). */
TEST_TIMEOUT(damaged_logs_do_no_harm, 60)
{
    damage(CRASH, IMPORT_IPS);
    damage(text_log, IMPORT_CRASH);
}
