// SPDX-License-Identifier: Apache-2.0
/* Can a program load the probe? LD_PRELOAD harms a program that cannot: a musl program with a glibc
 * library dies ("Error relocating", status 127), a 32-bit program prints loader errors. So the file
 * is read before it is started, and its #! chain is followed. Malformed files count as "cannot".
 * Context: any thread. */
#ifndef SONDE_WATCH_PROGRAM_H
#define SONDE_WATCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

enum sonde__watch_carry {
    SONDE__WATCH_CARRIES,
    SONDE__WATCH_STATIC,       /* no program interpreter */
    SONDE__WATCH_LOADER,       /* the dynamic loader, which gets the program as an argument */
    SONDE__WATCH_OTHER_LIBC,   /* its interpreter is not glibc's loader */
    SONDE__WATCH_OTHER_ARCH,   /* another architecture or word size */
    SONDE__WATCH_PRIVILEGED,   /* setuid, setgid or file capabilities: the loader ignores us */
    SONDE__WATCH_SANITIZER,    /* AddressSanitizer's runtime insists on being the first library */
    SONDE__WATCH_NOT_READABLE, /* may be executed but not read */
    SONDE__WATCH_NOT_A_PROGRAM,
};

#define SONDE__WATCH_PATH_MAX 4096
/* The kernel follows four levels of #! and no more (fs/exec.c). */
#define SONDE__WATCH_SCRIPT_LEVELS 4

struct sonde__watch_program {
    enum sonde__watch_carry carry;
    char binary[SONDE__WATCH_PATH_MAX]; /* the ELF file that will run: the program or its script
                                           interpreter */
    bool is_go;                         /* it is a Go program */
};

/* One file, parsed. */
struct sonde__watch_image {
    bool elf, script;
    bool is64;
    uint16_t machine;
    char interpreter[SONDE__WATCH_PATH_MAX]; /* PT_INTERP, or the path after #!; "": none */
    char argument[256];                      /* the rest of the #! line */
    bool sanitizer;
    bool is_go; /* linked by Go's linker */
};

/* Reads up to `size` bytes at `offset`; returns the number of bytes read. */
typedef size_t (*sonde__watch_read)(void *ctx, uint64_t offset, void *ret_bytes, size_t size);
void sonde__watch_parse_image(sonde__watch_read read, void *ctx,
                              struct sonde__watch_image *ret_image);

/* "#!/usr/bin/env NAME": the probe removes itself from the environment of the first program, env,
 * which then executes NAME without it. True: `path` is such a script; ret_name is NAME. Other uses
 * of env (options, assignments): false. */
bool sonde__watch_names_by_env(const char *path, char *ret_name, size_t capacity);
void sonde__watch_inspect(const char *path, struct sonde__watch_program *ret_program);
/* Why the probe cannot be loaded, as the end of a sentence: "statically linked". */
const char *sonde__watch_carry_text(enum sonde__watch_carry carry);

#endif
