# SPDX-License-Identifier: Apache-2.0
"""What an export of a report has to say, from `sonde show --json` of the same report."""
import collections
import json
import re


def shown(frame):
    """The name of a function, or None where the report has none."""
    if frame.get('signal'):
        return '<signal>'
    name = frame.get('demangled') or frame.get('function')
    return name and re.sub(r'[\x00-\x1f\x7f]', lambda c: '\\x%02x' % ord(c.group()), name)


def names(frames, inlined=True):
    """Of a stack, innermost first."""
    result = []
    for frame in frames or []:
        if 'left_out' in frame:
            result.append('(frames left out)')
            continue
        result += [shown(call) for call in frame.get('inlined', []) if inlined]
        result.append(shown(frame))
        for tail in frame.get('tail_calls', []):
            name = shown(tail)
            result.append('(tail calls)' if 'alternatives' in tail else name and name + ' (tail call)')
    return result


class Series:
    def __init__(self, thread=None, tid=None, begin=0):
        self.thread, self.tid, self.begin = thread, tid, begin
        self.samples = []  # (names innermost first, weight)

    def total(self):
        return sum(weight for _, weight in self.samples)


def of_stall(stall, inlined):
    stacks = {s['id']: names(s['frames'], inlined) for s in stall['stacks']}
    series = Series(stall.get('thread_name', ''), stall['tid'], stall['begin_ns'])
    for s in stall['samples']:
        series.samples.append((stacks[s['stack']], s['weight_ns']))
    rest = stall['duration_ns'] - series.total()
    if rest > 0:
        series.samples.append((['(not sampled)'], rest))
    assert series.total() == stall['duration_ns']
    return series


def load(path, inlined=True):
    """The series of a report, as `sonde export` has them; for readers that drop them, without inlined calls."""
    with open(path, encoding='utf-8') as file:
        report = json.load(file)
    if report['kind'] == 'watch':
        return report, [of_stall(s, inlined) for s in report['stalls']]
    series = Series()
    if report['kind'] == 'stacks':
        for t in report['threads']:
            series.samples.append((names(t['frames']) or ['(no stack)'], 1))
    elif report['kind'] == 'calls':
        for c in report['calls']:
            if c['count']:
                series.samples.append(([c['function']] + names(c.get('frames')), c['count']))
    else:
        last = max(b['time_ns'] for b in report['heap_blocks'])
        live = [b for b in report['heap_blocks'] if b['time_ns'] == last and b['count']]
        for b in live:
            series.samples.append((names(b.get('frames')) or ['(no stack)'], b['count']))
    return report, [series]


def sums(samples):
    """{name: [self, total]} of functions that have a name; total counts a function once a sample."""
    result = collections.defaultdict(lambda: [0, 0])
    for stack, weight in samples:
        result[stack[0]][0] += weight
        for name in set(stack):
            result[name][1] += weight
    result.pop(None, None)
    return dict(result)


def compare(wanted, got, total, what, near=0):
    """got: {name: [self, total]}; total: what the reader says all of it weighs."""
    expected = sums(wanted)
    all_of_it = sum(weight for _, weight in wanted)
    assert abs(total - all_of_it) <= near, (what, 'total', total, all_of_it)
    for name, (own, under) in expected.items():
        assert name in got, (what, 'missing', name, sorted(got))
        assert abs(got[name][0] - own) <= near, (what, name, 'self', got[name][0], own)
        assert abs(got[name][1] - under) <= near, (what, name, 'total', got[name][1], under)
    for name in got.keys() - expected.keys():
        assert '+0x' in name or name.startswith('0x') or got[name][1] == 0, (what, 'not in the report', name)
    named = {name: both[0] for name, both in got.items()}
    top = max(named.values())
    best = {name for name, own in named.items() if own >= top - near}
    wanted_top = {name for name, own in expected.items() if abs(own[0] - top) <= near}
    assert wanted_top <= best and (wanted_top or any('+0x' in n for n in best)), (what, best, wanted_top)
