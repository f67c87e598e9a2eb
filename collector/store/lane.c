// SPDX-License-Identifier: Apache-2.0
#include "store_parts.h"

static _Thread_local unsigned my_lane;

void store_use_lane(unsigned lane)
{
    my_lane = lane % STORE_LANES;
}

void store_limit_steps(struct store *store, uint64_t steps)
{
    for (unsigned i = 1; i < STORE_LANES; i++) {
        store->lanes[i].db->kind->bound(store->lanes[i].db, steps);
    }
    if (store->is_shared) { /* threads for HTTP wait for it, too */
        store->lanes[0].db->kind->bound(store->lanes[0].db, 0);
    }
}

struct store_asking store_ask(struct store *store, const char *text)
{
    struct store_asking asking = {.lane = &store->lanes[my_lane], .result = DB_FAILED};
    pthread_mutex_lock(&asking.lane->mutex);
    asking.statement = asking.lane->db->kind->prepare(asking.lane->db, text, false);
    return asking;
}

bool store_next(struct store_asking *asking)
{
    asking->result = db_step(asking->statement);
    return asking->result == DB_ROW;
}

enum store_status store_end(struct store_asking *asking)
{
    db_end(asking->statement);
    pthread_mutex_unlock(&asking->lane->mutex);
    return asking->result == DB_LONG                               ? STORE_LONG
           : asking->result == DB_ROW || asking->result == DB_DONE ? STORE_OK
                                                                   : STORE_FAILED;
}

enum store_status store_end_of_one(struct store_asking *asking, bool is_there)
{
    enum store_status status = store_end(asking);
    return status == STORE_OK && !is_there ? STORE_ABSENT : status;
}
