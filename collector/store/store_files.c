// SPDX-License-Identifier: Apache-2.0
/* Files of reports in a database that several collectors share: each of them can give them. */
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"

bool store_has_files(const struct store *store)
{
    return store->is_shared;
}

enum store_status store_put_file(struct store *store, const struct hash *hash, const void *packed,
                                 size_t size)
{
    struct db_statement *statement = store->statements[STORE_ADD_FILE];
    db_bind(statement, "hb", hash, packed, size);
    return db_run(statement);
}

enum store_status store_get_file(struct store *store, const struct hash *hash, void **ret_packed,
                                 size_t *ret_size)
{
    struct store_asking asking = store_ask(store, "SELECT bytes FROM file WHERE hash = ?1");
    db_bind(asking.statement, "h", hash);
    bool is_there = store_next(&asking);
    const void *packed = is_there ? db_bytes(asking.statement, 0, ret_size) : NULL;
    void *copy = packed != NULL ? malloc(*ret_size) : NULL;
    if (copy != NULL) {
        memcpy(copy, packed, *ret_size);
    }
    enum store_status status = store_end_of_one(&asking, is_there);
    if (status == STORE_OK && copy == NULL) {
        return db_fail("no memory");
    }
    *ret_packed = copy;
    return status;
}
