// SPDX-License-Identifier: Apache-2.0
/* Blocks of C: on the stack and in data, several of one descriptor, one with a block and a __block
 * variable in it, one that is made anew in a loop. No header, so that it compiles for any system.
 */
typedef void (^action)(int);
typedef long (^measure)(const char *text, unsigned count);

extern int shown(int value);
extern void later(action what);
extern long measured(measure how);
void *_Block_copy(const void *block);

static const action of_data = ^(int value) {
  shown(value);
};

static int with_block(int value, long more, action inner)
{
    __block int sum = value;
    later(^(int x) {
      sum += x;
      inner(sum + (int)more);
    });
    return sum;
}

static int with_numbers(int a, short b, char c)
{
    later(^(int x) {
      shown(a + x);
    });
    later(^(int x) {
      shown(a * x);
    });
    later(^(int x) {
      shown(a + b + c + x);
    });
    return (int)measured(^(const char *text, unsigned count) {
      return (long)(text[count] + b);
    });
}

static void in_loop(int count)
{
    for (int i = 0; i < count; i++) {
        shown(i * 3);
        later(^(int x) {
          shown(i - x);
        });
        if (shown(count) > i) {
            later(^(int x) {
              shown(count - x);
            });
        }
    }
}

int program(int argc)
{
    in_loop(argc);
    later(^(int x) {
      shown(x + 1);
    });
    of_data(argc);
    return with_numbers(argc, (short)argc, 'x') + with_block(argc, 2, of_data);
}
