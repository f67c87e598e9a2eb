// SPDX-License-Identifier: Apache-2.0
/* HTTP/1.1 over connections that stay, one request at a time on each. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench_collector.h"
#include "harness.h"

enum { CLIENTS_MAX = 256, ANSWER_MAX = 2048 };

struct client {
    int fd;
    uint64_t due_ns; /* 0: it has no request */
    size_t got;
    char answer[ANSWER_MAX];
};

struct sending {
    const struct bench_load *load;
    struct bench_answers *answers;
    struct client clients[CLIENTS_MAX];
    double *delays_ms;
    uint64_t begun, done, begin_ns, seed;
    int poll;
};

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool connect_client(struct sending *s, unsigned i)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->load->port)};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    int one = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->clients[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s->clients[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return connect(s->clients[i].fd, (struct sockaddr *)&to, sizeof to) == 0 &&
           epoll_ctl(s->poll, EPOLL_CTL_ADD, s->clients[i].fd, &event) == 0;
}

static const void *body_of(const struct bench_load *load, uint64_t n, size_t *ret_size)
{
    if (load->body != NULL) {
        return load->body(load->ctx, n, ret_size);
    }
    *ret_size = load->sizes[n % load->body_count];
    return load->bodies[n % load->body_count];
}

static bool send_request(struct sending *s, struct client *client, uint64_t due_ns)
{
    char head[640];
    size_t size_bytes = 0;
    const void *body = body_of(s->load, s->begun, &size_bytes);
    const char *coding = s->load->coding;
    uint64_t high = next_random(&s->seed), low = next_random(&s->seed);
    int size =
        snprintf(head, sizeof head,
                 "POST /api/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n"
                 "Content-Type: application/x-sonde-report\r\nSonde-Protocol: 1\r\n"
                 "Authorization: Bearer %s\r\nIdempotency-Key: \"%016llx%016llx\"\r\n%s%s%s\r\n",
                 size_bytes, s->load->key, (unsigned long long)high, (unsigned long long)low,
                 coding != NULL ? "Content-Encoding: " : "", coding != NULL ? coding : "",
                 coding != NULL ? "\r\n" : "");
    struct iovec parts[2] = {{head, (size_t)size}, {(void *)body, size_bytes}};
    client->due_ns = due_ns;
    client->got = 0;
    s->begun++;
    ssize_t sent = writev(client->fd, parts, 2);
    return sent == (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

/* Is the answer whole? */
static bool is_whole(const struct client *client)
{
    const char *end = memmem(client->answer, client->got, "\r\n\r\n", 4);
    const char *length = memmem(client->answer, client->got, "Content-Length: ", 16);
    if (end == NULL || length == NULL) {
        return false;
    }
    size_t body = strtoul(length + 16, NULL, 10);
    return client->got >= (size_t)(end + 4 - client->answer) + body;
}

static bool receive(struct sending *s, struct client *client)
{
    ssize_t got = read(client->fd, client->answer + client->got, ANSWER_MAX - 1 - client->got);
    if (got <= 0) {
        return false;
    }
    client->got += (size_t)got;
    client->answer[client->got] = '\0';
    if (is_whole(client)) {
        bool is_accepted = memcmp(client->answer, "HTTP/1.1 20", 11) == 0;
        s->answers->accepted += is_accepted;
        s->answers->refused += !is_accepted;
        s->delays_ms[s->done++] = (double)(bench_now_ns() - client->due_ns) / 1e6;
        client->due_ns = 0;
    }
    return true;
}

/* When request number n is due. */
static uint64_t due_at(const struct sending *s, uint64_t n)
{
    return s->load->rate > 0 ? s->begin_ns + (uint64_t)((double)n * 1e9 / s->load->rate)
                             : bench_now_ns();
}

/* Give what is due to clients without a request. */
static bool send_due(struct sending *s)
{
    for (unsigned i = 0; i < s->load->clients && s->begun < s->load->requests; i++) {
        uint64_t due_ns = due_at(s, s->begun);
        if (due_ns > bench_now_ns()) {
            break;
        }
        if (s->clients[i].due_ns == 0 && !send_request(s, &s->clients[i], due_ns)) {
            return false;
        }
    }
    return true;
}

static bool run(struct sending *s)
{
    struct epoll_event events[64];
    while (s->done < s->load->requests) {
        if (!send_due(s)) {
            return false;
        }
        int count = epoll_wait(s->poll, events, 64, s->load->rate > 0 ? 1 : 1000);
        for (int i = 0; i < count; i++) {
            if (!receive(s, &s->clients[events[i].data.u32])) {
                return false;
            }
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool bench_load(const struct bench_load *load, struct bench_answers *ret_answers)
{
    static struct sending s;
    s = (struct sending){.load = load, .answers = ret_answers};
    s.seed = bench_now_ns();
    s.delays_ms = calloc(load->requests, sizeof *s.delays_ms);
    s.poll = epoll_create1(EPOLL_CLOEXEC);
    *ret_answers = (struct bench_answers){0};
    bool is_fine = s.delays_ms != NULL && s.poll >= 0;
    for (unsigned i = 0; i < load->clients && is_fine; i++) {
        is_fine = connect_client(&s, i);
    }
    s.begin_ns = bench_now_ns();
    is_fine = is_fine && run(&s);
    ret_answers->seconds = (double)(bench_now_ns() - s.begin_ns) / 1e9;
    for (unsigned i = 0; i < load->clients; i++) {
        close(s.clients[i].fd);
    }
    close(s.poll);
    if (is_fine) {
        qsort(s.delays_ms, s.done, sizeof *s.delays_ms, compare);
        ret_answers->p50_ms = s.delays_ms[s.done / 2];
        ret_answers->p99_ms = s.delays_ms[s.done * 99 / 100];
    }
    free(s.delays_ms);
    return is_fine;
}
