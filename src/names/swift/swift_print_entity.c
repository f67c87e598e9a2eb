// SPDX-License-Identifier: Apache-2.0
/* Declarations: `context.name`, or `name in context`, where a name has several words ("closure #1")
 * or a type follows the name. */
#include <string.h>

#include "swift_print.h"

enum type_style { NO_TYPE, AFTER_COLON, AS_FUNCTION };

/* How a declaration is printed. */
struct form {
    enum type_style type;
    bool named;
    const char *instead; /* of the name; null: the name */
    swift_ref extra;     /* node whose text is more words of the name; none: no more */
    bool count;          /* `extra` is followed by its number */
    bool postfix;        /* several words */
};

static bool has_space(const struct sonde__swift_node *node)
{
    return memchr(node->text, ' ', node->length) != NULL;
}

static struct form form_of_kind(const struct sonde__swift_out *out, swift_ref ref)
{
    switch (sonde__swift_kind_of(out->p, ref)) {
    case SWIFT_FUNCTION_NODE:
        return (struct form){.type = AS_FUNCTION, .named = true};
    case SWIFT_VARIABLE_NODE:
        return (struct form){.type = AFTER_COLON, .named = true};
    case SWIFT_SUBSCRIPT_NODE:
        return (struct form){.type = AS_FUNCTION, .instead = "subscript"};
    case SWIFT_CLOSURE_NODE:
        return (struct form){
            .type = out->brief ? NO_TYPE : AS_FUNCTION, .extra = ref, .count = true};
    case SWIFT_ALLOCATOR_NODE:
    case SWIFT_CONSTRUCTOR_NODE:
        return (struct form){.type = AS_FUNCTION, .extra = ref};
    case SWIFT_INITIALIZER_NODE:
        return (struct form){
            .extra = ref,
            .count = strncmp(out->p->nodes[ref].text, "default", sizeof "default" - 1) == 0};
    case SWIFT_DESTRUCTOR_NODE:
        return (struct form){.extra = ref};
    case SWIFT_MACRO_NODE:
        return (struct form){.type = sonde__swift_child(out->p, ref, SWIFT_OF_LABELS) == 0
                                         ? AFTER_COLON
                                         : AS_FUNCTION,
                             .named = true};
    case SWIFT_MACRO_EXPANSION_NODE:
        return (struct form){.named = true, .extra = ref, .count = true};
    default:
        return (struct form){.named = true};
    }
}

/* The declaration itself, or the storage of an accessor. */
static struct form form_of(const struct sonde__swift_out *out, swift_ref *ref)
{
    bool accessor = sonde__swift_kind_of(out->p, *ref) == SWIFT_ACCESSOR_NODE;
    swift_ref extra = *ref;
    *ref = accessor ? sonde__swift_child(out->p, *ref, 0) : *ref;
    struct form form = form_of_kind(out, *ref);
    if (accessor) {
        form.type = AFTER_COLON;
        form.extra = extra;
    }
    swift_ref name = sonde__swift_child(out->p, *ref, SWIFT_OF_NAME);
    form.postfix = (form.extra != 0 && has_space(&out->p->nodes[form.extra])) ||
                   (form.named && sonde__swift_kind_of(out->p, name) == SWIFT_LOCAL_NAME_NODE);
    return form;
}

static void put_extra(struct sonde__swift_out *out, const struct form *form)
{
    const struct sonde__swift_node *node = &out->p->nodes[form->extra];
    swift_ref macro = node->kind == SWIFT_MACRO_EXPANSION_NODE
                          ? sonde__swift_child(out->p, form->extra, SWIFT_OF_LABELS)
                          : 0;
    sonde__swift_put_text(out, form->extra);
    if (macro != 0) {
        sonde__swift_put_node(out, macro);
        sonde__swift_put(out, " expansion #");
    }
    if (form->count) {
        sonde__swift_put_number(out, node->number);
    }
}

static void put_own_name(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref name = sonde__swift_child(out->p, ref, SWIFT_OF_NAME);
    swift_ref private = sonde__swift_child(out->p, ref, SWIFT_OF_PRIVATE);
    if (name != 0) {
        sonde__swift_put_node(out, name);
    }
    if (private != 0) {
        sonde__swift_put_node(out, private);
    }
}

static void put_name(struct sonde__swift_out *out, swift_ref ref, const struct form *form)
{
    bool extra_first = form->extra != 0 && form->postfix && (form->named || form->instead != NULL);
    if (extra_first) {
        put_extra(out, form);
        sonde__swift_put(out, " of ");
    }
    size_t before = out->used;
    if (form->instead != NULL) {
        sonde__swift_put(out, form->instead);
    } else if (form->named || sonde__swift_kind_of(out->p, ref) == SWIFT_CONSTRUCTOR_NODE) {
        put_own_name(out, ref);
    }
    if (form->extra != 0 && !extra_first) {
        sonde__swift_put(out, out->used != before ? "." : "");
        put_extra(out, form);
    }
}

static bool is_function(const struct sonde__swift *p, swift_ref type)
{
    if (sonde__swift_kind_of(p, type) == SWIFT_GENERIC_TYPE_NODE) {
        type = sonde__swift_child(p, type, 1);
    }
    return sonde__swift_kind_of(p, type) == SWIFT_FUNCTION_TYPE_NODE &&
           p->nodes[type].text[0] == ' ';
}

/* Is a space needed between a name and its type? */
static bool needs_space(const struct sonde__swift *p, swift_ref type)
{
    enum sonde__swift_kind kind = sonde__swift_kind_of(p, type);
    return kind != SWIFT_GENERIC_TYPE_NODE &&
           (kind != SWIFT_FUNCTION_TYPE_NODE || strcmp(p->nodes[type].text, " ") != 0);
}

/* arguments: of a generic function, or none */
static void put_type_of(struct sonde__swift_out *out, swift_ref ref, swift_ref arguments)
{
    swift_ref type = sonde__swift_child(out->p, ref, SWIFT_OF_TYPE);
    swift_ref labels = sonde__swift_child(out->p, ref, SWIFT_OF_LABELS);
    bool generic = sonde__swift_kind_of(out->p, type) == SWIFT_GENERIC_TYPE_NODE;
    swift_ref inner = generic ? sonde__swift_child(out->p, type, 1) : type;
    bool declaration = is_function(out->p, type);
    if (labels == 0 && arguments == 0 && !declaration) {
        sonde__swift_put_node(out, type);
        return;
    }
    if (arguments != 0) {
        sonde__swift_put(out, "<");
        sonde__swift_put_children(out, arguments, ", ");
        sonde__swift_put(out, ">");
    } else if (generic) {
        sonde__swift_put_child(out, type, 0);
    }
    sonde__swift_put(out, generic && needs_space(out->p, inner) ? " " : "");
    if (sonde__swift_kind_of(out->p, inner) == SWIFT_FUNCTION_TYPE_NODE) {
        sonde__swift_put_function_type(out, labels, inner, true);
    } else {
        sonde__swift_put_node(out, inner);
    }
}

static void put_typed(struct sonde__swift_out *out, swift_ref ref, const struct form *form,
                      swift_ref arguments)
{
    swift_ref type = sonde__swift_child(out->p, ref, SWIFT_OF_TYPE);
    bool function = form->type == AS_FUNCTION && is_function(out->p, type);
    if (form->type == NO_TYPE || (!function && out->brief)) {
        return;
    }
    if (type == 0) {
        out->failed = true;
        return;
    }
    sonde__swift_put(out, !function                                    ? " : "
                          : form->postfix || needs_space(out->p, type) ? " "
                                                                       : "");
    put_type_of(out, ref, arguments);
}

/* The context in front, if the form allows it. Returns what is left to print behind. */
static swift_ref put_context(struct sonde__swift_out *out, swift_ref context, bool postfix)
{
    swift_ref left = 0;
    if (postfix) {
        return context;
    }
    size_t before = out->used;
    if (sonde__swift_is(out->p, context, SWIFT_ENTITY)) {
        out->depth++;
        left = sonde__swift_put_entity(out, context, true);
        out->depth--;
    } else {
        sonde__swift_put_node(out, context);
    }
    sonde__swift_put(out, out->used != before ? "." : "");
    return left;
}

swift_ref sonde__swift_put_entity(struct sonde__swift_out *out, swift_ref ref, bool as_prefix)
{
    swift_ref given = ref, arguments = 0;
    if (out->depth >= SWIFT_DEPTH_MAX || ++out->steps >= SWIFT_STEPS_MAX) {
        out->failed = true;
        return 0;
    }
    if (sonde__swift_kind_of(out->p, ref) == SWIFT_BOUND_FUNCTION_NODE) {
        arguments = sonde__swift_child(out->p, ref, 1);
        ref = sonde__swift_child(out->p, ref, 0);
    }
    struct form form = form_of(out, &ref);
    if (as_prefix && (form.type != NO_TYPE || form.postfix)) {
        return given;
    }
    swift_ref left =
        put_context(out, sonde__swift_child(out->p, ref, SWIFT_OF_CONTEXT), form.postfix);
    put_name(out, ref, &form);
    put_typed(out, ref, &form, arguments);
    if (!as_prefix && left != 0) {
        size_t before = out->used;
        sonde__swift_put(out, sonde__swift_kind_of(out->p, ref) == SWIFT_INITIALIZER_NODE ? " of "
                                                                                          : " in ");
        size_t begin = out->used;
        sonde__swift_put_node(out, left);
        out->used = out->used == begin ? before : out->used;
        left = 0;
    }
    return left;
}
