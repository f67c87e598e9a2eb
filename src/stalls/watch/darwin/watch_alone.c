// SPDX-License-Identifier: Apache-2.0
/* A watch inside its program, on a system where it is the only kind: no supervisor, no look from
 * outside, no children that are watched, no launch before the first turn. What the rounds ask of
 * these answers that there is none. */
#include "watch_family.h"
#include "watch_follow.h"
#include "watch_launch.h"
#include "watch_outside.h"
#include "watch_program.h"
#include "watch_workers.h"

/* --- other processes --- */

void sonde__watch_show_family(struct sonde__watch_session *session, const char *why)
{
    (void)session, (void)why;
}

bool sonde__watch_describe_missed(const struct sonde__probe_follow *follow, char *ret_text,
                                  size_t capacity)
{
    (void)follow, (void)ret_text, (void)capacity;
    return false;
}

bool sonde__watch_awaits_report(const struct sonde__watch_options *options)
{
    (void)options;
    return false;
}

void sonde__watch_attend_workers(struct sonde__watch_session *session, uint64_t now_ns)
{
    (void)session, (void)now_ns;
}

bool sonde__watch_expects_workers(const struct sonde__watch_session *session, uint64_t now_ns)
{
    (void)session, (void)now_ns;
    return false;
}

void sonde__watch_print_workers(struct sonde__watch_session *session)
{
    (void)session;
}

void sonde__watch_inspect(const char *path, struct sonde__watch_program *ret_program)
{
    (void)path;
    *ret_program = (struct sonde__watch_program){0};
}

/* --- the launch --- */

void sonde__watch_launch_begin(struct sonde__watch_session *session)
{
    (void)session;
}

uint64_t sonde__watch_launch_inspect(struct sonde__watch_session *session, uint64_t now_ns,
                                     bool *ret_busy)
{
    (void)session, (void)now_ns, (void)ret_busy;
    return UINT64_MAX;
}

void sonde__watch_launch_finish(struct sonde__watch_session *session)
{
    (void)session;
}

void sonde__watch_launch_drop(struct sonde__watch_session *session)
{
    (void)session;
}

/* --- looks from outside --- */

void sonde__watch_outside_destroy(struct sonde__watch_outside *outside)
{
    (void)outside;
}

void sonde__watch_outside_look(struct sonde__watch_session *session, uint64_t now_ns)
{
    (void)session, (void)now_ns;
}

void sonde__watch_outside_look_again(struct sonde__watch_session *session,
                                     const struct sonde__watch_loop *loop)
{
    (void)session, (void)loop;
}

void sonde__watch_outside_forget(struct sonde__watch_session *session)
{
    (void)session;
}

uint64_t sonde__watch_outside_period(const struct sonde__watch_session *session, uint64_t now_ns)
{
    (void)session, (void)now_ns;
    return UINT64_MAX;
}

bool sonde__watch_outside_sleep(struct sonde__watch_session *session, uint64_t now_ns)
{
    (void)session, (void)now_ns;
    return false;
}

void sonde__watch_outside_wake(struct sonde__watch_session *session)
{
    (void)session;
}

struct sonde__watch_outside_counts
sonde__watch_outside_counts(const struct sonde__watch_outside *outside)
{
    (void)outside;
    return (struct sonde__watch_outside_counts){0};
}
