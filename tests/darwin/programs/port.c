// SPDX-License-Identifier: Apache-2.0
/* The port's answers about memory and images, where the truth is known: memory made here, and
 * images that the simulated dyld reports. */
#include <mach-o/dyld.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ucontext.h>

#include "os.h"
#include "os_context.h"

enum { PAGES = 1 << 14 };

void sim_tell_image(uint32_t index, int is_there);

static unsigned mistakes;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

static uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void check_memory(void)
{
    static char copy[2 * PAGES];
    char *pages = sonde__os_map(2 * PAGES);
    CHECK(pages != NULL && pages[0] == 0 && pages[2 * PAGES - 1] == 0);
    pages[PAGES - 1] = 'x';
    CHECK(sonde__os_read(address_of(pages), copy, 2 * PAGES) == 2 * PAGES);
    CHECK(copy[PAGES - 1] == 'x');
    sonde__os_unmap(pages + PAGES, PAGES);
    CHECK(sonde__os_read(address_of(pages), copy, 2 * PAGES) == PAGES);
    CHECK(sonde__os_read(address_of(pages) + PAGES - 3, copy, 8) == 3);
    CHECK(copy[2] == 'x');
    CHECK(sonde__os_read(address_of(pages) + PAGES, copy, 8) == 0);
    CHECK(sonde__os_read(8, copy, 8) == 0);
    CHECK(sonde__os_can_read(address_of(pages) + PAGES - 8));
    CHECK(!sonde__os_can_read(address_of(pages) + PAGES));
    CHECK(!sonde__os_can_read_across(address_of(pages) + PAGES));
    CHECK(sonde__os_can_read(address_of(&pages)));
    sonde__os_unmap(pages, PAGES);
}

static void check_code(void)
{
    struct sonde__os_code code = {.start = 0};
    int32_t fd = -1;
    uint64_t here = address_of((const void *)check_code), data = address_of(&mistakes);
    CHECK(sonde__os_code_open(&fd) == SONDE_OK && fd >= 0);
    CHECK(sonde__os_code_find(fd, here, &code) == SONDE_OK);
    CHECK(code.is_code && code.start <= here && here < code.end);
    CHECK(sonde__os_code_find(fd, data, &code) == SONDE_OK);
    CHECK(!code.is_code && code.start <= data && data < code.end);
    CHECK(sonde__os_code_find(fd, 8, &code) == SONDE_OK);
    CHECK(!code.is_code && code.start <= 8 && 8 < code.end);
    uint64_t end = code.end; /* of free memory: a region begins there, and no earlier */
    CHECK(sonde__os_code_find(fd, end, &code) == SONDE_OK && code.start == end);
    CHECK(sonde__os_code_find(fd, end - 1, &code) == SONDE_OK && code.start == end - 1);
    CHECK(sonde__os_code_find(fd, UINT64_MAX - 8, &code) == SONDE_OK && !code.is_code);
    sonde__os_close(fd);
}

static void check_images(void)
{
    struct sonde__os_image image = {.start = 0};
    uint64_t here = address_of((const void *)check_images);
    uint64_t header = address_of(_dyld_get_image_header(1));
    CHECK(_dyld_image_count() == 2);
    for (unsigned round = 0; round < 3; round++) {
        CHECK(sonde__os_find_image(here, &image));
        CHECK(image.start == header && image.key == header && image.end > here);
        CHECK(image.unwind_info > header && image.unwind_info_size > 0);
        CHECK(image.unwind_info + image.unwind_info_size <= image.end);
        CHECK(sonde__os_find_image(header, &image) && sonde__os_find_image(image.end - 1, &image));
        CHECK(!sonde__os_find_image(header - 1, &image) || image.start != header);
        CHECK(!sonde__os_find_image(address_of(&image), &image));
        sim_tell_image(1, 0);
        CHECK(!sonde__os_find_image(here, &image));
        CHECK(sonde__os_find_image(address_of(_dyld_get_image_header(0)), &image));
        sim_tell_image(1, 1);
    }
}

static void check_thread(void)
{
    uint64_t here = address_of(__builtin_frame_address(0)), end = 0;
    CHECK(sonde__os_own_stack_end(here, &end) && end > here && end - here < 1 << 20);
    CHECK(sonde__os_can_read(end - 8) && !sonde__os_own_stack_end(end, &end));
    CHECK(!sonde__os_own_stack_end(address_of(&mistakes), &end));
    CHECK(sonde__os_tid() == sonde__os_main_tid() && sonde__os_tid() > UINT32_MAX);
}

/* Each register has its own value. */
static void check_context(void)
{
    struct __darwin_mcontext64 registers = {0};
    ucontext_t context = {.uc_mcontext = &registers};
    uint64_t *words = (uint64_t *)&registers.__ss;
    struct sonde__regs regs;
    for (unsigned i = 0; i < sizeof registers.__ss / sizeof *words; i++) {
        words[i] = 0x1000 + i;
    }
    sonde__os_context_regs(&context, &regs);
#if defined(__x86_64__)
    CHECK(regs.pc == registers.__ss.__rip && regs.r[0] == registers.__ss.__rax);
    CHECK(regs.r[6] == registers.__ss.__rbp && regs.r[7] == registers.__ss.__rsp);
    CHECK(regs.r[3] == registers.__ss.__rbx && regs.r[15] == registers.__ss.__r15);
#else
    CHECK(regs.pc == registers.__ss.__pc && regs.r[0] == registers.__ss.__x[0]);
    CHECK(regs.r[28] == registers.__ss.__x[28] && regs.r[29] == registers.__ss.__fp);
    CHECK(regs.r[30] == registers.__ss.__lr && regs.r[31] == registers.__ss.__sp);
#endif
}

int main(void)
{
    check_memory();
    check_code();
    check_images();
    check_thread();
    check_context();
    printf("done\n");
    return mistakes != 0;
}
