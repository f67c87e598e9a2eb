// SPDX-License-Identifier: Apache-2.0
#include "http_slow.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct slow {
    pthread_mutex_t mutex; /* of the list: a descriptor in it is open */
    struct slow_client *first;
    uint64_t most_ns;
};

uint64_t slow_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct slow *slow_begin(uint32_t seconds, uint32_t idle_seconds)
{
    struct slow *slow = calloc(1, sizeof *slow);
    if (slow != NULL) {
        pthread_mutex_init(&slow->mutex, NULL);
        /* a client may first be silent; then libmicrohttpd drops it */
        slow->most_ns = ((uint64_t)seconds + idle_seconds) * 1000000000u;
    }
    return slow;
}

void slow_end(struct slow *slow)
{
    pthread_mutex_destroy(&slow->mutex);
    free(slow);
}

struct slow_client *slow_add(struct slow *slow, int fd)
{
    struct slow_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->fd = fd;
    client->since_ns = slow_now_ns();
    pthread_mutex_lock(&slow->mutex);
    client->next = slow->first;
    client->before = &slow->first;
    if (client->next != NULL) {
        client->next->before = &client->next;
    }
    slow->first = client;
    pthread_mutex_unlock(&slow->mutex);
    return client;
}

void slow_remove(struct slow *slow, struct slow_client *client)
{
    pthread_mutex_lock(&slow->mutex);
    *client->before = client->next;
    if (client->next != NULL) {
        client->next->before = client->before;
    }
    pthread_mutex_unlock(&slow->mutex);
    free(client);
}

void slow_restart(struct slow_client *client)
{
    atomic_store_explicit(&client->since_ns, slow_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&client->bytes, 0, memory_order_relaxed);
}

unsigned slow_look(struct slow *slow, uint64_t now_ns)
{
    unsigned count = 0;
    pthread_mutex_lock(&slow->mutex);
    for (struct slow_client *client = slow->first; client != NULL; client = client->next) {
        uint64_t past_ns = now_ns - client->since_ns;
        uint64_t more_ns = client->bytes * (1000000000u / SLOW_BYTES_SECOND);
        if (!client->is_asked && past_ns <= INT64_MAX && past_ns > slow->most_ns + more_ns) {
            (void)shutdown(client->fd, SHUT_RDWR); /* its thread finds it closed */
            slow_restart(client);
            count++;
        }
    }
    pthread_mutex_unlock(&slow->mutex);
    return count;
}
