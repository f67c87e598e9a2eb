// SPDX-License-Identifier: Apache-2.0
// Write the stack as V8 tells it, by the same calls as then block: [[function, file, line]] as JSON.
// With the argument "later", in an async function that goes on.
'use strict';
const fs = require('fs');
const vm = require('vm');

function told() {
  const before = Error.prepareStackTrace;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 200;
  Error.prepareStackTrace = (_, sites) => sites.map(
    (s) => [s.getFunctionName(), s.getFileName() || '', s.getLineNumber() || 0]);
  const stack = new Error().stack;
  Error.prepareStackTrace = before;
  Error.stackTraceLimit = limit;
  return stack;
}

// Not more than one call in a line: they differ by their lines.
function block() {
  const word = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < 2; i++) {
    if (i === 1) Atomics.wait(word, 0, 0, 60000); else fs.writeSync(1, JSON.stringify(told()) + '\n');
  }
}

const anonymous = [(x) => x, function() {
  return block();
}];

// Code of V8's own that sets the members of a class, also behind another member.
class First {
  value = anonymous[1]();
}
class Second {
  first() {}
  value = new First();
}

// V8's code for it is long, and that which calls it has a frame of another form.
function viaPromise() {
  return new Promise(
    function executor() {
      return new Second();
    });
}

function inStatic() {
  class Only {
    static {
      viaPromise();
    }
  }
  return Only;
}

const object = {
  'übergröße ☃': function() {
    return class Static {
      static first() {}
      static value = inStatic();
    };
  },
  get value() {
    return this['übergröße ☃']();
  },
  ['computed' + 1](n) {
    if (n > 0) {
      return this.computed1(n - 1);
    }
    return object.value;
  },
};

class Order {
  #secret() {
    return object.computed1(3);
  }
  static async later(order) {
    await null;
    await new Promise((resolve) => setTimeout(resolve, 1));
    return order.#secret();
  }
  constructor(n) {
    if (n === 0 && process.argv[2] === 'later') {
      Order.later(this);
    } else if (n === 0) {
      this.#secret();
    } else {
      [n].map(
        function each(m) {
          return new Order(m - 1);
        });
    }
  }
}

function* steps() {
  yield 1;
  yield new Order(2);
}

function many() {
  let a = 0, b = 0, c = 0;
  const keep = () => a + b + c;
  try {
    for (const step of steps()) {
      keep(step);
    }
  } finally {
    a = keep();
  }
}

function viaVm() {
  vm.runInThisContext(`
    (function inVm(f) {
      return f();
    })
  `, { filename: '/srv/in-vm.js', lineOffset: 100 })(many);
}

eval('viaVm()');
