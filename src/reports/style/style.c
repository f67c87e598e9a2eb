// SPDX-License-Identifier: Apache-2.0
#include "style.h"

#include "base_mem.h"

enum {
    CALLSTACK_IMAGE = 35, /* an image's name is padded or cut to these bytes */
    BS_IMAGE = 30,        /* padded only */
    INDEX = 4,
    PC_DIGITS = 16,
    BS_DIGITS = 8,
    UUID_BYTES = 16,
};

/* Pad the text since `from` to `width` characters, as printf's %-*s does. */
static void pad(struct sonde__text *out, size_t from, size_t width)
{
    while (!out->cut && out->length < from + width) {
        sonde__base_text_char(out, ' ');
    }
}

static void put_plus(struct sonde__text *out, uint64_t distance)
{
    sonde__base_text_str(out, " + ");
    sonde__base_text_dec(out, distance);
}

/* 7A9AF3A5-0F3B-3E5B-A1C5-9B1A2B3C4D5E; without dashes if it is not 16 bytes */
static void put_uuid(struct sonde__text *out, const struct sonde__style_frame *frame)
{
    static const char digits[] = "0123456789ABCDEF";
    for (unsigned i = 0; i < frame->build_id_size; i++) {
        if (frame->build_id_size == UUID_BYTES && (i == 4 || i == 6 || i == 8 || i == 10)) {
            sonde__base_text_char(out, '-');
        }
        sonde__base_text_char(out, digits[frame->build_id[i] >> 4]);
        sonde__base_text_char(out, digits[frame->build_id[i] & 15]);
    }
}

static void put_name(struct sonde__text *out, const struct sonde__style_frame *frame)
{
    sonde__base_text_str(out, frame->name);
    sonde__base_text_str(out, frame->plt ? "@plt" : "");
}

/* "%-4d%-35s 0x%016lx %s + %lu" */
static void put_callstack(struct sonde__text *out, const struct sonde__style_frame *frame)
{
    const char *image = frame->image[0] != '\0' ? sonde__base_file_name(frame->image) : "???";
    size_t from = out->length, length = sonde__base_str_length(image);
    sonde__base_text_dec(out, frame->index);
    pad(out, from, INDEX);
    from = out->length;
    sonde__base_text_bytes(out, image, length < CALLSTACK_IMAGE ? length : CALLSTACK_IMAGE);
    pad(out, from, CALLSTACK_IMAGE);
    sonde__base_text_str(out, " 0x");
    sonde__base_text_hex(out, frame->pc, PC_DIGITS);
    sonde__base_text_char(out, ' ');
    if (frame->image[0] == '\0') {
        sonde__base_text_str(out, "0x0");
        put_plus(out, frame->pc);
    } else if (sonde__base_str_compare(frame->name, "<redacted>") == 0 &&
               frame->build_id_size != 0) {
        put_uuid(out, frame);
        put_plus(out, frame->pc - frame->image_base);
    } else if (frame->name[0] == '\0') {
        sonde__base_text_str(out, image);
        put_plus(out, frame->pc - frame->image_base);
    } else {
        put_name(out, frame);
        put_plus(out, frame->pc - frame->start);
    }
}

/* "%-30s 0x%08lx %s + %lu" */
static void put_bs(struct sonde__text *out, const struct sonde__style_frame *frame)
{
    size_t from = out->length;
    if (frame->image[0] != '\0') {
        sonde__base_text_str(out, sonde__base_file_name(frame->image));
    } else {
        sonde__base_text_str(out, "0x");
        sonde__base_text_hex(out, frame->image_base, PC_DIGITS);
    }
    pad(out, from, BS_IMAGE);
    sonde__base_text_str(out, " 0x");
    sonde__base_text_hex(out, frame->pc, BS_DIGITS);
    sonde__base_text_char(out, ' ');
    if (frame->name[0] != '\0') {
        put_name(out, frame);
        put_plus(out, frame->pc - frame->start);
    } else {
        sonde__base_text_str(out, "0x");
        sonde__base_text_hex(out, frame->image_base, 0);
        put_plus(out, frame->pc - frame->image_base);
    }
}

/* "%s(%s+0x%x) [%p]", "%s(+0x%x) [%p]", "%s() [%p]", "[%p]" */
static void put_glibc(struct sonde__text *out, const struct sonde__style_frame *frame)
{
    if (frame->image[0] != '\0') {
        uint64_t from = frame->name[0] != '\0' ? frame->start : frame->image_bias;
        sonde__base_text_str(out, frame->image);
        sonde__base_text_char(out, '(');
        put_name(out, frame);
        if (frame->name[0] != '\0' || from != 0) {
            uint64_t distance = frame->pc >= from ? frame->pc - from : from - frame->pc;
            sonde__base_text_char(out, frame->pc >= from ? '+' : '-');
            sonde__base_text_str(out, distance == 0 ? "" : "0x"); /* printf's %#tx */
            sonde__base_text_hex(out, distance, 0);
        }
        sonde__base_text_str(out, ") ");
    }
    sonde__base_text_str(out, frame->pc == 0 ? "[(nil)" : "[0x");
    if (frame->pc != 0) {
        sonde__base_text_hex(out, frame->pc, 0);
    }
    sonde__base_text_char(out, ']');
}

void sonde__style_line(struct sonde__text *out, enum sonde_style style,
                       const struct sonde__style_frame *frame)
{
    switch (style) {
    case SONDE_STYLE_BS:
        put_bs(out, frame);
        break;
    case SONDE_STYLE_GLIBC:
        put_glibc(out, frame);
        break;
    default:
        put_callstack(out, frame);
        break;
    }
}

void sonde__style_begin_all(struct sonde__text *out, enum sonde_style style, uint64_t threads)
{
    if (style == SONDE_STYLE_BS) {
        sonde__base_text_str(out, "Call Backtrace of ");
        sonde__base_text_dec(out, threads);
        sonde__base_text_str(out, " threads:\n");
    }
}

void sonde__style_begin(struct sonde__text *out, enum sonde_style style, int64_t tid)
{
    if (style == SONDE_STYLE_BS) {
        sonde__base_text_str(out, "Backtrace of Thread ");
        sonde__base_text_dec(out, (uint64_t)tid);
        sonde__base_text_str(out, ":\n");
    }
}

void sonde__style_end(struct sonde__text *out, enum sonde_style style)
{
    if (style == SONDE_STYLE_BS) {
        sonde__base_text_char(out, '\n');
    }
}
