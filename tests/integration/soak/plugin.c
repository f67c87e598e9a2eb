// SPDX-License-Identifier: Apache-2.0
/* Two libraries with the same layout and different frame sizes: one replaces the other at its
 * address. */
__attribute__((visibility("default"))) void plugin_call(void (*leaf)(void));
void plugin_call(void (*leaf)(void))
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 1;
    leaf();
    frame[1] = frame[0];
}
