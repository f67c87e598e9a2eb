// SPDX-License-Identifier: Apache-2.0
/* Names for a stack: as one text, or frame by frame. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/stack.h>
#include <sonde/text.h>

enum { DEPTH = 64 };

/* The demangler of the C++ runtime, if the program has one. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status)
    __attribute__((weak));

static int decode(void *ctx, const char *name, char *text, size_t size_bytes)
{
    char *decoded = __cxa_demangle != NULL ? __cxa_demangle(name, NULL, NULL, NULL) : NULL;
    int fits = decoded != NULL && strlen(decoded) < size_bytes;
    (void)ctx;
    if (fits) {
        strcpy(text, decoded);
    }
    free(decoded);
    return fits;
}

static const struct sonde_demangler demangler = {.decode = decode};

static int print_names(struct sonde_symbolizer *symbolizer, const struct sonde_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        struct sonde_symbol symbol = {.struct_bytes = sizeof symbol};
        char name[256];
        enum sonde_status status;
        if (sonde_symbolize(symbolizer, stack, i, &symbol) != SONDE_OK) {
            return 1;
        }
        status = sonde_name_demangle(symbol.name, name, sizeof name);
        if (status != SONDE_OK && status != SONDE_ABSENT && status != SONDE_LIMIT) {
            return 1;
        }
        printf("%s of %s at offset 0x%" PRIx64 "\n", name[0] != '\0' ? name : "?", symbol.image,
               symbol.image_offset);
    }
    return 0;
}

int main(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    char text[8192];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer;
    int result;

    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture(&stack, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    /* with files, lines and inlined calls, if there is debug information */
    if (sonde_symbolizer_use_lines(symbolizer) != SONDE_OK ||
        sonde_demangler_use(&demangler) != SONDE_OK) {
        return 1;
    }
    if (sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) ==
        SONDE_OK) {
        fputs(text, stdout);
    }
    result = print_names(symbolizer, &stack);
    sonde_symbolizer_destroy(symbolizer);
    return result;
}
