// SPDX-License-Identifier: Apache-2.0
/* Growing sections, and integers in them. */
#include <string.h>

#include "encode.h"
#include "mem_heap.h"

uint8_t *encode_room(struct encode *e, enum symindex_section section, size_t size)
{
    struct section *s = &e->sections[section];
    if (s->data == NULL || size > s->capacity - s->size) {
        size_t wanted = s->capacity + s->capacity / 2;
        uint8_t *data;
        wanted = wanted > s->size + size ? wanted : s->size + size;
        wanted = wanted > 4096 ? wanted : 4096;
        data = sonde__mem_resize_array(s->data, wanted, 1);
        if (data == NULL) {
            e->c->status = SONDE_MEMORY;
            return NULL;
        }
        s->data = data;
        s->capacity = wanted;
    }
    memset(s->data + s->size, 0, size);
    s->size += size;
    return s->data + s->size - size;
}
