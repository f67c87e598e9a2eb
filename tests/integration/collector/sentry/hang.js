// SPDX-License-Identifier: Apache-2.0
// hang.js MODULES: a stock program with Sentry's SDK and its integration for blocked event loops. It
// fails in loadCart() with an error that it handles, and blocks its loop in sumAll(). The DSN is in the
// environment (SENTRY_DSN), as the SDK expects it.
const path = require('path');
const modules = process.argv[2];
const Sentry = require(path.join(modules, '@sentry/node'));
const {eventLoopBlockIntegration} = require(path.join(modules, '@sentry/node-native'));

Sentry.init({
    release: 'shop@1.2.3',
    environment: 'test',
    integrations: [eventLoopBlockIntegration({threshold: 500})],
});

function sumAll(milliseconds) {
    const end = Date.now() + milliseconds;
    let sum = 0;
    while (Date.now() < end) sum += Math.sqrt(sum + 1);
    return sum;
}

function onTick() {
    sumAll(2000);
}

function loadCart() {
    throw new RangeError('no such cart');
}

// The integration's thread may not be ready, and sends one event an hour: so the loop blocks until the
// test has seen one, and ends the program.
process.on('SIGTERM', () => Sentry.flush(20000).then(() => process.exit(0)));
try { loadCart(); } catch (e) { Sentry.captureException(e); }
setInterval(() => {
    onTick();
}, 2000);
