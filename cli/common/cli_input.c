// SPDX-License-Identifier: Apache-2.0
#include "cli_input.h"

#include <errno.h>
#include <string.h>

#include "mem_heap.h"

enum { BLOCK_BYTES = SONDE__CLI_INPUT_BEGIN };

const char *sonde__cli_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Make room for another block. False: no memory. */
static bool make_room(struct sonde__cli_input *input, size_t *capacity)
{
    size_t wanted = *capacity != 0 ? *capacity * 2 : BLOCK_BYTES;
    uint8_t *data;
    if (*capacity - input->size >= BLOCK_BYTES) {
        return true;
    }
    data = sonde__mem_resize_array(input->data, wanted, 1);
    if (data == NULL) {
        return false;
    }
    input->data = data;
    *capacity = wanted;
    return true;
}

static int read_all(FILE *file, sonde__cli_input_begins *begins, struct sonde__cli_input *input)
{
    size_t capacity = 0;
    size_t size;
    errno = 0;
    do {
        if (!make_room(input, &capacity)) {
            return ENOMEM;
        }
        if (input->size > SONDE__CLI_INPUT_MAX) {
            return EFBIG;
        }
        size = fread(input->data + input->size, 1, BLOCK_BYTES, file);
        if (input->size == 0 && size > 0 && !begins(input->data, size)) {
            input->size = size;
            return 0; /* the reader will report the malformed input */
        }
        input->size += size;
    } while (size > 0);
    return ferror(file) != 0 ? (errno != 0 ? errno : EIO) : 0;
}

int sonde__cli_input_read(const struct sonde__cli_command *command, const char *path,
                          sonde__cli_input_begins *begins, struct sonde__cli_input *ret_input)
{
    struct sonde__cli_input input = {0};
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    int reason;
    if (file == NULL) {
        return sonde__cli_fail_os(command, sonde__cli_input_name(path), errno);
    }
    reason = read_all(file, begins, &input);
    if (file != stdin) {
        fclose(file);
    }
    if (reason != 0) {
        sonde__cli_input_done(&input);
        return sonde__cli_fail_os(command, sonde__cli_input_name(path), reason);
    }
    *ret_input = input;
    return SONDE__CLI_OK;
}

void sonde__cli_input_done(struct sonde__cli_input *input)
{
    sonde__mem_free(input->data);
    input->data = NULL;
    input->size = 0;
}
