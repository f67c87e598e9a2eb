// SPDX-License-Identifier: Apache-2.0
/* sonde-collector hook: add, list, remove, enable and test hooks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "collector.h"
#include "post.h"

struct request {
    struct collector_where where;
    const char *project, *events, *kinds;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, where.data),
    COLLECTOR_OPTION_DATABASE(struct request, where.database),
    {"project", 'p', "NAME", "with add: of this project; with list: only of this",
     sonde__cli_take_text, offsetof(struct request, project)},
    {"events", 'e', "LIST", "with add: of new, regressed, spiking (default: all)",
     sonde__cli_take_text, offsetof(struct request, events)},
    {"kinds", 'k', "LIST",
     "with add: groups of stall, finding, error, call (default: all but call)",
     sonde__cli_take_text, offsetof(struct request, kinds)},
    {0}};

static int add(const struct sonde__cli_command *command, struct store *store,
               const struct request *request, const char *url)
{
    char secret[HOOK_SECRET_TEXT];
    int64_t number;
    const struct store_actor actor = {.now_ns = collector_now_ns()};
    struct store_hook hook = {.url = url, .events = HOOK_EVENTS_ALL, .kinds = hook_kinds_default()};
    if (request->project == NULL) {
        return sonde__cli_usage_error(command, "a hook is for one --project");
    }
    if (!hook_is_url(url)) {
        return sonde__cli_usage_error(
            command, "an address as https://host/path is expected, without a user: %s", url);
    }
    if (request->events != NULL && !hook_parse_events(request->events, &hook.events)) {
        return sonde__cli_usage_error(command, "--events: not of new, regressed, spiking: %s",
                                      request->events);
    }
    if (request->kinds != NULL && !hook_parse_kinds(request->kinds, &hook.kinds)) {
        return sonde__cli_usage_error(command, "--kinds: not of stall, finding, error, call: %s",
                                      request->kinds);
    }
    if (!posts_are_there()) {
        sonde__cli_error(command, "this program was built without libcurl: it sends nothing");
        return SONDE__CLI_UNSUPPORTED;
    }
    int exit_code = collector_find_project(command, store, request->project, &hook.project);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (!hook_make_secret(&hook.secret)) {
        sonde__cli_error(command, "the system gives no random numbers");
        return SONDE__CLI_FAILED;
    }
    enum store_status status = store_add_hook(store, &actor, &hook, &number);
    if (status != STORE_OK) {
        return collector_fail(command, "hook", status);
    }
    hook_secret_text(&hook.secret, secret);
    printf("hook    %" PRId64 "\nsecret  %s\n", number, secret);
    return SONDE__CLI_OK;
}

static void print_hook(void *ctx, const struct store_hook *hook)
{
    char events[HOOK_WORDS_TEXT], kinds[HOOK_WORDS_TEXT];
    (void)ctx;
    hook_events_text(hook->events, events);
    hook_kinds_text(hook->kinds, kinds);
    printf("%-4" PRId64 " %-8s  %s  %s\n     of %s; %s; %" PRIu64 " sent, %" PRIu64
           " waiting, %" PRIu64 " given up, %" PRIu64 " lost",
           hook->number, hook->disabled_ns != 0 ? "disabled" : "enabled", hook->project_name,
           hook->url, kinds, events, hook->sent, hook->waiting, hook->given_up, hook->lost);
    printf("%s%s\n", hook->last[0] != '\0' ? "; last: " : "", hook->last);
}

static int list(const struct sonde__cli_command *command, struct store *store,
                const struct request *request)
{
    uint32_t project = 0;
    if (request->project != NULL) {
        int exit_code = collector_find_project(command, store, request->project, &project);
        if (exit_code != SONDE__CLI_GO_ON) {
            return exit_code;
        }
    }
    enum store_status status = store_hooks(store, project, print_hook, NULL);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
}

/* --- a test --- */

enum { TEST_SECONDS = 15 };

struct testing {
    int64_t number;
    struct hook_secret secret;
    char *url;
    char project[STORE_NAME_MAX + 1];
    bool is_over;
    unsigned status;
    char why[160];
};

static void take_hook(void *ctx, const struct store_hook *hook)
{
    struct testing *testing = ctx;
    if (hook->number == testing->number) {
        testing->secret = hook->secret;
        testing->url = strdup(hook->url);
        snprintf(testing->project, sizeof testing->project, "%s", hook->project_name);
    }
}

static void take_result(void *ctx, const struct post_result *result)
{
    struct testing *testing = ctx;
    testing->is_over = true;
    testing->status = result->status;
    snprintf(testing->why, sizeof testing->why, "%s", result->why);
}

/* Send one message, and wait for its answer. False: it could not begin. */
static bool send_test(struct testing *testing)
{
    char id[HOOK_ID_TEXT];
    const struct posts_options how = {.seconds = TEST_SECONDS};
    const struct hook_message message = {
        .event = HOOK_TEST, .time_ns = collector_now_ns(), .project = testing->project};
    struct posts *posts = posts_begin(&how);
    char *body = hook_message_body(&message);
    hook_message_id(&testing->secret, &message, id);
    const struct post post = {.url = testing->url,
                              .id = id,
                              .body = body,
                              .secret = &testing->secret,
                              .now_s = message.time_ns / 1000000000u,
                              .ctx = testing};
    bool has_begun = posts != NULL && body != NULL && posts_add(posts, &post);
    while (has_begun && !testing->is_over) {
        posts_wait(posts, TEST_SECONDS * 1000, take_result, testing);
    }
    posts_end(posts);
    free(body);
    return has_begun;
}

static int test(const struct sonde__cli_command *command, struct store *store, int64_t number)
{
    struct testing testing = {.number = number};
    enum store_status status = store_hooks(store, 0, take_hook, &testing);
    if (status == STORE_OK && testing.url == NULL) {
        status = STORE_ABSENT;
    }
    if (status != STORE_OK) {
        return collector_fail(command, "hook", status);
    }
    bool has_begun = send_test(&testing);
    free(testing.url);
    if (!has_begun || testing.status == 0) {
        sonde__cli_error(command, "hook %" PRId64 ": %s", number,
                         has_begun ? testing.why : "nothing can be sent");
        return SONDE__CLI_FAILED;
    }
    printf("status %u\n", testing.status);
    return testing.status >= 200 && testing.status < 300 ? SONDE__CLI_OK : SONDE__CLI_FAILED;
}

static int act(const struct sonde__cli_command *command, struct store *store, const void *ctx,
               const struct sonde__cli_operands *operands)
{
    const struct request *request = ctx;
    const char *verb = operands->count > 0 ? operands->list[0] : "list";
    uint64_t number = 0;
    const struct store_actor actor = {.now_ns = collector_now_ns()};
    if (strcmp(verb, "add") == 0 && operands->count == 2) {
        return add(command, store, request, operands->list[1]);
    }
    if (strcmp(verb, "list") == 0 && operands->count <= 1) {
        return list(command, store, request);
    }
    bool is_remove = strcmp(verb, "remove") == 0, is_enable = strcmp(verb, "enable") == 0;
    if ((!is_remove && !is_enable && strcmp(verb, "test") != 0) || operands->count != 2) {
        return sonde__cli_usage_error(
            command, "takes add URL, list, remove NUMBER, enable NUMBER, or test NUMBER");
    }
    if (!sonde__cli_parse_uint(operands->list[1], INT64_MAX, &number)) {
        return sonde__cli_usage_error(command, "not the number of a hook: %s", operands->list[1]);
    }
    if (!is_remove && !is_enable) {
        return test(command, store, (int64_t)number);
    }
    enum store_status status = is_remove ? store_remove_hook(store, &actor, 0, (int64_t)number)
                                         : store_enable_hook(store, &actor, 0, (int64_t)number);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "hook", status);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.where.data = COLLECTOR_DATA};
    return collector_run(command, argc, argv, &request.where, act);
}

const struct sonde__cli_command collector_cmd_hook = {
    .name = "hook",
    .summary = "tell other programs of new, regressed and spiking groups",
    .usage = "--project=NAME [--events=LIST] [--kinds=LIST] add URL\n[OPTION...] [list]\n"
             "[OPTION...] remove NUMBER\n[OPTION...] enable NUMBER\n[OPTION...] test NUMBER",
    .about = "A hook is an address to which the server posts a message when a group of the\n"
             "project is new, is back after it was resolved, or has far more events than\n"
             "usual. Messages are those of Standard Webhooks (standardwebhooks.com), signed\n"
             "with the hook's secret, which is printed once. One that is not taken is sent\n"
             "again, with the same id, for three days. A hook whose server answers 410, or\n"
             "takes nothing for that time, is disabled; enable sends it what happens from then\n"
             "on.\n"
             "\n"
             "test sends one message now, and prints the status of its answer.\n",
    .options = options,
    .examples = "  sonde-collector hook --project web add https://chat.example/hooks/sonde\n"
                "  sonde-collector hook test 1\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
