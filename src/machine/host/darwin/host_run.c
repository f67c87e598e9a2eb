// SPDX-License-Identifier: Apache-2.0
/* This process, as a watch asks for it. */
#include "host_run.h"

#include <mach-o/dyld.h>
#include <unistd.h>

#include "host_process.h"
#include "host_self.h"
#include "host_writer.h"
#include "os.h"

bool sonde__host_write_stderr_of(int32_t supervisor, const void *bytes, size_t size)
{
    (void)supervisor, (void)bytes, (void)size;
    return false;
}

void sonde__host_remove_file(const char *path)
{
    (void)unlink(path);
}

bool sonde__host_executable(int32_t pid, char *ret_path, size_t capacity)
{
    uint32_t size = (uint32_t)capacity;
    return pid == sonde__os_pid() && _NSGetExecutablePath(ret_path, &size) == 0;
}

/* The start of a thread is not told. */
enum sonde_status sonde__host_thread_read(int32_t pid, uint64_t tid,
                                          struct sonde__host_thread *ret_thread)
{
    (void)pid, (void)tid, (void)ret_thread;
    return SONDE_UNSUPPORTED;
}

bool sonde__host_is_journal(int32_t fd)
{
    (void)fd;
    return false;
}

/* A file lock that an app holds while it is suspended ends the app (0xdead10cc). */
void sonde__host_writer_lock(int32_t fd)
{
    (void)fd;
}

/* The loader of an ELF program does not run here. */
bool sonde__host_startup_libraries(const char *program, char *const *envp,
                                   void (*each)(void *ctx, const char *path), void *ctx)
{
    (void)program;
    (void)envp;
    (void)each;
    (void)ctx;
    return false;
}
