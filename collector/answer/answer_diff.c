// SPDX-License-Identifier: Apache-2.0
/* How the calls of two builds differ, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "answer_builds.h"
#include "collector.h"
#include "differ.h"

enum { BUILD_TEXT = 512, PERCENT = 150, PERCENT_MIN = 101, PERCENT_MAX = 1000000 };

static const char *const changes[DIFFER_CHANGES] = {"same", "new", "changed", "gone", "unsure"};

struct asked {
    const char *base;
    struct answer_build now, then;
    uint32_t percent, limit;
};

struct putting {
    struct sonde__json *json;
    const struct differ_builds builds;
    uint32_t limit;
    uint64_t shown, counts[DIFFER_CHANGES];
};

static void put_why(struct sonde__json *json, uint32_t why)
{
    static const char *const words[] = {
        "before_consent", "not_before_consent", "over_limit", "within_limit", "more",
        "fewer",          "unlisted",           "unstable"};
    sonde__json_array(json, "why");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if ((why & 1u << i) != 0) {
            sonde__json_string(json, NULL, words[i]);
        }
    }
    sonde__json_close(json);
}

static void put_pair(void *ctx, const struct store_call_pair *pair)
{
    struct putting *p = ctx;
    struct differ_result result = differ_judge(&p->builds, pair);
    p->counts[result.change]++;
    if (result.change == DIFFER_SAME || p->shown == p->limit) {
        return;
    }
    p->shown++;
    sonde__json_object(p->json, NULL);
    sonde__json_string(p->json, "change", changes[result.change]);
    put_why(p->json, result.why);
    answer_put_call(p->json, &pair->call);
    sonde__json_object(p->json, "now");
    answer_put_call_sum(p->json, &pair->now);
    sonde__json_close(p->json);
    sonde__json_object(p->json, "then");
    answer_put_call_sum(p->json, &pair->then);
    sonde__json_close(p->json);
    sonde__json_close(p->json);
}

static enum store_status put_diff(struct http_request *request, struct sonde__json *json,
                                  const void *ctx)
{
    const struct asked *asked = ctx;
    struct putting p = {.json = json,
                        .builds = {asked->now.recorded, asked->then.recorded, asked->percent},
                        .limit = asked->limit};
    sonde__json_string(json, "build", request->parts[1]);
    sonde__json_string(json, "base", asked->base);
    sonde__json_uint(json, "recorded", asked->now.recorded);
    sonde__json_uint(json, "base_recorded", asked->then.recorded);
    sonde__json_uint(json, "percent", asked->percent);
    sonde__json_array(json, "changes");
    enum store_status status = store_compare(request->collector->store, request->project,
                                             request->parts[1], asked->base, put_pair, &p);
    sonde__json_close(json);
    uint64_t all = 0;
    for (unsigned i = 0; i < DIFFER_CHANGES; i++) {
        sonde__json_uint(json, changes[i], p.counts[i]);
        all += i != DIFFER_SAME ? p.counts[i] : 0;
    }
    sonde__json_uint(json, "left_out", all - p.shown);
    return status;
}

static bool read_percent(struct http_request *request, uint32_t *ret_percent)
{
    const char *text = http_argument(request, "percent");
    char *end;
    *ret_percent = PERCENT;
    if (text == NULL) {
        return true;
    }
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < PERCENT_MIN || value > PERCENT_MAX) {
        (void)http_refuse(request, 400, "percent: a number from %d to %d is expected", PERCENT_MIN,
                          PERCENT_MAX);
        return false;
    }
    *ret_percent = (uint32_t)value;
    return true;
}

/* Find a build with recorded calls. False: it was refused. */
static bool find(struct http_request *request, const char *name, struct answer_build *ret_build)
{
    enum store_status status = answer_find_build(request, name, ret_build);
    if (status == STORE_OK && ret_build->recorded != 0) {
        return true;
    }
    if (status == STORE_OK || status == STORE_ABSENT) {
        (void)http_refuse(request, 404, "no calls of the build, or of the base, were recorded");
    } else {
        (void)answer_failed(request, status);
    }
    return false;
}

enum http_when answer_diff(struct http_request *request)
{
    char baseline[BUILD_TEXT];
    struct asked asked = {.base = http_argument(request, "base")};
    if (!read_percent(request, &asked.percent) ||
        !answer_limit(request, 200, 10000, &asked.limit)) {
        return HTTP_NOW;
    }
    if (asked.base == NULL) {
        enum store_status status =
            store_baseline(request->collector->store, request->project, baseline, sizeof baseline);
        if (status == STORE_ABSENT) {
            return http_refuse(request, 400, "base: a build is expected: there is no baseline");
        }
        if (status != STORE_OK) {
            return answer_failed(request, status);
        }
        asked.base = baseline;
    }
    return find(request, request->parts[1], &asked.now) && find(request, asked.base, &asked.then)
               ? answer_json(request, put_diff, &asked)
               : HTTP_NOW;
}
