// SPDX-License-Identifier: Apache-2.0
/* Shots without frames, from /proc alone: state, call and what it waits for. See watch_capture.h.
 */
#include "watch_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_run.h"
#include "os.h"
#include "watch_cause.h"

struct sonde__watch_camera {
    int32_t pid;
    struct sonde__report *report;
};

enum sonde_status sonde__watch_camera_open(int32_t pid, struct sonde__watch_camera **ret_camera,
                                           struct sonde_error *ret_error)
{
    struct sonde__watch_camera *camera = calloc(1, sizeof *camera);
    (void)ret_error;
    if (camera == NULL) {
        return SONDE_MEMORY;
    }
    camera->pid = pid;
    *ret_camera = camera;
    return SONDE_OK;
}

void sonde__watch_camera_close(struct sonde__watch_camera *camera)
{
    free(camera);
}

void sonde__watch_camera_refresh(struct sonde__watch_camera *camera)
{
    (void)camera;
}

static bool peek(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    return sonde__os_read_process(*(const int32_t *)ctx, address, ret_bytes, size, NULL) == size;
}

bool sonde__watch_shoot(struct sonde__watch_camera *camera, int32_t tid,
                        struct sonde__watch_shot *ret_shot)
{
    struct sonde__host_thread_look look;
    struct sonde__os_wait wait;
    char line[256];
    if (!sonde__host_look_thread(camera->pid, tid, &look)) {
        return false;
    }
    memset(ret_shot, 0, sizeof *ret_shot);
    ret_shot->tid = tid;
    ret_shot->main = tid == camera->pid;
    ret_shot->state = look.state;
    ret_shot->syscall = -1;
    ret_shot->end = SONDE_END_NOT_READ;
    if (look.state != 'R' && sonde__host_thread_wait_line(camera->pid, tid, line, sizeof line) &&
        sonde__os_parse_wait(line, strlen(line), &wait) && wait.in_syscall) {
        ret_shot->syscall = wait.syscall;
        sonde__watch_cause(camera->pid, wait.syscall, wait.args, peek, &camera->pid,
                           ret_shot->detail, sizeof ret_shot->detail);
    }
    return true;
}

uint32_t sonde__watch_shoot_all(struct sonde__watch_camera *camera, int32_t except,
                                struct sonde__watch_shot *ret_shots, uint32_t capacity,
                                uint32_t *ret_total)
{
    static int32_t tids[4096];
    size_t total = 0;
    uint32_t n = 0;
    if (sonde__os_list_threads(camera->pid, tids, 4096, &total, NULL) != SONDE_OK) {
        total = 0;
    }
    for (size_t i = 0; i < total && i < 4096 && n < capacity; i++) {
        n += tids[i] != except && sonde__watch_shoot(camera, tids[i], &ret_shots[n]);
    }
    *ret_total = (uint32_t)total;
    return n;
}

void sonde__watch_shot_done(struct sonde__watch_shot *shot)
{
    (void)shot;
}

bool sonde__watch_shot_same(const struct sonde__watch_shot *a, const struct sonde__watch_shot *b)
{
    return a->syscall == b->syscall && a->state == b->state && strcmp(a->detail, b->detail) == 0;
}

enum sonde_status sonde__watch_camera_target(struct sonde__watch_camera *camera,
                                             struct sonde__report *report)
{
    camera->report = report;
    return SONDE_OK;
}

uint32_t sonde__watch_develop(struct sonde__watch_camera *camera,
                              const struct sonde__watch_shot *shot)
{
    (void)camera, (void)shot;
    return 0;
}

void sonde__watch_develop_thread(struct sonde__watch_camera *camera,
                                 const struct sonde__watch_shot *shot, struct sonde__report *report,
                                 struct sonde__report_thread *ret_thread)
{
    (void)camera;
    *ret_thread = (struct sonde__report_thread){
        .tid = shot->tid,
        .state = (uint8_t)shot->state,
        .main = shot->main,
        .end = shot->end,
        .syscall = shot->syscall + 1,
        .detail = shot->detail[0] != '\0' ? sonde__report_string(report, shot->detail) : 0,
    };
}

void sonde__watch_place(struct sonde__watch_camera *camera, uint64_t pc, char *ret_text,
                        size_t capacity)
{
    (void)camera;
    snprintf(ret_text, capacity, "0x%llx", (unsigned long long)pc);
}
