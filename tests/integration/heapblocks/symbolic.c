// SPDX-License-Identifier: Apache-2.0
/* All its blocks are those of a library. */
int library_main(int argc, char **argv);

int main(int argc, char **argv)
{
    return library_main(argc, argv);
}
