// SPDX-License-Identifier: Apache-2.0
/* Names in a stopped process, from the symbol tables of its images' files.
 *
 * Tables are searched linearly, because an index would need memory; answers are cached. A file is
 * used only if its beginning, build-id included, is that of the image in memory. */
#include "api_debug.h"
#include "base_mem.h"
#include "host_process.h"
#include "os.h"
#include "style.h"

enum {
    BEGIN_BYTES = 2048, /* compared bytes of file and image */
    PIECE_BYTES = 256,
    STANDARD_ERROR = 2,
};
#define FILE_BYTES_MAX ((uint64_t)8 << 30)

/* The first two members of the loader's record of an image (struct link_map of <link.h>). */
struct loaded {
    uint64_t bias, path;
};

/* Copy a NUL-terminated text of this process, cut where it does not fit or cannot be read. */
static void read_text(uint64_t address, char *text, size_t capacity)
{
    size_t got = address != 0 ? sonde__os_read(address, text, capacity - 1) : 0;
    text[got] = '\0';
}

/* Find the path of an image, and its bias. */
static void ask_loader(struct debug_image *image, const struct sonde__os_image *found)
{
    struct loaded loaded = {found->start, 0};
    if (sonde__os_loader_answers() &&
        sonde__os_read(found->key, &loaded, sizeof loaded) == sizeof loaded) {
        read_text(loaded.path, image->path, sizeof image->path);
    }
    image->bias = loaded.bias;
    if (image->path[0] == '\0' &&
        !sonde__host_executable(sonde__os_pid(), image->path, sizeof image->path)) {
        image->path[0] = '\0';
    }
}

/* start: address of the file's first byte. */
static bool begins_alike(const struct debug_image *image, uint64_t start)
{
    const uint8_t *bytes = image->file.data;
    size_t size = image->file.size < BEGIN_BYTES ? image->file.size : BEGIN_BYTES;
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        uint8_t piece[PIECE_BYTES];
        size_t wanted = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        if (sonde__os_read(start + at, piece, wanted) != wanted ||
            sonde__base_mem_compare(piece, bytes + at, wanted) != 0) {
            return false;
        }
    }
    return size > 0;
}

/* Is this the file of the image in memory? Sets the bias if the loader does not give it. */
static bool is_file_of(struct debug_image *image)
{
    struct sonde__elf_segment segment;
    for (uint32_t i = 0; sonde__elf_segment(&image->elf, i, &segment); i++) {
        if (segment.type == SONDE__PT_LOAD) {
            if (!sonde__os_loader_answers()) {
                image->bias = image->start - segment.vaddr;
            }
            return segment.offset == 0 && begins_alike(image, image->bias + segment.vaddr);
        }
    }
    return false;
}

static void open_image(struct debug_image *image, const struct sonde__os_image *found)
{
    struct sonde__elf_section section;
    image->key = found->key;
    image->start = found->start;
    image->end = found->end;
    ask_loader(image, found);
    if (image->path[0] != '/' ||
        sonde__host_file_map(NULL, image->path, FILE_BYTES_MAX, &image->file, NULL) != SONDE_OK) {
        return;
    }
    image->has_symbols =
        sonde__elf_open(image->file.data, image->file.size, &image->elf, NULL) == SONDE_OK &&
        is_file_of(image) &&
        ((sonde__elf_section_by_type(&image->elf, SONDE__SHT_SYMTAB, &section) &&
          sonde__elf_symbols(&image->elf, &section, &image->symbols)) ||
         sonde__elf_dynamic_symbols(&image->elf, &image->symbols));
}

/* An image may have several ranges, with other images between them. */
static struct debug_image *image_at(struct debug_names *names, uint64_t address)
{
    struct sonde__os_image found;
    for (uint32_t i = 0; i < names->image_count; i++) {
        struct debug_image *image = &names->images[i];
        if (address >= image->start && address < image->end) {
            return image;
        }
    }
    if (!sonde__os_find_image(address, &found)) {
        return NULL;
    }
    for (uint32_t i = 0; i < names->image_count; i++) {
        if (names->images[i].key == found.key) {
            return &names->images[i];
        }
    }
    if (names->image_count == DEBUG_IMAGES_MAX) {
        return NULL;
    }
    open_image(&names->images[names->image_count], &found);
    return &names->images[names->image_count++];
}

/* Among names of one address, prefer exported ones without underscores. */
static unsigned rank(const struct sonde__elf_symbol *symbol)
{
    unsigned underscores = 0;
    while (underscores < 15 && symbol->name[underscores] == '_') {
        underscores++;
    }
    return (symbol->bind == SONDE__STB_LOCAL ? 16u : 0u) + underscores;
}

/* Skip mapping symbols of aarch64 ("$x"). */
static bool is_of_type(const struct sonde__elf_symbol *symbol, bool exact)
{
    return symbol->type == SONDE__STT_FUNC || symbol->type == SONDE__STT_GNU_IFUNC ||
           (symbol->type == SONDE__STT_NOTYPE && symbol->name[0] != '$') ||
           (exact && symbol->type == SONDE__STT_OBJECT);
}

static bool has(const struct sonde__elf_symbol *symbol, uint64_t vaddr, bool exact)
{
    return symbol->value == vaddr ||
           (!exact && vaddr > symbol->value && vaddr - symbol->value < symbol->size);
}

static void search(const struct debug_image *image, uint64_t vaddr, bool exact,
                   struct debug_answer *answer)
{
    struct sonde__elf_symbol symbol;
    unsigned best = UINT32_MAX;
    uint64_t start = 0;
    for (uint32_t i = 1; i < image->symbols.count; i++) {
        if (!sonde__elf_symbols_at(&image->symbols, i, &symbol) || symbol.section == 0 ||
            symbol.name[0] == '\0' || !is_of_type(&symbol, exact) || !has(&symbol, vaddr, exact)) {
            continue;
        }
        if (answer->name == NULL || symbol.value > start ||
            (symbol.value == start && rank(&symbol) < best)) {
            answer->name = symbol.name;
            answer->start = symbol.value + image->bias;
            start = symbol.value;
            best = rank(&symbol);
        }
    }
}

struct debug_answer debug_find(struct debug_names *names, uint64_t address, bool exact)
{
    uint64_t key = address << 1 | exact;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & (DEBUG_KNOWN - 1);
    struct debug_answer answer = {0};
    if (names->known[slot].key == key && key != 0) {
        return names->known[slot].answer;
    }
    answer.image = image_at(names, address);
    if (answer.image != NULL && answer.image->has_symbols) {
        search(answer.image, address - answer.image->bias, exact, &answer);
    }
    names->known[slot].key = key;
    names->known[slot].answer = answer;
    return answer;
}

bool debug_image_has(struct debug_names *names, uint64_t address, const char *name)
{
    const struct debug_image *image = image_at(names, address);
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 1; image != NULL && image->has_symbols && i < image->symbols.count; i++) {
        if (sonde__elf_symbols_at(&image->symbols, i, &symbol) && symbol.section != 0 &&
            sonde__base_str_compare(symbol.name, name) == 0) {
            return true;
        }
    }
    return false;
}

void debug_names_done(struct debug_names *names)
{
    for (uint32_t i = 0; i < names->image_count; i++) {
        sonde__host_file_unmap(&names->images[i].file);
    }
    names->image_count = 0;
}

void debug_put_code(struct debug_names *names, struct sonde__text *out, uint64_t pc,
                    uint64_t lookup)
{
    struct debug_answer answer = debug_find(names, lookup, false);
    if (answer.name != NULL) {
        sonde__base_text_str(out, answer.name);
        sonde__base_text_str(out, "+0x");
        sonde__base_text_hex(out, pc - answer.start, 0);
        sonde__base_text_str(out, "  ");
        sonde__base_text_str(out, sonde__base_file_name(answer.image->path));
    } else if (answer.image != NULL) {
        const char *path = sonde__base_file_name(answer.image->path);
        sonde__base_text_str(out, path[0] != '\0' ? path : "?");
        sonde__base_text_str(out, "+0x");
        sonde__base_text_hex(out, pc - answer.image->bias, 0);
    } else {
        sonde__base_text_str(out, "(no image)");
    }
}

void debug_line(struct sonde__text *out)
{
    if (out->cut && out->length > 0) {
        out->data[out->length - 1] = '\n';
    } else {
        sonde__base_text_char(out, '\n');
    }
    sonde__os_write(STANDARD_ERROR, out->data, out->length);
    sonde__base_text_init(out, out->data, out->capacity);
}
