// SPDX-License-Identifier: Apache-2.0
#include "http_questions.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS_MAX = STORE_LANES };

struct questions {
    pthread_t threads[THREADS_MAX];
    unsigned thread_count, lanes, lanes_max;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct http_request *first, **last;
    bool is_ending;
};

/* The next request; null: the thread ends. */
static struct http_request *next(struct questions *q)
{
    pthread_mutex_lock(&q->mutex);
    while (q->first == NULL && !q->is_ending) {
        pthread_cond_wait(&q->changed, &q->mutex);
    }
    struct http_request *request = q->first;
    if (request != NULL) {
        q->first = request->next;
        q->last = q->first == NULL ? &q->first : q->last;
    }
    pthread_mutex_unlock(&q->mutex);
    return request;
}

static void *answer_all(void *ctx)
{
    struct questions *q = ctx;
    pthread_setname_np(pthread_self(), "question");
    pthread_mutex_lock(&q->mutex);
    store_use_lane(q->lanes < q->lanes_max ? ++q->lanes : 0);
    pthread_mutex_unlock(&q->mutex);
    for (struct http_request *request; (request = next(q)) != NULL;) {
        (void)request->route->handle(request);
        request->is_answered = true;
        MHD_resume_connection(request->connection); /* the request may be over when it returns */
    }
    return NULL;
}

struct questions *questions_begin(unsigned lanes)
{
    unsigned threads = lanes == 0 ? 1 : lanes;
    struct questions *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return NULL;
    }
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->changed, NULL);
    q->last = &q->first;
    q->lanes_max = lanes;
    while (q->thread_count < threads &&
           pthread_create(&q->threads[q->thread_count], NULL, answer_all, q) == 0) {
        q->thread_count++;
    }
    if (q->thread_count == 0) {
        questions_end(q);
        return NULL;
    }
    return q;
}

bool questions_add(struct questions *q, struct http_request *request)
{
    pthread_mutex_lock(&q->mutex);
    bool is_taken = !q->is_ending;
    if (is_taken) {
        MHD_suspend_connection(request->connection);
        request->next = NULL;
        *q->last = request;
        q->last = &request->next;
        pthread_cond_signal(&q->changed);
    }
    pthread_mutex_unlock(&q->mutex);
    return is_taken;
}

void questions_end(struct questions *q)
{
    pthread_mutex_lock(&q->mutex);
    q->is_ending = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    for (unsigned i = 0; i < q->thread_count; i++) {
        pthread_join(q->threads[i], NULL);
    }
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->mutex);
    free(q);
}
