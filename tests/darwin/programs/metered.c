// SPDX-License-Identifier: Apache-2.0
/* Whether reports may be sent now, by what Network.framework says. SONDE_NETWORK: the path of the
 * simulated one; SONDE_NETWORK_BEFORE: one without nw_path_is_constrained(). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/upload.h>

#include "host_network.h"
#include "runs.h"
#include "test.h"

static void *load(const char *variable)
{
    void *handle = dlopen(getenv(variable), RTLD_LAZY);
    CHECK(handle != NULL);
    return handle;
}

static void set_network(const char *words)
{
    static char text[64];
    snprintf(text, sizeof text, "SIM_NETWORK=%s", words);
    putenv(text);
}

static void check(const char *words, enum sonde__host_metered wanted)
{
    set_network(words);
    CHECK_EQ(sonde__host_network_metered(), wanted);
}

TEST(a_path_is_metered_if_it_is_expensive_or_constrained)
{
    const int *monitors = dlsym(load("SONDE_NETWORK"), "network_monitors");
    check("", SONDE__HOST_UNMETERED);
    check("expensive", SONDE__HOST_METERED);
    check("constrained", SONDE__HOST_METERED);
    check("expensive constrained", SONDE__HOST_METERED);
    check("none", SONDE__HOST_METERED_UNKNOWN);
    check("none expensive", SONDE__HOST_METERED_UNKNOWN);
    check("", SONDE__HOST_UNMETERED);
    CHECK(monitors != NULL && *monitors == 0);
}

TEST(a_system_without_constrained_paths_tells_expensive_ones)
{
    (void)load("SONDE_NETWORK_BEFORE");
    check("constrained", SONDE__HOST_UNMETERED);
    check("expensive", SONDE__HOST_METERED);
}

TEST(a_system_that_does_not_answer_in_time_is_unknown)
{
    (void)load("SONDE_NETWORK");
    check("", SONDE__HOST_UNMETERED); /* which is not the answer to the next question */
    check("silent expensive", SONDE__HOST_METERED_UNKNOWN);
    check("late expensive", SONDE__HOST_METERED_UNKNOWN);
    check("", SONDE__HOST_UNMETERED);
}

TEST(a_system_without_the_framework_is_unknown)
{
    set_network("expensive");
    CHECK_EQ(sonde__host_network_metered(), SONDE__HOST_METERED_UNKNOWN);
}

/* --- a sender whose transport knows nothing of the network --- */

static void store(void *ctx, const struct sonde_upload_request *request,
                  struct sonde_upload_reply *reply)
{
    static const char version[] = "Sonde-Protocol: 1";
    (void)request;
    *(unsigned *)ctx += 1;
    reply->header(reply, version, strlen(version));
    reply->status(reply, 201);
}

static uint32_t send_one(const char *words, enum sonde_upload_policy policy)
{
    unsigned requests = 0;
    const struct sonde_upload_transport transport = {
        .struct_bytes = sizeof transport, .send = store, .ctx = &requests};
    const struct sonde_upload_options options = {.struct_bytes = sizeof options,
                                                 .folder = runs_folder(),
                                                 .to = "https://collector.example/",
                                                 .transport = &transport,
                                                 .policy = policy};
    struct sonde_upload_result result = {.struct_bytes = sizeof result};
    struct run run;
    set_network(words);
    run_begin(&run, 1);
    run_add_stall(&run, 5, "f1");
    run_end(&run);
    CHECK_OK(sonde_upload_now(&options, &result, NULL));
    CHECK_EQ(requests, result.stored);
    return result.stored;
}

TEST(reports_wait_for_a_path_that_is_not_metered)
{
    (void)load("SONDE_NETWORK");
    CHECK_EQ(send_one("expensive", SONDE_UPLOAD_UNMETERED), 0);
    CHECK_EQ(send_one("constrained", SONDE_UPLOAD_UNMETERED), 0);
    CHECK_EQ(send_one("expensive", SONDE_UPLOAD_NEVER), 0);
    CHECK_EQ(send_one("expensive", SONDE_UPLOAD_ALWAYS), 4); /* those that waited, too */
    CHECK_EQ(send_one("", SONDE_UPLOAD_UNMETERED), 1);
}
