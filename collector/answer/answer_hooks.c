// SPDX-License-Identifier: Apache-2.0
/* Hooks of a project, for keys with the role admin. The secret is in the answer to its addition,
 * and in no other. */
#include <inttypes.h>
#include <string.h>

#include "answers.h"
#include "collector.h"

static struct store_actor actor_of(const struct http_request *request)
{
    return (struct store_actor){request->key.number, collector_now_ns()};
}

/* An array of the words of a list, "new,spiking". */
static void put_words(struct sonde__json *json, const char *key, char *words)
{
    char *rest = words, *word;
    sonde__json_array(json, key);
    while ((word = strsep(&rest, ",")) != NULL && *word != '\0') {
        sonde__json_string(json, NULL, word);
    }
    sonde__json_close(json);
}

static void put_hook(void *ctx, const struct store_hook *hook)
{
    struct sonde__json *json = ctx;
    char words[HOOK_WORDS_TEXT];
    sonde__json_object(json, NULL);
    sonde__json_int(json, "hook", hook->number);
    sonde__json_string(json, "url", hook->url);
    hook_events_text(hook->events, words);
    put_words(json, "events", words);
    hook_kinds_text(hook->kinds, words);
    put_words(json, "kinds", words);
    sonde__json_time(json, "made", hook->made_ns);
    sonde__json_time(json, "disabled", hook->disabled_ns);
    sonde__json_uint(json, "sent", hook->sent);
    sonde__json_uint(json, "waiting", hook->waiting);
    sonde__json_uint(json, "given_up", hook->given_up);
    sonde__json_uint(json, "lost", hook->lost);
    sonde__json_time(json, "last_try", hook->last_ns);
    sonde__json_string(json, "last_answer", hook->last);
    sonde__json_close(json);
}

static enum store_status put_hooks(struct http_request *request, struct sonde__json *json,
                                   const void *ctx)
{
    (void)ctx;
    sonde__json_array(json, "hooks");
    enum store_status status =
        store_hooks(request->collector->store, request->project, put_hook, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_hooks(struct http_request *request)
{
    return answer_json(request, put_hooks, NULL);
}

/* --- changes --- */

/* What an answer to a change has. */
struct changed {
    int64_t number;
    const char *secret, *message; /* or null */
};

static enum store_status put_changed(struct http_request *request, struct sonde__json *json,
                                     const void *ctx)
{
    const struct changed *changed = ctx;
    (void)request;
    sonde__json_int(json, "hook", changed->number);
    if (changed->secret != NULL) {
        sonde__json_string(json, "secret", changed->secret);
    }
    if (changed->message != NULL) {
        sonde__json_string(json, "message", changed->message);
    }
    return STORE_OK;
}

static enum http_when give(struct http_request *request, unsigned status,
                           const struct changed *changed)
{
    enum http_when when = answer_json(request, put_changed, changed);
    if (request->answer.status == 200) {
        request->answer.status = status;
    }
    return when;
}

/* Read events and kinds of the form. False: it was refused. */
static bool read_lists(struct http_request *request, struct store_hook *hook)
{
    char text[HOOK_URL_MAX];
    bool is_there;
    if (!answer_field(request, "events", text, sizeof text, &is_there)) {
        return false;
    }
    if (is_there && !hook_parse_events(text, &hook->events)) {
        (void)http_refuse(request, 400, "events: a list of new, regressed, spiking is expected");
        return false;
    }
    if (!answer_field(request, "kinds", text, sizeof text, &is_there)) {
        return false;
    }
    if (is_there && !hook_parse_kinds(text, &hook->kinds)) {
        (void)http_refuse(request, 400, "kinds: a list of stall, finding, error, call is expected");
        return false;
    }
    return true;
}

enum http_when answer_add_hook(struct http_request *request)
{
    char url[HOOK_URL_MAX + 1], secret[HOOK_SECRET_TEXT];
    struct changed changed = {.secret = secret};
    const struct store_actor actor = actor_of(request);
    struct store_hook hook = {.project = request->project,
                              .url = url,
                              .events = HOOK_EVENTS_ALL,
                              .kinds = hook_kinds_default()};
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    if (http_field(request, "url", url, sizeof url) != HTTP_FIELD_TEXT || !hook_is_url(url)) {
        return http_refuse(request, 400,
                           "url: an address as https://host/path is expected, without a user");
    }
    if (!read_lists(request, &hook)) {
        return HTTP_NOW;
    }
    if (!hook_make_secret(&hook.secret)) {
        return http_refuse(request, 503, "the system gives no random numbers");
    }
    enum store_status status =
        store_add_hook(request->collector->store, &actor, &hook, &changed.number);
    if (status != STORE_OK) {
        return answer_failed(request, status);
    }
    hook_secret_text(&hook.secret, secret);
    return give(request, 201, &changed);
}

typedef enum store_status change_hook(struct store *store, const struct store_actor *actor,
                                      uint32_t project, int64_t number);

static enum http_when change(struct http_request *request, change_hook *change_it)
{
    const struct store_actor actor = actor_of(request);
    const struct changed changed = {.number = answer_number(request->parts[1])};
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    enum store_status status =
        change_it(request->collector->store, &actor, request->project, changed.number);
    return status == STORE_OK ? give(request, 200, &changed) : answer_failed(request, status);
}

enum http_when answer_remove_hook(struct http_request *request)
{
    return change(request, store_remove_hook);
}

enum http_when answer_enable_hook(struct http_request *request)
{
    return change(request, store_enable_hook);
}

enum http_when answer_test_hook(struct http_request *request)
{
    char id[HOOK_ID_TEXT];
    const struct store_actor actor = actor_of(request);
    const struct changed changed = {.number = answer_number(request->parts[1]), .message = id};
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "a form of another site");
    }
    enum store_status status =
        store_test_hook(request->collector->store, &actor, request->project, changed.number, id);
    return status == STORE_OK ? give(request, 202, &changed) : answer_failed(request, status);
}
