// SPDX-License-Identifier: Apache-2.0
#include "base_path.h"

static size_t without_last(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/') {
        size--;
    }
    return size > 0 ? size - 1 : 0;
}

static bool add_part(char *path, size_t *size, size_t capacity, const char *part, size_t length)
{
    if (length == 0 || (length == 1 && part[0] == '.')) {
        return true;
    }
    if (length == 2 && part[0] == '.' && part[1] == '.') {
        *size = without_last(path, *size);
        return true;
    }
    if (length + 2 > capacity - *size) {
        return false;
    }
    path[(*size)++] = '/';
    for (size_t i = 0; i < length; i++) {
        path[(*size)++] = part[i];
    }
    return true;
}

bool sonde__base_path_add(char *path, size_t *size, size_t capacity, const char *parts)
{
    while (*parts != '\0') {
        size_t length = 0;
        while (parts[length] != '\0' && parts[length] != '/') {
            length++;
        }
        if (!add_part(path, size, capacity, parts, length)) {
            return false;
        }
        parts += length + (parts[length] == '/');
    }
    if (capacity < 2 || *size >= capacity) {
        return false;
    }
    if (*size == 0) {
        path[(*size)++] = '/';
    }
    path[*size] = '\0';
    return true;
}
