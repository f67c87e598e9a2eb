// SPDX-License-Identifier: Apache-2.0
/* Two libraries with the same layout and different frame sizes. */
__attribute__((visibility("default"))) void plugin_call(void (*leaf)(void));
void plugin_call(void (*leaf)(void))
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 1;
    leaf();
    frame[1] = frame[0];
}

static __attribute__((constructor)) void at_load(void)
{
    extern void (*plugin_hook)(void) __attribute__((weak));
    if (&plugin_hook != 0 && plugin_hook != 0) {
        plugin_hook();
    }
}
