// SPDX-License-Identifier: Apache-2.0
#include "blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coding.h"

enum { NAME_TEXT = 96, PACK_LEVEL = 1 };

static void name_of(const struct hash *hash, const char *end, char ret_name[NAME_TEXT])
{
    char text[IDS_HASH_TEXT];
    ids_hash_text(hash, text);
    snprintf(ret_name, NAME_TEXT, "%.2s/%s%s", text, text + 2, end);
}

static int write_file(int folder, const char *name, const void *bytes, size_t size)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int os_error = fd < 0 ? errno : 0;
    for (const char *from = bytes; os_error == 0 && size > 0;) {
        ssize_t done = write(fd, from, size);
        if (done < 0 && errno != EINTR) {
            os_error = errno;
        } else if (done > 0) {
            from += done;
            size -= (size_t)done;
        }
    }
    if (fd >= 0 && close(fd) != 0 && os_error == 0) {
        os_error = errno;
    }
    return os_error;
}

static int write_whole(int folder, const char *name, const char *part, const void *bytes,
                       size_t size)
{
    int os_error = write_file(folder, part, bytes, size);
    if (os_error == 0 && renameat(folder, part, folder, name) != 0) {
        os_error = errno;
    }
    if (os_error != 0) {
        (void)unlinkat(folder, part, 0);
    }
    return os_error;
}

static int put_into_folder(int folder, const struct blob *blob, const struct hash *hash)
{
    char name[NAME_TEXT], part[NAME_TEXT], first[3];
    struct stat file;
    struct coding_bytes packed = {0};
    name_of(hash, "", name);
    if (fstatat(folder, name, &file, 0) == 0 && file.st_size > 0) {
        return 0;
    }
    snprintf(first, sizeof first, "%.2s", name);
    if (mkdirat(folder, first, 0700) != 0 && errno != EEXIST) {
        return errno;
    }
    name_of(hash, ".part", part);
    if (blob->packed != NULL) {
        return write_whole(folder, name, part, blob->packed, blob->packed_size);
    }
    int os_error = coding_pack(blob->bytes, blob->size, PACK_LEVEL, &packed);
    if (os_error == 0) {
        os_error = write_whole(folder, name, part, packed.bytes, packed.size);
        free(packed.bytes);
    }
    return os_error;
}

static int put_into_store(struct store *store, const struct blob *blob, const struct hash *hash)
{
    struct coding_bytes own = {0};
    const void *packed = blob->packed;
    size_t size = blob->packed_size;
    if (packed == NULL) {
        int os_error = coding_pack(blob->bytes, blob->size, PACK_LEVEL, &own);
        if (os_error != 0) {
            return os_error;
        }
        packed = own.bytes;
        size = own.size;
    }
    enum store_status status = store_put_file(store, hash, packed, size);
    free(own.bytes);
    return status == STORE_OK ? 0 : EIO;
}

int blob_put(const struct blobs *blobs, const struct blob *blob, struct hash *ret_hash)
{
    *ret_hash = ids_hash(blob->bytes, blob->size);
    return blobs->store != NULL ? put_into_store(blobs->store, blob, ret_hash)
                                : put_into_folder(blobs->folder, blob, ret_hash);
}

static int read_stored(struct store *store, const struct hash *hash, void **ret_bytes,
                       size_t *ret_size)
{
    enum store_status status = store_get_file(store, hash, ret_bytes, ret_size);
    return status == STORE_OK ? 0 : status == STORE_ABSENT ? ENOENT : EIO;
}

static int read_file(int folder, const char *name, void **ret_bytes, size_t *ret_size)
{
    struct stat file;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC), os_error = 0;
    file.st_size = 0;
    if (fd < 0 || fstat(fd, &file) != 0) {
        os_error = errno;
    }
    char *bytes = os_error == 0 ? malloc((size_t)file.st_size + 1) : NULL;
    size_t size = 0;
    while (bytes != NULL && size < (size_t)file.st_size) {
        ssize_t got = read(fd, bytes + size, (size_t)file.st_size - size);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return os_error != 0 ? os_error : bytes == NULL ? ENOMEM : 0;
}

int blob_get(const struct blobs *blobs, const struct hash *hash, void **ret_bytes, size_t *ret_size)
{
    char name[NAME_TEXT];
    void *packed;
    size_t size;
    struct coding_bytes bytes = {0};
    name_of(hash, "", name);
    int os_error = blobs->store != NULL ? read_stored(blobs->store, hash, &packed, &size)
                                        : read_file(blobs->folder, name, &packed, &size);
    if (os_error != 0) {
        return os_error;
    }
    os_error = coding_unpack(CODING_ZSTD, packed, size, &bytes);
    free(packed);
    struct hash found = ids_hash(bytes.bytes, bytes.size);
    if (os_error == 0 && memcmp(&found, hash, sizeof found) != 0) {
        os_error = EBADMSG;
    }
    if (os_error != 0) {
        free(bytes.bytes);
        return os_error;
    }
    *ret_bytes = bytes.bytes;
    *ret_size = bytes.size;
    return 0;
}

bool blob_is_there(int folder, const struct hash *hash)
{
    char name[NAME_TEXT];
    name_of(hash, "", name);
    return faccessat(folder, name, F_OK, 0) == 0;
}

int blob_remove(const struct blobs *blobs, const struct hash *hash)
{
    char name[NAME_TEXT];
    name_of(hash, "", name);
    return blobs->store != NULL || unlinkat(blobs->folder, name, 0) == 0 ? 0 : errno;
}
