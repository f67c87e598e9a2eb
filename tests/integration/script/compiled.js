// SPDX-License-Identifier: Apache-2.0
// A loop that V8 compiles while it runs, and in which the program blocks (blocked.js). The loop ends at
// another line than the call.
'use strict';
const fs = require('fs');

function told() {
  const before = Error.prepareStackTrace;
  Error.stackTraceLimit = 200;
  Error.prepareStackTrace = (_, sites) => sites.map(
    (s) => [s.getFunctionName(), s.getFileName() || '', s.getLineNumber() || 0]);
  const stack = new Error().stack;
  Error.prepareStackTrace = before;
  return stack;
}

function block() {
  const word = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < 2; i++) {
    if (i === 1) Atomics.wait(word, 0, 0, 60000); else fs.writeSync(1, JSON.stringify(told()) + '\n');
  }
}

const rounds = 400000;
let round = 0;
// Called by native code: V8 cannot inline it.
const called = {
  toJSON() {
    round++;
    if (round === rounds) {
      block();
    }
    return 1;
  },
};

function loop() {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    sum += i & 3;
    JSON.stringify(called);
    sum += i & 7;
  }
  return sum;
}

loop();
