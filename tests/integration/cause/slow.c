// SPDX-License-Identifier: Apache-2.0
/* A file system (FUSE) that answers everything but one kind of request, and a process that waits
 * for it. argv: KIND TRUTH FOLDER; KIND: "fsync", "open", "read", "rename", "unlink", "fault".
 * Exits with 77 where FUSE cannot be mounted. Source: linux/fuse.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_NODE = 2, FILE_BYTES = 8192, REQUEST_BYTES = 1 << 18 };

static void answer(int fd, const struct fuse_in_header *in, int error, const void *body,
                   size_t size)
{
    char out[sizeof(struct fuse_out_header) + 4096];
    struct fuse_out_header header = {(uint32_t)(sizeof header + size), -error, in->unique};
    memcpy(out, &header, sizeof header);
    if (size > 0) {
        memcpy(out + sizeof header, body, size);
    }
    (void)write(fd, out, sizeof header + size);
}

static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr a = {.ino = node, .nlink = 1};
    a.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
    a.size = node == FUSE_ROOT_ID ? 0 : FILE_BYTES;
    return a;
}

static void look_up(int fd, const struct fuse_in_header *in, const char *name)
{
    struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr_valid = 1000, .entry_valid = 1000};
    entry.attr = attributes(FILE_NODE);
    answer(fd, in, strcmp(name, "file") == 0 ? 0 : ENOENT, &entry,
           strcmp(name, "file") == 0 ? sizeof entry : 0);
}

static void serve(int fd, uint32_t silent)
{
    static char request[REQUEST_BYTES];
    static const char zeros[4096];
    for (;;) {
        ssize_t n = read(fd, request, sizeof request);
        const struct fuse_in_header *in = (const struct fuse_in_header *)request;
        struct fuse_init_out init = {
            .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
        struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attributes(in->nodeid)};
        struct fuse_open_out opened = {.fh = 1};
        if (n < (ssize_t)sizeof *in) {
            exit(0);
        }
        if (in->opcode == silent) {
            continue;
        }
        switch (in->opcode) {
        case FUSE_INIT:
            answer(fd, in, 0, &init, sizeof init);
            break;
        case FUSE_GETATTR:
            answer(fd, in, 0, &attr, sizeof attr);
            break;
        case FUSE_LOOKUP:
            look_up(fd, in, request + sizeof *in);
            break;
        case FUSE_OPEN:
            answer(fd, in, 0, &opened, sizeof opened);
            break;
        case FUSE_READ:
            answer(fd, in, 0, zeros, sizeof zeros);
            break;
        case FUSE_FORGET:
        case FUSE_INTERRUPT:
            break;
        case FUSE_FLUSH:
        case FUSE_RELEASE:
        case FUSE_FSYNC:
        case FUSE_UNLINK:
            answer(fd, in, 0, NULL, 0);
            break;
        default:
            answer(fd, in, ENOSYS, NULL, 0);
        }
    }
}

static uint32_t opcode_of(const char *kind)
{
    return strcmp(kind, "fsync") == 0    ? FUSE_FSYNC
           : strcmp(kind, "open") == 0   ? FUSE_OPEN
           : strcmp(kind, "rename") == 0 ? FUSE_RENAME
           : strcmp(kind, "unlink") == 0 ? FUSE_UNLINK
                                         : FUSE_READ;
}

static void go(const char *truth_path, pid_t server, const char *file)
{
    FILE *truth = fopen(truth_path, "w");
    fprintf(truth, "%d %d %s\n", (int)getpid(), (int)server, file);
    fclose(truth);
    printf("ready\n");
    fflush(stdout);
}

static int refuse(void)
{
    printf("refused\n");
    return 77;
}

int main(int argc, char **argv)
{
    char options[100], file[600], second[600];
    if (argc < 4) {
        return 2;
    }
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd,
             (int)getuid(), (int)getgid());
    snprintf(file, sizeof file, "%s/file", argv[3]);
    snprintf(second, sizeof second, "%s/second", argv[3]);
    /* in a mount namespace of its own: nobody else can hang in it */
    if (fd < 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("slow", argv[3], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        return refuse();
    }
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd, opcode_of(argv[1]));
    }
    close(fd);
    struct stat st;
    if (stat(file, &st) != 0) {
        return 2;
    }
    if (strcmp(argv[1], "open") == 0) {
        go(argv[2], server, file);
        return open(file, O_RDWR);
    }
    if (strcmp(argv[1], "rename") == 0) {
        go(argv[2], server, file);
        return rename(file, second);
    }
    if (strcmp(argv[1], "unlink") == 0) {
        go(argv[2], server, file);
        return unlink(file);
    }
    int opened = open(file, O_RDWR);
    if (opened < 0) {
        return 2;
    }
    if (strcmp(argv[1], "fault") == 0) {
        volatile char *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, opened, 0);
        go(argv[2], server, file);
        return memory[0];
    }
    go(argv[2], server, file);
    char byte;
    return strcmp(argv[1], "fsync") == 0 ? fsync(opened) : (int)read(opened, &byte, 1);
}
