// SPDX-License-Identifier: Apache-2.0
#include "host_device.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host_status.h"

enum { PLATFORM_LINUX = 64, ID_BYTES = 16 };

/* Read the beginning of a small file. False: unreadable. */
static bool read_text(const char *path, char *ret_text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_text, capacity - 1);
    ret_text[size > 0 ? size : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
    return size > 0;
}

/* Get the rest of the line that begins with `key`, without surrounding quotes and blanks. */
static void take_line(const char *text, const char *key, char *ret_value, size_t capacity)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) == 0) {
            line += strlen(key);
            line += strspn(line, " \t:\"");
            size_t size = strcspn(line, "\"\n");
            snprintf(ret_value, capacity, "%.*s", (int)size, line);
            return;
        }
    }
}

static void take_model(char *ret_model, size_t capacity)
{
    char text[256];
    if (read_text("/sys/class/dmi/id/product_name", text, sizeof text) ||
        read_text("/sys/firmware/devicetree/base/model", text, sizeof text)) {
        take_line(text, "", ret_model, capacity);
    }
}

void sonde__host_device_read(struct sonde__host_device *ret_device)
{
    char text[4096];
    struct utsname name;
    struct sysinfo info;
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    memset(ret_device, 0, sizeof *ret_device);
    take_model(ret_device->model, sizeof ret_device->model);
    if (read_text("/etc/os-release", text, sizeof text)) {
        take_line(text, "PRETTY_NAME=", ret_device->os, sizeof ret_device->os);
    }
    if (uname(&name) == 0) {
        snprintf(ret_device->kernel, sizeof ret_device->kernel, "%s", name.release);
    }
    if (read_text("/proc/cpuinfo", text, sizeof text)) {
        take_line(text, "model name", ret_device->cpu, sizeof ret_device->cpu);
    }
    ret_device->cpu_count = count > 0 ? (uint32_t)count : 0;
    ret_device->memory_bytes = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

void sonde__host_random_id(char ret_id[SONDE__HOST_ID_TEXT])
{
    unsigned char bytes[ID_BYTES];
    ret_id[0] = '\0';
    if (getrandom(bytes, sizeof bytes, 0) != ID_BYTES) {
        return;
    }
    for (unsigned i = 0; i < ID_BYTES; i++) {
        snprintf(ret_id + (size_t)2 * i, 3, "%02x", bytes[i]);
    }
}

int32_t sonde__host_parent(int32_t pid)
{
    char status[SONDE__HOST_STATUS_BYTES];
    return sonde__host_read_status(pid, (uint64_t)pid, status)
               ? (int32_t)sonde__host_status_field(status, "\nPPid:\t")
               : 0;
}

uint32_t sonde__host_platform(void)
{
    return PLATFORM_LINUX;
}
