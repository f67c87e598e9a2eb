// SPDX-License-Identifier: Apache-2.0
/* sonde holders: which blocks of a process or core hold an object, and whether the object holds
 * itself through them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/block.h>

#include "cli_fit.h"
#include "cli_print.h"
#include "cli_report.h"
#include "cmd.h"
#include "demangle.h"
#include "heap_view.h"
#include "mem_heap.h"

/* Of indirect holders only the nearest ones are shown. */
enum { CYCLE_MAX = 64, SHOWN_MAX = 10000, ROOTS_MAX = 1000 };
/* Time for reading debug information while a person waits. */
#define BUDGET_NS ((uint64_t)30 * 1000000000u)

/* An edge to the address. */
struct holder {
    const struct sonde__blockheap_edge *edge;
    struct sonde__blockheap_root root; /* for indirect holders */
    bool is_root;
    size_t line; /* of the output; 0: not printed */
};

struct request {
    struct heap_place place;
    uint64_t address;
    bool json;
    struct sonde__cli_symbols symbols;
    struct heap_view view;
    struct sonde__blockheap_graph graph;
    struct holder *holders;
    size_t holder_count, root_count, lines;
};

static const struct sonde__cli_option options[] = {
    {"core", 'c', "FILE",
     "read a core file instead of a process; an operand before the address is the program, if the "
     "path in the core is wrong",
     sonde__cli_take_core, offsetof(struct request, place.core)},
    {"json", 'j', NULL, "JSON instead of text", sonde__cli_take_flag,
     offsetof(struct request, json)},
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, symbols),
    {0},
};

/* [PROCESS or PROGRAM] ADDRESS; the options decide which. */
static int take_operands(const struct sonde__cli_command *command,
                         const struct sonde__cli_operands *operands, struct request *request)
{
    char **at = operands->list; /* null-terminated */
    if (request->place.core == NULL) {
        if (operands->count < 2) {
            return sonde__cli_usage_error(command,
                                          "who holds what? give a process id and an address in it");
        }
        if (!sonde__cli_parse_pid(*at++, &request->place.pid)) {
            return sonde__cli_usage_error(command, "not a process id: %s", at[-1]);
        }
    } else if (*at != NULL && heap_view_is_program(&request->place, *at)) {
        request->place.program = *at++;
    }
    if (*at == NULL) {
        return sonde__cli_usage_error(command, "who holds what? give an address in the core");
    }
    if (!heap_view_parse_address(*at++, &request->address)) {
        return sonde__cli_usage_error(command, "not an address: %s", at[-1]);
    }
    return *at == NULL ? SONDE__CLI_GO_ON
                       : sonde__cli_usage_error(command, "one address at a time, not also %s", *at);
}

/* "Ctl._handler", from the class' variable list. Valid until the next call. */
static const char *name_in_object(struct request *request, const struct sonde__blockheap_edge *edge)
{
    static char text[2 * SONDE__BLOCKHEAP_NAME_MAX];
    struct sonde__blockheap_object object;
    struct sonde__blockheap_variable variable;
    if (!sonde__blockheap_object_at(request->view.heap, edge->from, &object) ||
        !sonde__blockheap_object_variable(request->view.heap, object.class_at, edge->offset,
                                          &variable)) {
        return NULL;
    }
    snprintf(text, sizeof text, "%s.%s", variable.of, variable.name);
    return text;
}

static const char *name_of(struct request *request, const struct sonde__blockheap_edge *edge)
{
    const struct sonde__block_member *variable;
    if (edge->by_object) {
        return name_in_object(request, edge);
    }
    variable = heap_view_variable(&request->view, edge->from, edge->offset);
    return variable != NULL ? variable->name : NULL;
}

/* Kind of reference from an object or memory. */
static const char *kind_of(const struct sonde__blockheap_edge *edge)
{
    if (!edge->by_object) {
        return edge->kind == SONDE_BLOCK_OBJECT && edge->maybe ? "C++ object, perhaps"
                                                               : sonde_block_kind_text(edge->kind);
    }
    return edge->maybe ? "perhaps" : "strong";
}

/* The C++ object in a block at an edge's offset, or null. */
static const struct sonde__blockheap_capture *object_of(struct request *request,
                                                        const struct sonde__blockheap_edge *edge)
{
    const struct sonde__blockheap_item *item = heap_view_block(&request->view, edge->from);
    const struct sonde__blockheap_captures *captures;
    const struct sonde__blockheap_capture *found = NULL;
    if (edge->by_object || edge->kind != SONDE_BLOCK_OBJECT || item == NULL) {
        return NULL;
    }
    captures =
        sonde__blockheap_captures(request->view.heap, item->descriptor, item->flags, item->invoke);
    for (uint32_t i = 0; captures != NULL && i < captures->count; i++) {
        if (!captures->items[i].inside && captures->items[i].offset <= edge->offset &&
            captures->items[i].kind != SONDE_BLOCK_DATA) {
            found = &captures->items[i];
        }
    }
    return found;
}

/* Its type, from debug information or from a helper's name. Valid until the next call. Null:
 * unknown. */
static const char *type_of(struct request *request, const struct sonde__blockheap_edge *edge)
{
    static char encoded[1024], text[SONDE__DEMANGLE_OUTPUT_MAX];
    static const char prefix[] = "typeinfo name for ";
    const struct sonde__blockheap_capture *capture = object_of(request, edge);
    const char *type;
    if (capture == NULL) {
        return NULL;
    }
    if (capture->variable != NULL) {
        return edge->inner >= 0 ? capture->variable->variable_type : capture->variable->type;
    }
    if (capture->type == NULL || capture->type_size >= sizeof encoded) {
        return NULL;
    }
    snprintf(encoded, sizeof encoded, "%.*s", (int)capture->type_size, capture->type);
    type = sonde__demangle(encoded, text);
    return strncmp(type, prefix, sizeof prefix - 1) == 0 ? type + sizeof prefix - 1 : NULL;
}

/* "in a C++ object at 32: std::shared_ptr<Thing>, owner". */
static void print_object(struct request *request, const struct sonde__blockheap_edge *edge)
{
    const char *type = type_of(request, edge);
    if (edge->inner >= 0) {
        printf("__block variable at %" PRIu32 ", in a C++ object at %" PRId32 " of it",
               edge->offset, edge->inner);
    } else {
        printf("in a C++ object at %" PRIu32, edge->offset);
    }
    if (type != NULL) {
        printf(": ");
        sonde__cli_print_visible(stdout, type);
    }
    printf("%s", edge->maybe ? ", ownership not known" : edge->owned ? ", owner" : ", no owner");
}

/* "self, strong at 40", "__block variable at 32, strong at 40 of it", "perhaps at 16". */
static void print_way(struct request *request, const struct sonde__blockheap_edge *edge)
{
    const char *kind = sonde_block_kind_text(edge->kind), *name = name_of(request, edge);
    if (name != NULL) {
        sonde__cli_print_visible(stdout, name);
        printf(", ");
    }
    if (edge->by_memory && edge->offset == 0 && edge->from > edge->to) {
        printf("in the allocation");
    } else if (edge->by_object) {
        printf("%s at %" PRIu32, kind_of(edge), edge->offset);
    } else if (edge->kind == SONDE_BLOCK_OBJECT) {
        print_object(request, edge);
    } else if (edge->inner >= 0) {
        printf("__block variable at %" PRIu32 ", %s at %" PRId32 " of it", edge->offset, kind,
               edge->inner);
    } else {
        printf("%s at %" PRIu32, kind, edge->offset);
    }
}

/* Are the holders of one kind, with the same reference? They share a line. */
static bool is_alike(struct request *request, const struct holder *a, const struct holder *b)
{
    const struct sonde__blockheap_item *x = heap_view_block(&request->view, a->edge->from);
    const struct sonde__blockheap_item *y = heap_view_block(&request->view, b->edge->from);
    return x != NULL && y != NULL && x->invoke == y->invoke && x->descriptor == y->descriptor &&
           a->edge->offset == b->edge->offset && a->edge->inner == b->edge->inner &&
           a->edge->kind == b->edge->kind && a->edge->owned == b->edge->owned &&
           a->edge->maybe == b->edge->maybe && a->root.places == b->root.places;
}

static void print_through(struct request *request, const struct sonde__blockheap_root *root)
{
    const struct sonde__blockheap_edge *last = &request->graph.edges[root->last];
    if (root->places == 0) {
        printf("; it is in the allocation 0x%" PRIx64, last->to);
        return;
    }
    printf("; perhaps by way of ");
    if (root->places > 1) {
        printf("%" PRIu32 " places in memory, the last ", root->places);
    }
    printf("0x%" PRIx64 " at %" PRIu32, last->from, last->offset);
    if (last->to != request->address) {
        printf(", to the allocation 0x%" PRIx64 " that it is in", last->to);
    }
}

/* Where the blocks of `count` similar holders were made. */
static void print_made(struct request *request, const struct holder *holder, size_t count)
{
    const struct sonde__blockheap_item *block = heap_view_block(&request->view, holder->edge->from);
    struct sonde__blockheap_item *items;
    size_t at = 0;
    if (block == NULL || request->view.made == NULL) {
        return;
    }
    items = count > 1 ? sonde__mem_alloc_array(count, sizeof *items) : NULL;
    if (items == NULL) {
        heap_made_print(request->view.made, block);
        return;
    }
    for (size_t i = 0; i < request->holder_count && at < count; i++) {
        if (request->holders[i].line == holder->line) {
            items[at++] = *heap_view_block(&request->view, request->holders[i].edge->from);
        }
    }
    heap_made_print_all(request->view.made, items, at);
    sonde__mem_free(items);
}

/* Print the first of `count` similar holders. */
static void print_holder(struct request *request, const struct holder *holder, size_t count)
{
    const struct sonde__blockheap_edge *edge = holder->edge;
    const struct sonde__blockheap_item *block = heap_view_block(&request->view, edge->from);
    printf("  ");
    heap_view_print_value(&request->view, edge->from, true);
    if (block != NULL) {
        printf(", %" PRIu32 " reference%s", block->count, block->count == 1 ? "" : "s");
    }
    if (count > 1) {
        printf(", and %zu more like it", count - 1);
    }
    printf("\n    ");
    print_way(request, edge);
    if (holder->is_root) {
        print_through(request, &holder->root);
    }
    putchar('\n');
    print_made(request, holder, count);
}

/* "-[self, strong]->"; without a name the offset. */
static void print_arrow(struct request *request, const struct sonde__blockheap_edge *edge)
{
    const char *name = name_of(request, edge);
    printf("    -[");
    if (name != NULL) {
        sonde__cli_print_visible(stdout, name);
        printf(edge->inner >= 0 ? ", __block, %s" : ", %s", kind_of(edge));
    } else {
        print_way(request, edge);
    }
    printf("]-> ");
}

/* Print owning or non-owning holders, similar ones on one line. Returns their number. */
static size_t print_holders(struct request *request, bool owned)
{
    size_t shown = 0, lines = 0;
    for (size_t i = 0; i < request->holder_count; i++) {
        struct holder *holder = &request->holders[i];
        size_t alike = 1;
        if (holder->edge->owned != owned || holder->line != 0) {
            continue;
        }
        holder->line = ++request->lines;
        if (!owned && shown == 0) {
            printf("without owning it:\n");
        }
        for (size_t k = i + 1; k < request->holder_count && lines < SHOWN_MAX; k++) {
            if (request->holders[k].line == 0 && is_alike(request, holder, &request->holders[k])) {
                request->holders[k].line = holder->line;
                alike++;
            }
        }
        if (lines++ < SHOWN_MAX) {
            print_holder(request, holder, alike);
        }
        shown += alike;
    }
    if (lines > SHOWN_MAX) {
        printf("  and %zu more\n", lines - SHOWN_MAX);
    }
    return shown;
}

static void print_cycle(struct request *request, const uint32_t *edges, size_t length)
{
    printf("it holds itself:\n  ");
    heap_view_print_value(&request->view, request->address, true);
    for (size_t i = 0; i < length; i++) {
        const struct sonde__blockheap_edge *edge = &request->graph.edges[edges[i]];
        putchar('\n');
        print_arrow(request, edge);
        heap_view_print_value(&request->view, edge->to, true);
    }
    putchar('\n');
}

static int print_text(struct request *request, const uint32_t *cycle, size_t length)
{
    size_t owners;
    sonde__cli_fit_output();
    heap_view_print_value(&request->view, request->address, true);
    printf("\n%zu blocks on the heap, %.1f MB searched in %.1f ms\n", request->view.found.count,
           (double)request->view.found.bytes / 1e6, (double)request->view.search_ns / 1e6);
    heap_made_print_total(request->view.made);
    owners = print_holders(request, true);
    if (owners + print_holders(request, false) == 0) {
        printf("no block holds it\n");
    }
    if (request->root_count == ROOTS_MAX) {
        printf("of the indirect holders only the nearest %d are shown\n", ROOTS_MAX);
    }
    if (request->graph.lost != 0) {
        printf("the search is not complete: %" PRIu64
               " blocks, objects and places in memory were not followed\n",
               request->graph.lost);
    }
    if (length > 0) {
        print_cycle(request, cycle, length);
    }
    return owners > 0 ? SONDE__CLI_OK : SONDE__CLI_ABSENT;
}

static void put_node(struct sonde__json *json, struct request *request, const char *key,
                     uint64_t address)
{
    const struct sonde__blockheap_item *block = heap_view_block(&request->view, address);
    struct sonde__blockheap_object object;
    struct sonde__call function;
    uint64_t start, size;
    sonde__json_object(json, key);
    sonde__json_hex(json, "address", address);
    if (block != NULL) {
        heap_view_function(&request->view, block->invoke, &function);
        sonde__json_string(json, "what", "block");
        sonde__json_uint(json, "size", block->size);
        sonde__json_uint(json, "references", block->count);
        sonde__json_string(json, "function", function.name);
        sonde__json_string(json, "file", function.file);
        sonde__json_uint(json, "line", function.line);
        heap_made_json(request->view.made, json, block);
    } else if (sonde__blockheap_object_at(request->view.heap, address, &object)) {
        sonde__json_string(json, "what", "object");
        sonde__json_string(json, "class", object.name);
    } else if (sonde__blockheap_allocation(request->view.heap, address, &start, &size)) {
        sonde__json_string(json, "what", "memory");
        sonde__json_hex(json, "allocation", start);
    }
    sonde__json_close(json);
}

static void put_through(struct sonde__json *json, const struct request *request,
                        const struct sonde__blockheap_root *root)
{
    const struct sonde__blockheap_edge *last = &request->graph.edges[root->last];
    sonde__json_object(json, "through");
    sonde__json_uint(json, "places", root->places);
    if (root->places == 0) {
        sonde__json_string(json, "last", NULL);
        sonde__json_string(json, "last_offset", NULL);
    } else {
        sonde__json_hex(json, "last", last->from);
        sonde__json_uint(json, "last_offset", last->offset);
    }
    sonde__json_close(json);
}

/* root null: a direct edge. */
static void put_edge(struct sonde__json *json, struct request *request,
                     const struct sonde__blockheap_edge *edge,
                     const struct sonde__blockheap_root *root)
{
    const char *name = name_of(request, edge), *type = type_of(request, edge);
    sonde__json_line(json, 4);
    sonde__json_object(json, NULL);
    put_node(json, request, "from", edge->from);
    put_node(json, request, "to", root != NULL ? request->address : edge->to);
    sonde__json_string(json, "kind", sonde_block_kind_text(edge->kind));
    sonde__json_uint(json, "offset", edge->offset);
    if (edge->inner >= 0) {
        sonde__json_int(json, "variable_offset", edge->inner);
    }
    if (name != NULL) {
        sonde__json_string(json, "variable", name);
    }
    if (type != NULL) {
        sonde__json_string(json, "type", type);
    }
    if (root != NULL) {
        put_through(json, request, root);
    }
    sonde__json_bool(json, "owned", edge->owned);
    sonde__json_bool(json, "certain", !edge->maybe && root == NULL);
    sonde__json_close(json);
}

static int print_json(struct request *request, const uint32_t *cycle, size_t length)
{
    struct sonde__report_out out;
    struct sonde__json json;
    bool owned = false;
    sonde__cli_json_begin(&json, &out);
    sonde__json_object(&json, NULL);
    heap_view_json_place(&request->view, &json);
    put_node(&json, request, "asked", request->address);
    sonde__json_line(&json, 2);
    sonde__json_uint(&json, "blocks", request->view.found.count);
    sonde__json_uint(&json, "searched_bytes", request->view.found.bytes);
    sonde__json_uint(&json, "unreadable_bytes", request->view.found.unreadable);
    sonde__json_uint(&json, "not_followed", request->graph.lost);
    sonde__json_bool(&json, "nearest_only", request->root_count == ROOTS_MAX);
    sonde__json_line(&json, 2);
    heap_made_json_total(request->view.made, &json);
    sonde__json_line(&json, 2);
    sonde__json_array(&json, "holders");
    for (size_t i = 0; i < request->holder_count; i++) {
        const struct holder *holder = &request->holders[i];
        put_edge(&json, request, holder->edge, holder->is_root ? &holder->root : NULL);
        owned = owned || holder->edge->owned;
    }
    sonde__json_close(&json);
    sonde__json_line(&json, 2);
    sonde__json_array(&json, "cycle");
    for (size_t i = 0; i < length; i++) {
        put_edge(&json, request, &request->graph.edges[cycle[i]], NULL);
    }
    sonde__json_close(&json);
    sonde__json_line(&json, 0);
    sonde__cli_json_end(&json);
    return owned ? SONDE__CLI_OK : SONDE__CLI_ABSENT;
}

/* Find direct holders, then indirect ones. False: no memory. */
static bool find_holders(struct request *request)
{
    const struct sonde__blockheap_graph *graph = &request->graph;
    static struct sonde__blockheap_root roots[ROOTS_MAX];
    uint64_t start = request->address, size;
    size_t first, count = sonde__blockheap_to(graph, request->address, &first), root_count;
    (void)sonde__blockheap_allocation(request->view.heap, request->address, &start, &size);
    root_count = sonde__blockheap_roots(graph, request->address, start, roots, ROOTS_MAX);
    request->holders = sonde__mem_alloc_zeroed((count + root_count + 1) * sizeof *request->holders);
    if (request->holders == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sonde__blockheap_edge *edge = &graph->edges[graph->by_to[first + i]];
        if (!edge->by_memory) {
            request->holders[request->holder_count++].edge = edge;
        }
    }
    request->root_count = root_count;
    for (size_t i = 0; i < root_count; i++) {
        request->holders[request->holder_count++] = (struct holder){
            .edge = &graph->edges[roots[i].edge], .is_root = true, .root = roots[i]};
    }
    return true;
}

static int show(struct request *request)
{
    uint32_t cycle[CYCLE_MAX];
    size_t length = sonde__blockheap_cycle(&request->graph, request->address, cycle, CYCLE_MAX);
    if (!find_holders(request)) {
        return sonde__cli_fail(request->view.command, NULL, SONDE_MEMORY, NULL);
    }
    return request->json ? print_json(request, cycle, length) : print_text(request, cycle, length);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request;
    struct sonde__cli_operands operands;
    struct sonde_error error;
    enum sonde_status status;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = take_operands(command, &operands, &request);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    sonde__cli_symbols_start(&request.symbols, command, BUDGET_NS);
    exit_code = heap_view_open(&request.view, command, &request.place, &request.symbols);
    if (exit_code == SONDE__CLI_OK) {
        status =
            sonde__blockheap_graph(request.view.heap, &request.view.found, &request.graph, &error);
        exit_code =
            status == SONDE_OK ? show(&request) : sonde__cli_fail(command, NULL, status, &error);
    }
    exit_code = heap_view_doubts(&request.view, exit_code);
    sonde__mem_free(request.holders);
    sonde__blockheap_graph_done(&request.graph);
    heap_view_close(&request.view);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_holders = {
    .name = "holders",
    .summary = "which blocks (closures) of a process or core hold an object",
    .usage = "[OPTION...] PID ADDRESS\n[OPTION...] --core=FILE [PROGRAM] ADDRESS",
    .about = "Searches the heap of a process or core for blocks and shows which of them hold\n"
             "the object or block at an address, directly or in a __block variable, and how.\n"
             "C++ objects and collections are followed; what is found through them is held\n"
             "perhaps. If it holds itself by way of a block, the cycle is shown. Only owning\n"
             "references count; weak and unretained captures are listed apart. The process\n"
             "is not stopped, and none of its code is run. If the program keeps a registry\n"
             "of its blocks (sonde run --blocks), the output shows where each was made. Exit\n"
             "code 3: no block holds it.",
    .options = options,
    .examples = "  sonde holders 4711 0x55d0f7a41120\n"
                "  sonde holders --json $(pidof app) 0x55d0f7a41120\n"
                "  sonde holders --core=core.4711 0x55d0f7a41120\n",
    .run = run,
};
