// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_HOOKS_API_H
#define TEST_HOOKS_API_H

#pragma GCC visibility push(default)
int api_open(int value);
int api_open64(int value);
int api_by_table(int value);
int api_by_hidden(int value);
int plugin_call(int value);
int plugin_by_table(int value);
int plugin_by_alias(int value);
int plugin_later(int value);
int api_later(int value);
extern const int plugin_build;
int no_plt_call(int value);
/* The constructor of libhooks_first calls this if it is not null. */
extern void (*api_in_constructor)(const int *is_chosen_constructed);
#pragma GCC visibility pop

#endif
