// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base_bytes.h"
#include "base_status.h"
#include "base_text.h"
#include "v8_read.h"

/* The symbol of each value. A name that ends with "__" is the beginning of one: the type of the
 * member follows, which differs between versions. */
static const struct {
    uint8_t value;
    const char *symbol;
} symbols[] = {
    {V8_MAJOR, "_ZN2v88internal7Version6major_E"},
    {V8_MINOR, "_ZN2v88internal7Version6minor_E"},
    {V8_FP_CONTEXT, "v8dbg_off_fp_context"},
    {V8_FP_FUNCTION, "v8dbg_off_fp_function"},
    {V8_FP_BYTECODE, "v8dbg_off_fp_bytecode_array"},
    {V8_FP_OFFSET, "v8dbg_off_fp_bytecode_offset"},
    {V8_MAP, "v8dbg_class_HeapObject__map__"},
    {V8_MAP_TYPE, "v8dbg_class_Map__instance_type__"},
    {V8_MAP_SIZE, "v8dbg_class_Map__instance_size_in_words__"},
    {V8_FUNCTION_SHARED, "v8dbg_class_JSFunction__shared__"},
    {V8_FUNCTION_CONTEXT, "v8dbg_class_JSFunction__context__"},
    {V8_SHARED_NAME, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__"},
    {V8_SHARED_SCRIPT, "v8dbg_class_SharedFunctionInfo__script_or_debug_info__"},
    {V8_SHARED_SCRIPT, "v8dbg_class_SharedFunctionInfo__script__"},
    {V8_SCRIPT_NAME, "v8dbg_class_Script__name__"},
    {V8_SCRIPT_SOURCE, "v8dbg_class_Script__source__"},
    {V8_SCRIPT_EVAL, "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments__"},
    {V8_SCRIPT_EVAL, "v8dbg_class_Script__eval_from_shared_or_wrapped_arguments_or_sfi_table__"},
    {V8_STRING_LENGTH, "v8dbg_class_String__length__"},
    {V8_STRING_BYTES, "v8dbg_class_SeqOneByteString__chars__"},
    {V8_CONS_FIRST, "v8dbg_class_ConsString__first__"},
    {V8_CONS_SECOND, "v8dbg_class_ConsString__second__"},
    {V8_SLICED_PARENT, "v8dbg_class_SlicedString__parent__"},
    {V8_SLICED_OFFSET, "v8dbg_class_SlicedString__offset__"},
    {V8_THIN_ACTUAL, "v8dbg_class_ThinString__actual__"},
    {V8_EXTERNAL_RESOURCE, "v8dbg_class_ExternalString__resource__"},
    {V8_ARRAY_LENGTH, "v8dbg_class_FixedArrayBase__length__"},
    {V8_ARRAY_DATA, "v8dbg_class_FixedArray__data__"},
    {V8_BYTECODE_DATA, "v8dbg_class_BytecodeArray__data__"},
    {V8_SCOPE_FIRST, "v8dbg_scopeinfo_idx_first_vars"},
    {V8_TYPE_CONTEXT_FIRST, "v8dbg_FirstContextType"},
    {V8_TYPE_CONTEXT_LAST, "v8dbg_LastContextType"},
    {V8_TYPE_SHARED, "v8dbg_type_SharedFunctionInfo__"},
    {V8_TYPE_SCRIPT, "v8dbg_type_Script__"},
    {V8_TYPE_SCOPE, "v8dbg_type_ScopeInfo__"},
    {V8_TYPE_BYTECODE, "v8dbg_type_BytecodeArray__"},
    {V8_TYPE_BYTES, "v8dbg_type_ByteArray__"},
    {V8_TYPE_TRUSTED_BYTES, "v8dbg_type_TrustedByteArray__"},
    {V8_TAGGED_BYTES, "v8dbg_TaggedSize"},
};

static bool matches(const char *name, const char *symbol)
{
    size_t size = strlen(symbol);
    bool is_beginning = symbol[size - 1] == '_' && symbol[size - 2] == '_';
    return strncmp(name, symbol, size) == 0 && (is_beginning || name[size] == '\0');
}

void v8_note(struct v8_stated *stated, const struct sonde__elf *elf,
             const struct sonde__elf_symbol *symbol)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (matches(symbol->name, symbols[i].symbol)) {
            /* no bytes: a zero is not in the file (.bss) */
            const uint8_t *bytes = sonde__elf_at_vaddr(elf, symbol->value, 4);
            stated->values[symbols[i].value] = bytes != NULL ? (int32_t)sonde__base_le32(bytes) : 0;
            stated->has[symbols[i].value] = true;
            stated->is_v8 |= symbols[i].value == V8_FP_FUNCTION;
            stated->arch = elf->arch;
        }
    }
}

/* Are all values there, and near enough to be offsets or types? */
static bool is_complete(const struct v8_stated *stated)
{
    enum { NEAR = 1024, TYPES = 1 << 16 };
    for (unsigned i = 0; i < V8_STATED; i++) {
        int32_t value = stated->values[i];
        int32_t limit = i >= V8_TYPE_CONTEXT_FIRST ? TYPES : NEAR;
        if (!stated->has[i] || value > limit || value < -limit) {
            return false;
        }
        bool is_in_frame = i >= V8_FP_CONTEXT && i <= V8_FP_OFFSET;
        if (is_in_frame ? value >= 0 || value < -64 || value % 8 != 0 : value < 0) {
            return false;
        }
    }
    return !stated->has[V8_TAGGED_BYTES] || stated->values[V8_TAGGED_BYTES] == 8;
}

/* The versions of Node.js' releases of long support. Others may lay out what is not stated in
 * another way. */
static bool is_known(int32_t major, int32_t minor)
{
    static const int8_t known[][2] = {{10, 2}, {11, 3}, {12, 4}, {13, 6}, {14, 6}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i][0] == major && known[i][1] == minor) {
            return true;
        }
    }
    return false;
}

enum sonde_status v8_layout_of(const struct v8_stated *stated, struct v8_layout *ret_layout,
                               struct sonde_error *ret_error)
{
    enum { SCRIPT_LINE_OFFSET = 24, SCRIPT_ID = 64, OLD_POSITIONS = 32, POSITIONS = 24 };
    int32_t major = stated->values[V8_MAJOR], minor = stated->values[V8_MINOR];
    char what[64];
    if (!stated->has[V8_MAJOR] || !is_known(major, minor)) {
        snprintf(what, sizeof what, "V8 %d.%d is not known", (int)major, (int)minor);
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, what, NULL, 0, 0);
    }
    if (!is_complete(stated)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "V8 does not state its layout as its version should", NULL, 0, 0);
    }
    memcpy(ret_layout->of, stated->values, sizeof ret_layout->of);
    ret_layout->arch = stated->arch;
    ret_layout->script_line_offset = SCRIPT_LINE_OFFSET;
    ret_layout->script_id = SCRIPT_ID;
    ret_layout->bytecode_positions = major < 12 ? OLD_POSITIONS : POSITIONS;
    ret_layout->has_plain_flags = major >= 13;
    ret_layout->has_step_bits = major >= 14;
    ret_layout->class_kinds = major >= 14 ? 2 : 1; /* 2: if another member precedes, its own kind */
    ret_layout->function_scope = ret_layout->has_plain_flags ? 4 : 2;
    if (!stated->has[V8_TYPE_TRUSTED_BYTES]) {
        ret_layout->of[V8_TYPE_TRUSTED_BYTES] = stated->values[V8_TYPE_BYTES];
    }
    return SONDE_OK;
}

void v8_version(const struct v8_layout *layout, char *ret_text, size_t capacity)
{
    snprintf(ret_text, capacity, "V8 %d.%d", (int)layout->of[V8_MAJOR], (int)layout->of[V8_MINOR]);
}
