// SPDX-License-Identifier: Apache-2.0
/* Calls a function that the simulated libSystem lacks: the host must report it, and end. */
extern int mach_zone_force_gc(int host);

int main(void)
{
    return mach_zone_force_gc(0);
}
