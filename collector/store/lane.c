// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#define STEPS_MAX 500000000u
enum { STEPS = 100000 }; /* between two looks */

static _Thread_local unsigned my_lane;

void store_use_lane(unsigned lane)
{
    my_lane = lane % STORE_LANES;
}

void store_limit_steps(struct store *store, uint64_t steps)
{
    for (unsigned i = 1; i < STORE_LANES; i++) {
        store->lanes[i].steps_max = steps / STEPS;
    }
}

/* On the thread that asks. Not 0: end the question. */
static int count_steps(void *ctx)
{
    struct sqlite_lane *lane = ctx;
    return ++lane->steps > lane->steps_max;
}

void sqlite_bound_lane(struct sqlite_lane *lane)
{
    lane->steps_max = STEPS_MAX / STEPS;
    sqlite3_progress_handler(lane->db, STEPS, count_steps, lane);
}

struct sqlite_asking sqlite_ask(struct store *store, const char *text)
{
    struct sqlite_asking asking = {.lane = &store->lanes[my_lane], .result = SQLITE_ERROR};
    pthread_mutex_lock(&asking.lane->mutex);
    asking.lane->steps = 0;
    (void)sqlite3_prepare_v2(asking.lane->db, text, -1, &asking.statement, NULL);
    return asking;
}

bool sqlite_row(struct sqlite_asking *asking)
{
    if (asking->statement != NULL) {
        asking->result = sqlite3_step(asking->statement);
    }
    return asking->result == SQLITE_ROW;
}

enum store_status sqlite_end(struct sqlite_asking *asking)
{
    enum store_status status = STORE_OK;
    if (asking->result == SQLITE_INTERRUPT) {
        (void)sqlite_fail_with("the question takes too many steps");
        status = STORE_LONG;
    } else if (asking->result != SQLITE_DONE && asking->result != SQLITE_ROW) {
        status = sqlite_fail(asking->lane->db);
    }
    sqlite3_finalize(asking->statement);
    pthread_mutex_unlock(&asking->lane->mutex);
    return status;
}

enum store_status sqlite_end_of_one(struct sqlite_asking *asking, bool is_there)
{
    enum store_status status = sqlite_end(asking);
    return status == STORE_OK && !is_there ? STORE_ABSENT : status;
}
