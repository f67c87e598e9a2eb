// SPDX-License-Identifier: Apache-2.0
#include "when_text.h"

#include <fcntl.h>

#include "base_path.h"
#include "os.h"

enum sonde__when_result sonde__when_text(uint64_t address, char text[SONDE__WHEN_STRING])
{
    size_t size = address != 0 ? sonde__os_read(address, text, SONDE__WHEN_STRING) : 0, end = 0;
    while (end < size && text[end] != '\0') {
        end++;
    }
    return address == 0 ? SONDE__WHEN_NO : end < size ? SONDE__WHEN_YES : SONDE__WHEN_UNREAD;
}

/* "" is the folder itself, if the call has one. */
enum sonde__when_result sonde__when_path(uint64_t address, int32_t folder, char *path,
                                         size_t capacity)
{
    char text[SONDE__WHEN_STRING];
    size_t size = 0;
    enum sonde__when_result state = sonde__when_text(address, text);
    if (state != SONDE__WHEN_YES) {
        return state;
    }
    if (text[0] == '\0' && folder == AT_FDCWD) {
        return SONDE__WHEN_NO;
    }
    if (text[0] != '/') {
        size = sonde__os_folder(folder, path, capacity);
        if (size == 0) {
            return SONDE__WHEN_UNREAD;
        }
        size -= size == 1; /* the root */
    }
    return sonde__base_path_add(path, &size, capacity, text) ? SONDE__WHEN_YES : SONDE__WHEN_UNREAD;
}
