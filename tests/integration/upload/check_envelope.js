// SPDX-License-Identifier: Apache-2.0
// check_envelope.js SENTRY_CORE ENVELOPE...: are these envelopes, as Sentry's own SDK reads and writes
// them? Prints a line about each event. SENTRY_CORE: build/cjs of @sentry/core.
const fs = require('fs');
const assert = require('assert');
const sentry = require(process.argv[2]);

// Attributes of an event by Sentry's developer documents; servers ignore others without a word.
const KNOWN = ['event_id', 'timestamp', 'platform', 'level', 'logger', 'transaction', 'server_name', 'release',
    'dist', 'tags', 'environment', 'modules', 'extra', 'fingerprint', 'exception', 'message', 'threads',
    'debug_meta', 'contexts', 'sdk', 'user', 'request', 'breadcrumbs', 'errors', 'template'];
const FRAME = ['function', 'filename', 'abs_path', 'lineno', 'package', 'in_app', 'instruction_addr', 'platform'];
const IMAGE = {elf: ['type', 'code_file', 'code_id', 'debug_id', 'image_addr'], macho: ['type', 'code_file', 'code_id', 'debug_id', 'image_addr']};

/** What the SDK itself sends for an error with a mechanism. */
async function reference() {
    let sent;
    const client = new sentry.ServerRuntimeClient({
        dsn: 'https://abc@sentry.invalid/3', integrations: [],
        stackParser: sentry.createStackParser(sentry.nodeStackLineParser()),
        transport: options => sentry.createTransport(options, async request => { sent = request.body; return {statusCode: 200}; }),
    });
    client.init();
    function innermost() { throw new TypeError('nothing works'); }
    try { innermost(); } catch (e) {
        client.captureException(e, {mechanism: {type: 'AppHang', handled: true, synthetic: true}});
    }
    await client.flush(2000);
    const [, [[header, event]]] = sentry.parseEnvelope(sent);
    assert.equal(header.type, 'event');
    return event;
}

function kind(value) { return Array.isArray(value) ? 'array' : typeof value; }

/** Everything that both have is of one kind. */
function compare(ours, theirs, path) {
    for (const key of Object.keys(ours)) {
        if (!(key in theirs) || theirs[key] === undefined) continue;
        assert.equal(kind(ours[key]), kind(theirs[key]), `${path}.${key}`);
        if (kind(ours[key]) === 'object') compare(ours[key], theirs[key], `${path}.${key}`);
        if (kind(ours[key]) === 'array' && ours[key].length && theirs[key].length && kind(ours[key][0]) === 'object') {
            compare(ours[key][0], theirs[key][0], `${path}.${key}[0]`);
        }
    }
}

function checkStack(stacktrace, images) {
    for (const frame of stacktrace.frames) {
        for (const key of Object.keys(frame)) assert(FRAME.includes(key), key);
        assert.equal(typeof frame.in_app, 'boolean');
        if (frame.instruction_addr) {
            const at = BigInt(frame.instruction_addr);
            const image = images.filter(i => BigInt(i.image_addr) <= at).pop();
            assert(image, 'an address in no image');
            assert.equal(image.code_file, frame.package);
        }
    }
}

function checkLength(bytes) {
    const first = bytes.indexOf('\n'), second = bytes.indexOf('\n', first + 1);
    const item = JSON.parse(bytes.subarray(first + 1, second));
    assert.equal(bytes.length, second + 1 + item.length + 1);
    assert.equal(bytes[bytes.length - 1], 10);
}

function check(file, theirs) {
    const bytes = fs.readFileSync(file);
    checkLength(bytes);
    const [header, items] = sentry.parseEnvelope(bytes);
    assert.equal(items.length, 1);
    const [item, payload] = items[0]; // bytes, since the item has a length
    const event = JSON.parse(Buffer.from(payload));
    assert.equal(item.type, 'event');
    assert.match(header.event_id, /^[0-9a-f]{32}$/);
    assert.equal(event.event_id, header.event_id);
    assert(Math.abs(Date.parse(header.sent_at) - Date.now()) < 3600e3);
    assert(Math.abs(event.timestamp - Date.now() / 1000) < 3600);
    for (const key of Object.keys(event)) assert(KNOWN.includes(key), key);
    assert.deepEqual(sentry.getSdkMetadataForEnvelopeHeader({sdk: event.sdk}), header.sdk);
    compare(event, theirs, 'event');
    const images = event.debug_meta.images;
    assert(images.length > 0);
    for (const image of images) {
        for (const key of Object.keys(image)) assert(IMAGE[image.type].includes(key), key);
        if (image.code_id) {
            const id = image.code_id, parts = image.debug_id.split('-');
            assert.equal(parts[0].match(/../g).reverse().join(''), id.slice(0, 8)); // little-endian
            assert.equal(parts[3] + parts[4], id.slice(16, 32));
        }
    }
    for (const thread of event.threads.values) if (thread.stacktrace) checkStack(thread.stacktrace, images);
    const exception = event.exception && event.exception.values[0];
    if (exception) {
        checkStack(exception.stacktrace, images);
        const current = event.threads.values.filter(t => t.current);
        assert.equal(current.length, 1);
        assert.equal(current[0].id, exception.thread_id);
        assert.equal(exception.mechanism.type, 'AppHang');
        const frames = exception.stacktrace.frames;
        console.log(`${exception.type}: ${exception.value}`);
        console.log(`frames ${frames[0].function} ... ${frames[frames.length - 1].function}`);
        console.log(`app ${frames.filter(f => f.in_app).map(f => f.function).join(' ')}`);
        console.log(`level ${event.level}, fingerprint ${event.fingerprint[1].length}, tags ${JSON.stringify(event.tags)}`);
    } else {
        console.log(`${event.message.formatted}, ${event.threads.values.length} threads`);
    }
}

reference().then(theirs => {
    const frames = theirs.exception.values[0].stacktrace.frames;
    assert.equal(frames[frames.length - 1].function, 'innermost'); // the last one is the innermost
    process.argv.slice(3).forEach(file => check(file, theirs));
    console.log('the same shape');
});
