// SPDX-License-Identifier: Apache-2.0
#include <microhttpd.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench_collector.h"

struct body {
    size_t size;
    char bytes[64 << 10];
};

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *size, void **ret_body)
{
    static char text[] = "{\"stored\": \"new\"}\n";
    struct body *body = *ret_body;
    (void)ctx, (void)path, (void)method, (void)version;
    if (body == NULL) {
        *ret_body = malloc(sizeof *body);
        body = *ret_body;
        body->size = 0;
        return MHD_YES;
    }
    if (*size != 0) {
        size_t room = sizeof body->bytes - body->size, part = *size < room ? *size : room;
        memcpy(body->bytes + body->size, bytes, part);
        body->size += part;
        *size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static void on_end(void *ctx, struct MHD_Connection *connection, void **ret_body,
                   enum MHD_RequestTerminationCode why)
{
    (void)ctx, (void)connection, (void)why;
    free(*ret_body);
    *ret_body = NULL;
}

pid_t bench_echo(unsigned threads, int *ret_port)
{
    int ends[2], port = 0;
    if (pipe(ends) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct MHD_Daemon *daemon =
            MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
                             MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_NOTIFY_COMPLETED,
                             on_end, NULL, MHD_OPTION_END);
        const union MHD_DaemonInfo *info =
            daemon != NULL ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
        port = info != NULL ? info->port : -1;
        (void)!write(ends[1], &port, sizeof port);
        for (;;) {
            pause();
        }
    }
    if (pid < 0 || read(ends[0], &port, sizeof port) != sizeof port || port <= 0) {
        return -1;
    }
    close(ends[0]);
    close(ends[1]);
    *ret_port = port;
    return pid;
}
