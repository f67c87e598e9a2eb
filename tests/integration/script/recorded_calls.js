// SPDX-License-Identifier: Apache-2.0
// Calls getppid() from functions of many kinds, and writes the stack that V8 tells at each call and how
// often it was there: [[[function, file, line], ...], count] in a line (recorded_equals_v8.py).
'use strict';
const fs = require('fs');
const vm = require('vm');
const threads = require('worker_threads');

const told = new Map();

// In the line of the call.
function tell(parent) {
  const before = Error.prepareStackTrace;
  Error.stackTraceLimit = 400;
  Error.prepareStackTrace = (_, sites) => sites.slice(1).filter((s) => !s.isAsync()).map(
    (s) => [s.getFunctionName(), s.getFileName() || '', s.getLineNumber() || 0]);
  const key = JSON.stringify(new Error().stack);
  Error.prepareStackTrace = before;
  told.set(key, (told.get(key) || 0) + 1);
  return parent;
}

function call() {
  return tell(process.ppid);
}

class Order {
  #secret(n) { return n > 0 ? this.#secret(n - 1) : tell(process.ppid); }
  save() {
    return this.#secret(3);
  }
  get total() { return tell(process.ppid); }
  static async later(n) {
    if (n > 0) {
      await Order.later(n - 1);
    }
    return tell(process.ppid);
  }
  ['computed' + 1]() { return call(); }
}

function deep(n) {
  return n === 0 ? call() : deep(n - 1);
}

function* parts(n) {
  if (n > 0) yield* parts(n - 1);
  yield call();
}

// Functions of other names at the same addresses: each is gone before others are made.
function madeAnew(round) {
  for (let i = 0; i < 20; i++) {
    const name = `made_${round}_${i}`;
    const f = vm.runInThisContext(`${'\n'.repeat(i % 3)}(function ${name}(call) { return call(); })`,
                                  { filename: `/srv/${name}.js`, lineOffset: round });
    f(call);
  }
}

// A source of several chunks, with all ends of lines.
function inLong(wide) {
  const filler = `// a line of no use${wide}\n\r\n\r`;
  const f = vm.runInThisContext(`${filler.repeat(9000)}(function long(call) {\n  return call();\n})`,
                                { filename: '/srv/long.js' });
  f(call);
}

function garbage() {
  let kept = [];
  for (let i = 0; i < 20000; i++) {
    kept.push({ x: [i], y: 'v' + i });
    if (kept.length > 5000) kept = [];
  }
  return kept.length;
}

function calls(round) {
  const order = new Order();
  order.save();
  String(order.total);
  order.computed1();
  deep(1), deep(20), deep(100);
  for (const part of parts(4)) String(part);
  [3, 1, 2].forEach((n) => call());
  [3, 1, 2].sort((a, b) => { call(); return a - b; });
  JSON.stringify({ toJSON() { return call(); } });
  'abc'.replace(/[ab]/g, function each() { return call(); });
  Reflect.apply(call, null, []);
  new Proxy({}, { get() { return call(); } }).anything;
  eval('call()');
  new Function('call', 'return call()')(call);
  try {
    null.x;
  } catch {
    call();
  } finally {
    call();
  }
  garbage();
  madeAnew(round);
  inLong(''), inLong('\u2603\u2028//');
  Order.later(3);
  Promise.resolve().then(call);
}

function end(name) {
  setTimeout(() => {
    fs.writeFileSync(name, [...told].map(([stack, count]) => `[${stack}, ${count}]\n`).join(''));
  }, 100);
}

if (threads.isMainThread) {
  const rounds = Number(process.argv[3]);
  for (let round = 0; round < rounds; round++) calls(round);
  setTimeout(function timer() { calls(rounds); }, 1);
  new threads.Worker(__filename, { argv: [process.argv[2] + '.worker', rounds] });
} else {
  for (let round = 0; round < Number(process.argv[3]); round++) calls(1000 + round);
}
end(process.argv[2]);
