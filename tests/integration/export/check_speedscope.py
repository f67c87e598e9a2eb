# SPDX-License-Identifier: Apache-2.0
"""check_speedscope.py SPEEDSCOPE FOLDER REPORT.json FILE [REPORT.json FILE]...: what speedscope reads is what
the reports say.

speedscope runs in a headless browser, from files. It is asked to save what it has read (Ctrl-S), and
what it would save is compared: that is its own model, not our file. One profile of a report may be of
all stalls (pprof, folded stacks), or each of one."""
import base64
import glob
import html
import json
import os
import re
import subprocess
import sys

import expected

PAGE = '''<!DOCTYPE html><html><head><meta charset="UTF-8"></head><body><script>
var files = [], last = '', waiting = false;
URL.createObjectURL = function (blob) {
    blob.text().then(function (text) {
        if (text === last) { // still the one before
            return;
        }
        last = text;
        waiting = false;
        var saved = document.createElement('pre');
        saved.className = 'saved';
        saved.textContent = text;
        document.body.appendChild(saved);
        var shown = document.createElement('pre');
        shown.className = 'shown';
        shown.textContent = document.body.innerText;
        document.body.appendChild(shown);
    });
    return 'data:text/plain,';
};
HTMLAnchorElement.prototype.click = function () {};
window.alert = function (text) { // a file that it cannot read
    files = [];
    waiting = false;
    document.body.append('alert: ' + text);
};
function step() { // by the script of files, when speedscope is there
    if (!waiting && files.length) {
        var file = files.shift();
        waiting = true;
        speedscope.loadFileFromBase64(file[0], file[1]);
    }
    window.dispatchEvent(new KeyboardEvent('keydown', {key: 's', ctrlKey: true, bubbles: true}));
    if (waiting || files.length) {
        setTimeout(step, 50);
    }
}
</script><script src="file://%s"></script></body></html>'''

FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--no-first-run', '--virtual-time-budget=20000',
         '--dump-dom']


def texts(dom, kind):
    return [html.unescape(text) for text in re.findall(r'<pre class="%s">(.*?)</pre>' % kind, dom, re.S)]


def open_files(paths, speedscope, folder):
    program = glob.glob(os.path.join(speedscope, 'speedscope-*.js'))[0]
    with open(os.path.join(folder, 'page.html'), 'w') as page:
        page.write(PAGE % program)
    with open(os.path.join(folder, 'data.js'), 'w') as script:
        for path in paths:
            with open(path, 'rb') as file:
                data = base64.b64encode(file.read()).decode()
            script.write('files.push([%s, "%s"]);\n' % (json.dumps(os.path.basename(path)), data))
        script.write('step();\n')
    url = 'file://%s/page.html#localProfilePath=%s/data.js&view=sandwich' % (folder, folder.lstrip('/'))
    run = subprocess.run(['chromium', *FLAGS, '--user-data-dir=' + os.path.join(folder, 'profile'), url],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    dom = run.stdout.decode()
    saved = [json.loads(text) for text in texts(dom, 'saved')]
    assert len(saved) == len(paths), (len(saved), run.returncode, run.stderr.decode()[-2000:], dom[-2000:])
    return zip(saved, texts(dom, 'shown'))


def sums(profile, frames):
    """{name: [self, total]} and the whole, of an evented profile."""
    result, stack, last = {}, [], profile['startValue']
    assert profile['type'] == 'evented'
    for event in profile['events']:
        for depth, name in enumerate(stack):
            both = result.setdefault(name, [0, 0])
            both[0] += event['at'] - last if depth + 1 == len(stack) else 0
            both[1] += event['at'] - last if name not in stack[:depth] else 0
        last = event['at']
        if event['type'] == 'O':
            stack.append(frames[event['frame']]['name'])
        else:
            assert stack.pop() == frames[event['frame']]['name']
    assert not stack
    return result, profile['endValue'] - profile['startValue']


def check(path, report, series, saved, page):
    frames = saved['shared']['frames']
    profiles = saved['profiles']
    if len(profiles) == 1 and len(series) != 1:  # all in one
        got, total = sums(profiles[0], frames)
        if path.endswith('folded'):
            got = unfolded(got)
        expected.compare([s for one in series for s in one.samples], got, total, 'speedscope')
        return
    if report['kind'] == 'watch':
        names = [p['name'] for p in profiles if p['name'].startswith('stall')]
        assert names == ['stall 1: ma"in [4711], 1.00 s', 'stall 2: ma"in [4711], 300 ms',
                         'stall 3: worker [4712], 300 ms'], names
        assert 'fsync' in page and 'list_is_empty' in page
        odd = next(f for f in frames if f['name'] == 'main')
        assert (odd['file'], odd['line']) == ('/src/main.c', 10), odd
        many = next(f for f in frames if f['name'] == 'Session::save(int)')
        assert many['file'] == '/src/session.cc' and not many.get('line'), many
    stalls = [p for p in profiles if not p['name'].startswith('other')]
    assert len(stalls) == len(series)
    for profile, one in zip(stalls, series):
        got, total = sums(profile, frames)
        assert profile['unit'] == ('nanoseconds' if report['kind'] == 'watch' else 'none')
        if report['kind'] == 'stacks':  # the outermost is the thread
            for t in report['threads']:
                got.pop(t['name'].replace('\x1b', '\\x1b').replace('\n', '\\x0a'), None)
        expected.compare(one.samples, got, total, 'speedscope')


def unfolded(got):
    """Without the marks and threads of folded stacks."""
    result = {}
    for name, both in got.items():
        name = re.sub(r'_\[i\]$', '', name)
        name = re.sub(r'_\[t\]$', ' (tail call)', name).replace(':\ufffd', ';\ufffd')
        if name not in ('ma"in', 'worker'):
            result[name] = both
    return result


reports, files = sys.argv[3::2], sys.argv[4::2]
for json_path, path, read in zip(reports, files, open_files(files, sys.argv[1], sys.argv[2])):
    # of pprof's locations speedscope shows the function only, not what is inlined into it
    check(path, *expected.load(json_path, not path.endswith('pprof')), *read)
