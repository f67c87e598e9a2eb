# SPDX-License-Identifier: Apache-2.0
"""check_pprof.py REPORT.json FILE: what `go tool pprof` reads is what the report says."""
import gzip
import re
import subprocess
import sys

import expected


def pprof(*arguments):
    return subprocess.run(['go', 'tool', 'pprof', *arguments, sys.argv[2]], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def top(index, unit):
    lines = pprof('-top', '-nodefraction=0', '-edgefraction=0', '-nodecount=1000000', '-symbolize=none',
                  '-unit=' + unit, '-sample_index=%d' % index).splitlines()
    values = {}
    head = next(i for i, line in enumerate(lines) if re.match(r' +flat +flat%', line))
    for line in lines[head + 1:]:
        own, _, _, under, _, name = line.split(None, 5)
        name = re.sub(r' \(inline\)$', '', name)
        values[name] = [int(re.sub(r'\D', '', own)), int(re.sub(r'\D', '', under))]
    found = next(re.search(r'Total samples = (\d+)|of (\d+)\w* total', line) for line in lines
                 if ' total' in line)
    return values, int(found.group(1) or found.group(2))


report, series = expected.load(sys.argv[1])
samples = [sample for one in series for sample in one.samples]
values, total = top(0, 'ns' if report['kind'] == 'watch' else 'count')
expected.compare(samples, values, total, 'pprof')
raw = pprof('-raw')
for image in report['images']:
    if image['build_id'] and image['path'] in raw:  # pprof drops what no location needs
        assert re.search(r'0x0/0xffffffffffffffff/0x0 %s %s' % (re.escape(image['path']), image['build_id']),
                         raw), raw
if report['kind'] == 'watch':
    # inlined calls are lines of one location, innermost first
    assert re.search(r'0x12345 M=1 list_is_empty /src/list.h:17\b.*\n +loop_next /src/loop.c:99\b.*\n'
                     r' +run_loop /src/loop.c:120\b', raw), raw
    assert 'thread:[ma"in]' in raw and 'tid:[4712]' in raw and 'state:[blocked]' in raw, raw
    assert 'stall/nanoseconds' in raw and all(image['path'] in raw for image in report['images'])
if report['kind'] == 'heap-blocks':
    last = max(b['time_ns'] for b in report['heap_blocks'])
    assert top(1, 'B')[1] == sum(b['size_bytes'] for b in report['heap_blocks'] if b['time_ns'] == last)
with gzip.open(sys.argv[2]) as file:  # checks the sum and the size
    assert file.read()
