// SPDX-License-Identifier: Apache-2.0
// Short calls of methods, closures and callbacks. test_rate.c has the line of each call.
'use strict';

function leaf1(x) {
  return x + 1;
}

function leaf2(x) {
  return x - 1;
}

class Order {
  mid1(x) {
    leaf1(x);
    return leaf1(x);
  }

  mid2(x) {
    leaf2(x);
    return leaf2(x);
  }

  top(x) {
    this.mid1(x);
    this.mid2(x);
    this.mid1(x);
    return leaf2(x);
  }
}

const order = new Order();

function round(x) {
  order.top(x);
  order.mid1(x);
  return leaf1(x);
}

function main() {
  for (;;) {
    round(1);
    leaf2(2);
    [3, 4].map(
      leaf2);
  }
}

main();
