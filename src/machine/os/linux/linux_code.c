// SPDX-License-Identifier: Apache-2.0
/* Finds executable memory of this process, to recognize JIT code.
 *
 * Since Linux 6.11 PROCMAP_QUERY looks up one address. On older kernels the maps file is read in
 * pieces, because a handler's stack has no room for it. */
#include "base_status.h"
#include "linux_syscall.h"
#include "os.h"
#include "os_maps.h"

/* From include/uapi/linux/fs.h of Linux 6.11, to build against older headers. */
struct map_query {
    uint64_t size, flags, address;
    uint64_t start, end;
    uint64_t rights, page_size, offset, inode;
    uint32_t device[2], name_size, build_id_size;
    uint64_t name_at, build_id_at;
};
#define MAP_QUERY                   0xc0686611u /* _IOWR('f', 17, struct map_query) */
#define MAP_QUERY_CODE_HERE_OR_NEXT 0x14        /* EXECUTABLE | COVERING_OR_NEXT_VMA */
_Static_assert(sizeof(struct map_query) == 0x68, "the size is a part of the request");

enum { TEXT_BYTES = 1024 };

enum sonde_status sonde__os_code_open(int32_t *ret_fd)
{
    return sonde__os_open("/proc/self/maps", ret_fd, NULL);
}

/* UNSUPPORTED: read the text. */
static enum sonde_status ask(int32_t fd, uint64_t address, struct sonde__os_code *ret_code)
{
    struct map_query query = {
        .size = sizeof query, .flags = MAP_QUERY_CODE_HERE_OR_NEXT, .address = address};
    long result = linux_call(SYS_ioctl, fd, MAP_QUERY, &query, 0);
    if (result == -ENOENT) {
        *ret_code = (struct sonde__os_code){address, UINT64_MAX, false};
        return SONDE_OK;
    }
    if (linux_failed(result)) {
        return SONDE_UNSUPPORTED;
    }
    ret_code->is_code = query.start <= address;
    ret_code->start = ret_code->is_code ? query.start : address;
    ret_code->end = ret_code->is_code ? query.end : query.start;
    return SONDE_OK;
}

static enum sonde_status read_text(int32_t fd, uint64_t address, struct sonde__os_code *ret_code)
{
    char text[TEXT_BYTES];
    struct sonde__os_maps maps;
    uint64_t offset = 0;
    size_t size = 0;
    sonde__os_maps_init(&maps, address);
    do {
        SONDE_TRY(sonde__os_pread(fd, text, sizeof text, offset, &size, NULL));
        offset += size;
    } while (size > 0 && !sonde__os_maps_feed(&maps, text, size));
    return sonde__os_maps_finish(&maps, ret_code) ? SONDE_OK : SONDE_CORRUPT;
}

enum sonde_status sonde__os_code_find(int32_t fd, uint64_t address, struct sonde__os_code *ret_code)
{
    enum sonde_status status = ask(fd, address, ret_code);
    return status == SONDE_UNSUPPORTED ? read_text(fd, address, ret_code) : status;
}
