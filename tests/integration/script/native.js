// SPDX-License-Identifier: Apache-2.0
// Run native code that uses the frame pointer as a register like any other (OpenSSL's), for ever.
'use strict';
const crypto = require('crypto');

function work() {
  crypto.generateKeyPairSync('rsa', { modulusLength: 3072 });
}

function start() {
  for (;;) {
    work();
  }
}

start();
