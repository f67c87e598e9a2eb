// SPDX-License-Identifier: Apache-2.0
/* Built without .eh_frame for these functions: their call frame information is .debug_frame's. */
int debug_frame_leaf(int a);
int debug_frame_calls(int (*call)(int), int a);
int debug_frame_room(int (*call)(char *), int a);

int debug_frame_leaf(int a)
{
    return a * 3;
}

int debug_frame_calls(int (*call)(int), int a)
{
    return call(a) + call(a + 1) * a;
}

int debug_frame_room(int (*call)(char *), int a)
{
    char room[a]; /* a frame of a size known only at run time: CFA by the frame pointer */
    return call(room) + a;
}
