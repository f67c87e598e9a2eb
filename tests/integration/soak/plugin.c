// SPDX-License-Identifier: Apache-2.0
/* Two libraries of the same layout that differ in the size of a frame only: one comes to the place
 * of the other. */
__attribute__((visibility("default"))) void plugin_call(void (*leaf)(void));
void plugin_call(void (*leaf)(void))
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 1;
    leaf();
    frame[1] = frame[0];
}
