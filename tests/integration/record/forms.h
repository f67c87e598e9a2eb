// SPDX-License-Identifier: Apache-2.0
/* Each form of call has a function of its own, named form_*, and a number of calls of its own. */
#ifndef TEST_RECORD_FORMS_H
#define TEST_RECORD_FORMS_H

#pragma GCC visibility push(default)
int api_call(int value);
int api_alias(int value);
void form_inside_by_table(void);
void form_inside_hidden(void);
void form_loaded(void);
void form_no_plt(void);
#pragma GCC visibility pop

/* Calls by each form. */
enum {
    FORM_PLT = 11,
    FORM_NO_PLT,
    FORM_STATIC_POINTER,
    FORM_DLSYM_DEFAULT,
    FORM_DLSYM_NEXT,
    FORM_DLSYM_HANDLE,
    FORM_LOADED_CONSTRUCTOR,
    FORM_LOADED,
    FORM_STARTED_CONSTRUCTOR,
    FORM_STARTED_DESTRUCTOR,
    FORM_INSIDE_BY_TABLE,
    FORM_INSIDE_HIDDEN,
    FORM_ALIAS,
    FORM_OTHER_SPACE,
    FORM_THREADS = 25000, /* each of four */
};

/* The compiler must not merge or drop forms. */
#define FORM __attribute__((noinline, noclone))
#define CALL(function, count)                                                                      \
    do {                                                                                           \
        for (int i_ = 0; i_ < (count); i_++) {                                                     \
            (void)function(i_);                                                                    \
            __asm__ volatile("" ::: "memory");                                                     \
        }                                                                                          \
    } while (0)

#endif
