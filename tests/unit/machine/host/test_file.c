// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_file.h"
#include "test.h"

static const char *in_folder(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

TEST(a_file_is_mapped_whole)
{
    struct sonde__host_file file;
    struct sonde_error error;
    test_write_file(in_folder("f"), "hello", 5);
    CHECK_OK(sonde__host_file_map(NULL, in_folder("f"), 5, &file, &error));
    CHECK_EQ(file.size, 5);
    CHECK(memcmp(file.data, "hello", 5) == 0);
    CHECK(file.inode != 0);
    sonde__host_file_unmap(&file);
    CHECK(file.data == NULL);
    test_write_file(in_folder("f"), "", 0);
    CHECK_OK(sonde__host_file_map("", in_folder("f"), 5, &file, &error));
    CHECK_EQ(file.size, 0);
    sonde__host_file_unmap(&file);
}

TEST(a_kept_file_is_read_as_it_is_now)
{
    struct sonde__host_file_kept kept = {0}, none = {0};
    char text[8];
    test_write_file(in_folder("f"), "hello", 5);
    CHECK_EQ(sonde__host_file_read_kept(&kept, in_folder("f"), text, sizeof text), 5);
    CHECK_STR(text, "hello");
    test_write_file(in_folder("f"), "good morning", 12);
    CHECK_EQ(sonde__host_file_read_kept(&kept, "/nowhere", text, sizeof text), 7);
    CHECK_STR(text, "good mo");
    int32_t fd = kept.fd;
    sonde__host_file_drop(&kept);
    CHECK(!kept.is_known && fcntl(fd, F_GETFD) < 0);
    CHECK_EQ(sonde__host_file_read_kept(&none, in_folder("g"), text, sizeof text), 0);
    test_write_file(in_folder("g"), "late", 4);
    CHECK_EQ(sonde__host_file_read_kept(&none, in_folder("g"), text, sizeof text), 0);
    CHECK_STR(text, "");
    sonde__host_file_drop(&none);
}

TEST(each_refusal_says_what_and_where)
{
    struct sonde__host_file file;
    struct sonde_error error;
    test_write_file(in_folder("f"), "hello", 5);
    CHECK_EQ(sonde__host_file_map(NULL, in_folder("f"), 4, &file, &error), SONDE_LIMIT);
    CHECK_EQ(error.at, 5);
    CHECK_EQ(sonde__host_file_map(NULL, in_folder("none"), 4, &file, &error), SONDE_ABSENT);
    CHECK_EQ(error.os_error, ENOENT);
    CHECK_CONTAINS(error.what, "/none");
    CHECK_EQ(sonde__host_file_map(NULL, test_folder(), 4, &file, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "not a regular file");
    CHECK_EQ(mkfifo(in_folder("fifo"), 0600), 0);
    CHECK_EQ(sonde__host_file_map(NULL, in_folder("fifo"), 4, &file, &error), SONDE_UNSUPPORTED);
    CHECK_EQ(sonde__host_file_map(in_folder("none"), "/f", 4, &file, &error), SONDE_ABSENT);
}

/* A container's absolute links lead into the container. */
TEST(links_are_followed_inside_the_root)
{
    struct sonde__host_file file;
    struct sonde_error error;
    CHECK_EQ(mkdir(in_folder("usr"), 0700), 0);
    CHECK_EQ(mkdir(in_folder("usr/lib"), 0700), 0);
    CHECK_EQ(symlink("/usr/lib", in_folder("lib")), 0);
    test_write_file(in_folder("usr/lib/only-in-this-root"), "inside", 6);
    if (sonde__host_file_map(test_folder(), "/lib/only-in-this-root", 100, &file, &error) !=
        SONDE_OK) {
        SKIP("the kernel (or the emulator) has no openat2");
    }
    CHECK(memcmp(file.data, "inside", 6) == 0);
    sonde__host_file_unmap(&file);
}

TEST(small_files_are_read_also_where_they_have_no_size)
{
    char buffer[6];
    char large[65536];
    size_t size = 99;
    struct sonde_error error;
    test_write_file(in_folder("f"), "hello", 5);
    CHECK_OK(sonde__host_file_read(in_folder("f"), buffer, sizeof buffer, &size, &error));
    CHECK_EQ(size, 5);
    CHECK_STR(buffer, "hello");
    CHECK_EQ(sonde__host_file_read(in_folder("f"), buffer, 5, &size, &error), SONDE_LIMIT);
    CHECK_EQ(size, 4);
    CHECK_STR(buffer, "hell");
    CHECK_OK(sonde__host_file_read("/proc/self/status", large, sizeof large, &size, &error));
    CHECK_CONTAINS(large, "Name:");
    CHECK_EQ(size, strlen(large));
    CHECK_EQ(sonde__host_file_read(in_folder("none"), buffer, 5, &size, &error), SONDE_ABSENT);
    CHECK_EQ(sonde__host_file_read(test_folder(), buffer, 5, &size, &error), SONDE_UNREADABLE);
}
