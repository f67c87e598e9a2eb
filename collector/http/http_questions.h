// SPDX-License-Identifier: Apache-2.0
/* Threads that run the handlers of questions. For this folder only. */
#ifndef SONDE_COLLECTOR_HTTP_QUESTIONS_H
#define SONDE_COLLECTOR_HTTP_QUESTIONS_H

#include "http.h"

struct questions;

/* So many threads, each with a lane of the store; 0: one thread, which shares lane 0 with others.
 * Null: no memory or threads. Ownership: questions_end(). */
struct questions *questions_begin(unsigned lanes);
/* Suspend the request, and have its handler run. It is resumed with its answer. False: they end. */
bool questions_add(struct questions *questions, struct http_request *request);
/* End the threads when all that was added is answered. libmicrohttpd aborts if it is stopped while
 * another thread has a connection, so this comes first. */
void questions_end(struct questions *questions);

#endif
