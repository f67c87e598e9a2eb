// SPDX-License-Identifier: Apache-2.0
// A node program with stalls: node_loop.js MILLISECONDS KIND...; burn (in the engine), spawn (waits
// for a child in a loop of its own), atomics, idle, late.
const { spawnSync } = require('child_process');
const duration = Number(process.argv[2]);
const kinds = process.argv.slice(3);
const stalls = {
  burn() {
    const end = Date.now() + duration;
    for (let x = 0; Date.now() < end; x++) Math.sqrt(x);
  },
  spawn() { spawnSync('sleep', [String(duration / 1000)]); },
  atomics() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration); },
};
if (kinds[0] === 'late') {
  stalls.atomics();
  kinds[0] = 'idle';
}
console.log('started', process.pid);
let ticks = -20 * Number(process.env.INJECT_AFTER || 0);
const until = Date.now() + duration;
const timer = setInterval(() => {
  if (kinds[0] === 'idle') {
    if (Date.now() >= until) clearInterval(timer);
    return;
  }
  if (++ticks % 20 !== 0 || ticks <= 0) return;
  if (kinds.length === 0) { clearInterval(timer); return; }
  const kind = kinds.shift();
  const begin = Date.now();
  stalls[kind]();
  console.log('injected', kind, Date.now() - begin, 'ms');
}, 20);
