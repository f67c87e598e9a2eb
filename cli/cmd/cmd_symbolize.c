// SPDX-License-Identifier: Apache-2.0
/* sonde symbolize: functions, files and lines of addresses, single ones or in a stream of text. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_hint.h"
#include "cli_input.h"
#include "cli_shown.h"
#include "cmd.h"
#include "jit_names.h"
#include "mem_heap.h"
#include "symbolize_apple.h"
#include "symbolize_print.h"
#include "symbolize_tails.h"

struct request {
    struct symbolize_images images;
    struct sonde__cli_symbols symbols;
    const char *maps_path, *report_path, *jit_path;
    struct sonde__jit jit; /* of jit_path */
    bool exact_next;       /* the frame after a signal frame was interrupted, so its pc is exact */
    struct sonde__cli_input maps_text;
    struct sonde__host_maps maps;
    bool returns, raw, json;
    unsigned printed;
    /* the previous frame, to find tail calls between it and the next */
    int last_number; /* -1: none */
    struct symbolize_image *last_image;
    uint64_t last_lookup; /* vaddr */
};

static const struct sonde__cli_option options[] = {
    SONDE__CLI_SYMBOLS_OPTIONS('s', struct request, symbols),
    {"image", 'm', "[NAME=]FILE",
     "a program, library, debug file or index for addresses of that file name (or of NAME); the "
     "first one is also for addresses without an image; may be repeated",
     sonde__cli_take_list, offsetof(struct request, images.files)},
    {"exe", 'e', "FILE", "the same as --image, for users of addr2line", sonde__cli_take_list,
     offsetof(struct request, images.files)},
    /* its former name */
    {"module", 0, "[NAME=]FILE", NULL, sonde__cli_take_list,
     offsetof(struct request, images.files)},
    {"maps", 0, "FILE", "the memory map of the process (/proc/PID/maps), for plain addresses",
     sonde__cli_take_text, offsetof(struct request, maps_path)},
    {"perf-map", 0, "FILE",
     "names that a runtime wrote for code it made (/tmp/perf-PID.map, or a jitdump), for plain "
     "addresses of no image",
     sonde__cli_take_text, offsetof(struct request, jit_path)},
    {"report", 0, "FILE", "show a report as `sonde show` does, with names from this machine",
     sonde__cli_take_text, offsetof(struct request, report_path)},
    {"arch", 0, "NAME",
     "the code for this machine in universal Mach-O files (arm64, x86_64, ...); not needed with a "
     "UUID",
     sonde__cli_take_text, offsetof(struct request, images.arch)},
    {"return", 'r', NULL, "the addresses given are return addresses: name the calls before them",
     sonde__cli_take_flag, offsetof(struct request, returns)},
    {"no-demangle", 0, NULL, "do not demangle names", sonde__cli_take_flag,
     offsetof(struct request, raw)},
    {"json", 'j', NULL, "JSON: an array of objects, one for each address; with --report the report",
     sonde__cli_take_flag, offsetof(struct request, json)},
    {0},
};

static void ask(struct request *request, const struct symbolize_place *place,
                struct symbolize_answer *ret_answer)
{
    struct sonde__jit_code code;
    uint64_t back = place->returns || request->returns ? 1 : 0;
    bool plain = place->image[0] == '\0' && request->jit_path != NULL;
    if (plain && sonde__jit_find(&request->jit, place->offset - back, &code)) {
        ret_answer->image = NULL;
        ret_answer->vaddr = place->offset;
        ret_answer->names.function =
            (struct sonde__function){code.name, code.start, true, SONDE__NAME_JIT};
        ret_answer->names.count = 0;
        ret_answer->names.tails.count = 0;
        ret_answer->names.tails.ways = 0;
        return;
    }
    symbolize_ask(&request->images, &request->maps, request->returns, place, ret_answer);
}

/* Process a frame of a stack. number: its number in the line, or -1. */
static void follow_stack(struct request *request, int number, const char *line, size_t size,
                         bool returns, struct symbolize_answer *answer)
{
    /* without CFI the caller may not be the next frame */
    bool sure = memmem(line, size, "[frame pointer]", 15) == NULL &&
                memmem(line, size, "[inferred]", 10) == NULL;
    if (number > 0 && request->last_number == number - 1 && returns && sure &&
        answer->image != NULL &&
        symbolize_find_tails(&request->images, answer->image, answer->vaddr, request->last_image,
                             request->last_lookup, &answer->names.tails) &&
        !request->json) {
        symbolize_print_tail_calls(&request->images, request->raw, answer);
    }
    request->last_number = answer->image != NULL ? number : -1;
    request->last_image = answer->image;
    request->last_lookup = answer->vaddr - (returns ? 1 : 0);
}

/* --- in --- */

/* An address alone on its line, as for addr2line. False: it is not one. */
static bool symbolize_address_line(struct request *request, const char *line, size_t size)
{
    static struct symbolize_place place;
    static struct symbolize_answer answer;
    size_t end = size;
    while (end != 0 && (line[end - 1] == '\n' || line[end - 1] == '\r' || line[end - 1] == ' ')) {
        end--;
    }
    if (request->images.files.count == 0 || request->maps.count != 0 || request->jit_path != NULL ||
        !symbolize_scan_address(line, end, &place)) {
        return false;
    }
    ask(request, &place, &answer);
    if (request->json) {
        if (answer.image != NULL) {
            symbolize_print_json(&request->images, request->raw, request->printed++ == 0, line, end,
                                 &answer);
        }
        return true;
    }
    fwrite(line, 1, end, stdout);
    if (symbolize_is_named(&answer)) {
        symbolize_print_inside(request->raw, &answer);
    }
    fwrite(line + end, 1, size - end, stdout);
    return true;
}

static void symbolize_line(struct request *request, const char *line, size_t size)
{
    static struct symbolize_place place;
    static struct symbolize_answer answer;
    size_t at = 0;
    if (symbolize_address_line(request, line, size)) {
        return;
    }
    bool exact = request->exact_next;
    int number = symbolize_frame_number(line, size);
    bool first = true;
    if (number < 0) {
        request->last_number = -1;
    }
    if (number >= 0) {
        request->exact_next = memmem(line, size, "<signal>", 8) != NULL;
    }
    bool addresses = request->maps.count != 0 || request->jit_path != NULL;
    while (symbolize_scan(line, size, at, addresses, &place)) {
        place.returns = place.returns && !exact;
        ask(request, &place, &answer);
        if (first) {
            follow_stack(request, number, line, size, place.returns || request->returns, &answer);
            first = false;
        }
        if (request->json) {
            if (answer.image != NULL || symbolize_is_named(&answer)) {
                size_t end = size > 0 && line[size - 1] == '\n' ? size - 1 : size;
                symbolize_print_json(&request->images, request->raw, request->printed++ == 0, line,
                                     end, &answer);
            }
        } else {
            fwrite(line + at, 1, place.end - at, stdout);
            if (symbolize_is_named(&answer)) {
                symbolize_print_inside(request->raw, &answer);
            }
        }
        at = place.end;
    }
    if (!request->json) {
        fwrite(line + at, 1, size - at, stdout);
    }
}

/* --- a report --- */

static void print_report(void *ctx, struct sonde__report *report,
                         const struct sonde__report_loss *loss)
{
    const struct request *request = ctx;
    struct sonde__cli_view view = {.json = request->json,
                                   .view = {.raw_names = request->raw, .loss = loss}};
    sonde__cli_view_print(&view, report);
    fflush(stdout);
    sonde__cli_hint_images(request->images.command, "", !request->symbols.no_network, report);
}

static int symbolize_report(const struct sonde__cli_command *command, struct request *request)
{
    request->symbols.always = true;
    for (unsigned i = 0; i < request->images.files.count; i++) {
        request->symbols.files.items[i] = symbolize_given_file(request->images.files.items[i]);
        request->symbols.files.count = i + 1;
    }
    request->images.command = command;
    return sonde__cli_shown(command, request->report_path, &request->symbols, print_report,
                            request);
}

/* --- Apple's logs --- */

static void keep_text(void *ctx, const char *bytes, size_t size)
{
    const struct request *request = ctx;
    if (!request->json) {
        fwrite(bytes, 1, size, stdout);
    }
}

static void name_frame(void *ctx, const struct symbolize_place *place, const char *asked,
                       size_t size, bool in_json)
{
    static struct symbolize_answer answer;
    struct request *request = ctx;
    ask(request, place, &answer);
    if (request->json) {
        if (answer.image != NULL) {
            symbolize_print_json(&request->images, request->raw, request->printed++ == 0, asked,
                                 size, &answer);
        }
    } else if (symbolize_is_named(&answer) && in_json) {
        printf(",\"sonde\":");
        symbolize_print_frames_json(request->raw, &answer.names);
    } else if (symbolize_is_named(&answer)) {
        symbolize_print_inside(request->raw, &answer);
    }
}

static bool any_bytes(const void *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return true;
}

static void name_line(void *ctx, const char *bytes, size_t size)
{
    struct request *request = ctx;
    while (size != 0) {
        size_t part = size < SYMBOLIZE_LINE_BYTES ? size : (size_t)SYMBOLIZE_LINE_BYTES;
        symbolize_line(request, bytes, part);
        bytes += part;
        size -= part;
    }
}

static void print_unnamed(const struct sonde__cli_command *command,
                          const struct symbolize_apple_seen *seen)
{
    if (seen->images == 0) {
        sonde__cli_error(command, "the crash log lists no binary images: no frame of it has a "
                                  "name");
    } else if (seen->outside != 0) {
        sonde__cli_error(command, "%zu frame%s of %zu in no image that the crash log lists",
                         seen->outside, seen->outside == 1 ? "" : "s", seen->frames);
    }
}

/* The rest of stdin belongs to the log that begins with these lines. */
static int symbolize_apple_log(const struct sonde__cli_command *command, struct request *request,
                               const char *first, size_t first_size)
{
    const struct symbolize_apple_sink sink = {keep_text, name_line, name_frame, request};
    struct symbolize_apple_seen seen;
    struct sonde__cli_input rest;
    char *log;
    bool done = false;
    int exit_code = sonde__cli_input_read(command, "-", any_bytes, &rest);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    log = sonde__mem_alloc(first_size + rest.size);
    if (log != NULL) {
        memcpy(log, first, first_size);
        if (rest.size != 0) {
            memcpy(log + first_size, rest.data, rest.size);
        }
        done = symbolize_apple(log, first_size + rest.size, &sink, &seen);
    }
    sonde__mem_free(log);
    sonde__cli_input_done(&rest);
    if (done) {
        print_unnamed(command, &seen);
    }
    return done ? SONDE__CLI_OK : sonde__cli_fail(command, "standard input", SONDE_MEMORY, NULL);
}

/* --- a stream --- */

/* Input not yet written: a line, or lines that may begin one of Apple's logs. */
struct stream {
    char text[SYMBOLIZE_LINE_BYTES];
    size_t size;
    bool any, lists; /* any: text was written; lists: there was a list of images without its log */
};

/* Skip a byte order mark. */
static void pass_mark(const struct sonde__cli_command *command, struct request *request,
                      struct stream *stream)
{
    bool wide = stream->size >= 2 && (memcmp(stream->text, "\xff\xfe", 2) == 0 ||
                                      memcmp(stream->text, "\xfe\xff", 2) == 0);
    if (!stream->any && wide) {
        sonde__cli_error(command, "standard input is UTF-16: nothing of it is read; iconv -t UTF-8 "
                                  "makes it readable");
    }
    if (!stream->any && stream->size >= 3 && memcmp(stream->text, "\xef\xbb\xbf", 3) == 0) {
        keep_text(request, stream->text, 3);
        stream->size -= 3;
        memmove(stream->text, stream->text + 3, stream->size);
    }
    stream->any = true;
}

/* Write the first `size` bytes. */
static void pass_lines(const struct sonde__cli_command *command, struct request *request,
                       struct stream *stream, size_t size)
{
    size_t at = 0, end;
    for (; at < size; at = end) {
        const char *newline = memchr(stream->text + at, '\n', size - at);
        end = newline != NULL ? (size_t)(newline - stream->text) + 1 : size;
        if (!stream->lists && end - at >= 14 &&
            memcmp(stream->text + at, "Binary Images:", 14) == 0) {
            stream->lists = true;
            sonde__cli_error(command, "a list of binary images without the header of a crash log: "
                                      "frames before it have no names");
        }
        symbolize_line(request, stream->text + at, end - at);
    }
    stream->size -= size;
    memmove(stream->text, stream->text + size, stream->size);
}

/* Offset of the last complete line. */
static size_t last_line(const struct stream *stream)
{
    size_t at = stream->size > 1 ? stream->size - 1 : 0;
    while (at > 0 && stream->text[at - 1] != '\n') {
        at--;
    }
    return at;
}

/* Lines longer than SYMBOLIZE_LINE_BYTES come in parts. */
static int symbolize_stream(const struct sonde__cli_command *command, struct request *request)
{
    static struct stream stream;
    struct stat status;
    bool live = fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode);
    int c;
    while ((c = getchar()) != EOF) {
        enum symbolize_apple_begin begins;
        stream.text[stream.size++] = (char)c;
        if (c != '\n' && stream.size < sizeof stream.text) {
            continue;
        }
        pass_mark(command, request, &stream);
        begins = symbolize_apple_begins(stream.text, stream.size);
        if (begins == SYMBOLIZE_APPLE_NO && last_line(&stream) != 0) {
            /* write the lines that waited for this one */
            pass_lines(command, request, &stream, last_line(&stream));
            begins = symbolize_apple_begins(stream.text, stream.size);
        }
        if (begins == SYMBOLIZE_APPLE_YES) {
            return symbolize_apple_log(command, request, stream.text, stream.size);
        }
        if (begins == SYMBOLIZE_APPLE_MORE && stream.size < SYMBOLIZE_APPLE_LOOK) {
            continue;
        }
        pass_lines(command, request, &stream, stream.size);
        if (live) {
            fflush(stdout);
        }
    }
    pass_mark(command, request, &stream);
    if (symbolize_apple_begins(stream.text, stream.size) == SYMBOLIZE_APPLE_YES) {
        return symbolize_apple_log(command, request, stream.text, stream.size);
    }
    pass_lines(command, request, &stream, stream.size);
    if (ferror(stdin) != 0) {
        sonde__cli_error(command, "standard input could not be read");
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_OK;
}

static int symbolize_argument(const struct sonde__cli_command *command, struct request *request,
                              const char *text)
{
    static struct symbolize_place place;
    static struct symbolize_answer answer;
    size_t size = strlen(text);
    if (!symbolize_scan_address(text, size, &place) &&
        (!symbolize_scan(text, size, 0, true, &place) || place.end != size)) {
        return sonde__cli_usage_error(command, "not IMAGE+0xOFFSET or [0x]ADDRESS: %s", text);
    }
    if (place.image[0] == '\0' && request->maps.count == 0 && request->images.files.count == 0 &&
        request->jit_path == NULL) {
        return sonde__cli_usage_error(command, "%s: of which image? give --image or --maps", text);
    }
    request->images.asked = true;
    ask(request, &place, &answer);
    if (request->json) {
        symbolize_print_json(&request->images, request->raw, request->printed++ == 0, text, size,
                             &answer);
    } else {
        symbolize_print_block(request->raw, text, &answer);
    }
    return SONDE__CLI_OK;
}

/* A map begins as "555555554000-555555555000 r--p". */
static bool maps_begin(const void *bytes, size_t size)
{
    const char *text = bytes;
    return size == 0 || (text[0] >= '0' && text[0] <= '9') || (text[0] >= 'a' && text[0] <= 'f');
}

static int open_maps(const struct sonde__cli_command *command, struct request *request)
{
    enum sonde_status status;
    int exit_code;
    if (request->maps_path == NULL) {
        return SONDE__CLI_OK;
    }
    exit_code = sonde__cli_input_read(command, request->maps_path, maps_begin, &request->maps_text);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    status = sonde__host_maps_parse((const char *)request->maps_text.data, request->maps_text.size,
                                    &request->maps);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, request->maps_path, status, NULL);
    }
    if (request->maps.count == 0) {
        sonde__cli_error(command, "%s: not a memory map", request->maps_path);
        return SONDE__CLI_MALFORMED;
    }
    return SONDE__CLI_OK;
}

static int open_perf_map(const struct sonde__cli_command *command, struct request *request)
{
    struct sonde__cli_input input;
    enum sonde_status status;
    int exit_code;
    if (request->jit_path == NULL) {
        return SONDE__CLI_OK;
    }
    exit_code = sonde__cli_input_read(command, request->jit_path, any_bytes, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    status = sonde__jit_add_dump(&request->jit, input.data, input.size);
    if (status == SONDE_UNSUPPORTED) {
        status = sonde__jit_add_map(&request->jit, (const char *)input.data, input.size);
    }
    if (status == SONDE_OK) {
        status = sonde__jit_settle(&request->jit);
    }
    sonde__cli_input_done(&input);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, request->jit_path, status, NULL);
    }
    if (request->jit.count == 0) {
        sonde__cli_error(command, "%s: neither a perf map nor a jitdump: no name in it",
                         request->jit_path);
        return SONDE__CLI_MALFORMED;
    }
    return SONDE__CLI_OK;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.report_path != NULL) {
        if (operands.count != 0 || request.maps_path != NULL || request.jit_path != NULL ||
            request.returns || request.images.arch != NULL) {
            return sonde__cli_usage_error(command,
                                          "--report names all of a report: no addresses and no "
                                          "--maps, --perf-map, --return or --arch");
        }
        return symbolize_report(command, &request);
    }
    sonde__cli_symbols_start(&request.symbols, command, 0);
    request.images.command = command;
    request.images.symbols = &request.symbols;
    sonde__jit_init(&request.jit);
    exit_code = open_maps(command, &request);
    if (exit_code == SONDE__CLI_OK) {
        exit_code = open_perf_map(command, &request);
    }
    if (exit_code == SONDE__CLI_OK) {
        if (request.json) {
            putchar('[');
        }
        if (operands.count == 0) {
            exit_code = symbolize_stream(command, &request);
        }
        for (unsigned i = 0; i < operands.count && exit_code == SONDE__CLI_OK; i++) {
            exit_code = symbolize_argument(command, &request, operands.list[i]);
        }
        if (request.json) {
            printf("\n]\n");
        }
    }
    if (exit_code == SONDE__CLI_OK && operands.count != 0) {
        exit_code = request.images.exit_code; /* in a stream missing images are no reason to stop */
    }
    symbolize_images_done(&request.images);
    sonde__host_maps_done(&request.maps);
    sonde__jit_done(&request.jit);
    sonde__cli_input_done(&request.maps_text);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_symbolize = {
    .name = "symbolize",
    .summary = "name the functions and lines of addresses, alone or in a log",
    .usage = "[OPTION...] ADDRESS...\n[OPTION...] < LOG\n[OPTION...] --report FILE",
    .about = "Prints functions, files and lines of addresses, including inlined calls.\n"
             "ADDRESS is IMAGE+0xOFFSET, where IMAGE is a path, a file name of --image, a\n"
             "build-id or UUID, or a file in the working directory; or a plain address with\n"
             "--image or --maps (hexadecimal, with or without 0x). Offsets are those of the\n"
             "file as linked; of a Mach-O also from its header.\n"
             "\n"
             "Without ADDRESS standard input is copied to standard output, with the function\n"
             "of each address in brackets behind it. Addresses are any image+0xoffset, an\n"
             "address on a line of its own (with --image), and those in logs of sanitizers\n"
             "(by build-id, if the log has it), of glibc's backtrace_symbols and of sonde.\n"
             "Apple's crash logs are read as a whole, as text (.crash) and as JSON (.ips,\n"
             "where each frame gets a member \"sonde\").\n"
             "\n"
             "Names come from an index file (sonde index) or from debug information, that of\n"
             "the image or of a separate file (of a Mach-O: a dSYM bundle beside it or in\n"
             "--symbols); build-ids or UUIDs must match.",
    .options = options,
    .examples = "  sonde symbolize /usr/bin/server+0x1c40d\n"
                "  sonde symbolize --symbols indexes < asan.log\n"
                "  sonde symbolize --maps maps.txt 0x7f52a81c40d0\n",
    .run = run,
};
