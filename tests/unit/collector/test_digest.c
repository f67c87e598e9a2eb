// SPDX-License-Identifier: Apache-2.0
/* What is read of a report: its events with their causes; hostile bytes. */
#include <stdlib.h>
#include <string.h>

#include "bench_collector.h"
#include "digest.h"
#include "test.h"

TEST(stall_is_an_event_of_its_cause)
{
    size_t size;
    void *bytes = bench_report(3, 0, &size);
    struct digest digest;
    struct sonde_error error;
    CHECK_OK(digest_read(bytes, size, NULL, &digest, &error));
    CHECK_STR(digest.build, "1.2.3");
    CHECK_STR(digest.device, "device-0000000000");
    CHECK_EQ(digest.event_count, 1);
    CHECK_EQ(digest.events[0].kind, DIGEST_STALL);
    CHECK_EQ(digest.events[0].count, 1);
    CHECK_EQ(digest.events[0].longest_ns, 400000000);
    CHECK_EQ(digest.events[0].begin_ns, 1000000000);
    CHECK(strncmp(digest.events[0].group, "1:", 2) == 0 && strlen(digest.events[0].group) == 34);
    CHECK_STR(digest.events[0].title, "app_function_4_5, blocked in sync");
    CHECK_CONTAINS(digest.events[0].summary, "main blocked 400 ms in fsync");
    CHECK_CONTAINS(digest.events[0].why, "stall loop\nthread main\nfunction ");
    digest_done(&digest);
    free(bytes);
}

TEST(different_causes_are_different_groups)
{
    char groups[16][DIGEST_GROUP_TEXT];
    for (unsigned i = 0; i < 16; i++) {
        size_t size;
        void *bytes = bench_report(i, 0, &size);
        struct digest digest;
        CHECK_OK(digest_read(bytes, size, NULL, &digest, NULL));
        memcpy(groups[i], digest.events[0].group, sizeof groups[i]);
        digest_done(&digest);
        free(bytes);
        for (unsigned j = 0; j < i; j++) {
            CHECK(strcmp(groups[i], groups[j]) != 0);
        }
    }
}

/* Cut or damaged anywhere: a digest, or an error; no crash (ASan runs this, too). */
TEST_TIMEOUT(hostile_bytes_do_no_harm, 60)
{
    size_t size;
    char *bytes = bench_report(1, 0, &size);
    struct digest digest;
    struct sonde_error error;
    for (size_t i = 0; i < size; i++) {
        if (digest_read(bytes, i, NULL, &digest, &error) == SONDE_OK) {
            CHECK(digest.loss[0] != '\0' || digest.event_count <= 1);
            digest_done(&digest);
        } else {
            CHECK(error.what[0] != '\0');
        }
        bytes[i] ^= 0x55;
        if (digest_read(bytes, size, NULL, &digest, &error) == SONDE_OK) {
            digest_done(&digest);
        }
        bytes[i] ^= 0x55;
    }
    free(bytes);
}
