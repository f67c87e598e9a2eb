# SPDX-License-Identifier: Apache-2.0
"""check_protos.py REPORT.json FILE FOLDER: `protoc --decode` reads an OTLP or Perfetto export (by the name
of the file) without a field that it does not know, and what it reads is what the report says."""
import os
import re
import subprocess
import sys

import expected


def decode(proto, message, folder):
    with open(sys.argv[2], 'rb') as data:
        run = subprocess.run(['protoc', '-I', folder, '--decode=' + message, os.path.join(folder, proto)],
                             stdin=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr.decode()
    return parse(iter(run.stdout.decode().splitlines()))


def unescape(text):
    data = re.sub(rb'\\(?:([0-7]{3})|(.))',
                  lambda m: bytes([int(m.group(1), 8)]) if m.group(1) else
                  {b'n': b'\n', b'r': b'\r', b't': b'\t'}.get(m.group(2), m.group(2)), text.encode())
    return data.decode()


def parse(lines):
    """Protobuf's text form: {field: [values]}. Fields that protoc does not know are numbers."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == '}':
            break
        if line.endswith(' {'):
            key, value = line[:-2], parse(lines)
        else:
            key, value = line.split(': ', 1)
            value = unescape(value[1:-1]) if value.startswith('"') else (
                int(value) if re.fullmatch(r'-?\d+', value) else value)
        assert not key.isdigit(), 'unknown field %s' % line
        message.setdefault(key, []).append(value)
    return message


def one(message, key, otherwise=0):
    values = message.get(key, [otherwise])
    assert len(values) == 1, (key, values)
    return values[0]


# --- OTLP ---

def attributes(dictionary, indices):
    result = {}
    for index in indices:
        entry = dictionary['attribute_table'][index]
        value = one(entry, 'value', {})
        result[dictionary['string_table'][one(entry, 'key_strindex')]] = one(
            value, 'string_value', None) if 'string_value' in value else one(value, 'int_value')
    return result


def stack_names(dictionary, index):
    strings = dictionary['string_table']
    names = []
    for location in dictionary['stack_table'][index].get('location_indices', []):
        assert location != 0
        for line in dictionary['location_table'][location]['lines']:
            function = one(line, 'function_index')
            assert function != 0
            names.append(strings[one(dictionary['function_table'][function], 'name_strindex')])
    return names


def check_dictionary(report, dictionary):
    for table in dictionary:  # element 0 is empty
        assert dictionary[table][0] in ('', {}), (table, dictionary[table][0])
    assert len(dictionary) == 7, dictionary.keys()
    stacks = [str(s) for s in dictionary['stack_table']]
    assert len(stacks) == len(set(stacks))
    strings = dictionary['string_table']
    ids = {strings[one(m, 'filename_strindex')]:
           attributes(dictionary, m.get('attribute_indices', [])).get('process.executable.build_id.gnu', '')
           for m in dictionary['mapping_table'][1:]}
    assert ids == {i['path']: i['build_id'] for i in report['images']}, ids


def check_sample(dictionary, profile, sample, thread):
    values = sample['values']
    times = sample.get('timestamps_unix_nano', [])
    assert not times or len(times) == len(values)
    begin = one(profile, 'time_unix_nano')
    for at in times:
        assert begin <= at < begin + one(profile, 'duration_nano')
    if thread is not None:
        assert attributes(dictionary, sample['attribute_indices']) == {
            'thread.id': thread.tid, 'thread.name': thread.thread}
        assert times
    return stack_names(dictionary, one(sample, 'stack_index')), sum(values)


def totals(samples):
    result = {}
    for stack, weight in samples:
        result.setdefault(stack[0], [0, 0])[0] += weight
        for name in set(stack):
            result.setdefault(name, [0, 0])[1] += weight
    return result, sum(weight for _, weight in samples)


def check_otlp(report, series, folder):
    data = decode('otlp.proto', 'otlp.ProfilesData', folder)
    dictionary = one(data, 'dictionary')
    resource = one(data, 'resource_profiles')
    profiles = one(resource, 'scope_profiles')['profiles']
    check_dictionary(report, dictionary)
    assert len(profiles) == len(series)
    for profile, wanted in zip(profiles, series):
        kind = one(profile, 'sample_type')
        unit = dictionary['string_table'][one(kind, 'unit_strindex')]
        assert unit == ('nanoseconds' if report['kind'] == 'watch' else 'count')
        thread = wanted if report['kind'] == 'watch' else None
        samples = [check_sample(dictionary, profile, s, thread) for s in profile['samples']]
        expected.compare(wanted.samples, *totals(samples), 'otlp')
    if report['kind'] == 'watch':
        files = {dictionary['string_table'][one(f, 'filename_strindex')] for f in dictionary['function_table']}
        assert {'/src/main.c', '/src/list.h', '/src/session.cc'} <= files
        places = [[one(line, 'line') for line in location.get('lines', [])]
                  for location in dictionary['location_table'] if one(location, 'address') == 0x12345]
        assert places == [[17, 99, 120]], places


# --- Perfetto ---

class Track:
    def __init__(self, descriptor):
        thread = one(descriptor, 'thread', {})
        self.tid, self.name = one(thread, 'tid'), one(thread, 'thread_name', '')
        self.open, self.last = [], 0
        self.stalls, self.sums, self.stacks = [], [], []

    def advance(self, at):
        """Time up to `at` belongs to the open slices."""
        assert at >= self.last
        if len(self.open) > 1:
            names = self.open[1:]
            for depth, name in enumerate(names):
                both = self.sums[-1].setdefault(name, [0, 0])
                both[0] += at - self.last if depth + 1 == len(names) else 0
                both[1] += at - self.last if name not in names[:depth] else 0
        self.last = at


class Interned:
    def __init__(self):
        self.tables = {}

    def add(self, data):
        for key, entries in data.items():
            for entry in entries:
                text = entry.get('name') or entry.get('str') or entry.get('file_name')
                self.tables.setdefault(key, {})[one(entry, 'iid')] = (text[0], one(entry, 'line_number'))

    def get(self, key, iid):
        return self.tables[key][iid][0]


def take_event(track, event, at, interned):
    kind = one(event, 'type')
    if kind == 'TYPE_INSTANT':
        track.stacks.append([one(f, 'function_name') for f in one(event, 'callstack')['frames']])
        return
    track.advance(at)
    if kind == 'TYPE_SLICE_END':
        track.open.pop()
        if not track.open:
            track.stalls[-1][1] = at - track.stalls[-1][1]
        return
    assert kind == 'TYPE_SLICE_BEGIN'
    name = one(event, 'name', None) or interned.get('event_names', one(event, 'name_iid'))
    if not track.open:
        track.stalls.append([name, at])
        track.sums.append({})
    track.open.append(name)
    if name == 'fsync':
        values = {interned.get('debug_annotation_names', one(a, 'name_iid')): a
                  for a in event['debug_annotations']}
        build_id = interned.get('debug_annotation_string_values', one(values['build_id'], 'string_value_iid'))
        assert build_id == '808182838485868788898a8b8c8d8e8f90919293', build_id
        assert one(values['offset'], 'pointer_value') == 0x10e6ba
    if name == 'loop_next':
        assert interned.tables['source_locations'][one(event, 'source_location_iid')] == ('/src/loop.c', 99)


def check_perfetto(report, series, folder):
    tracks, interned = {}, Interned()
    for packet in decode('perfetto.proto', 'perfetto.Trace', folder)['packet']:
        interned.add(one(packet, 'interned_data', {}))
        if 'track_descriptor' in packet:
            descriptor = one(packet, 'track_descriptor')
            tracks[one(descriptor, 'uuid')] = Track(descriptor)
        if 'track_event' in packet:
            event = one(packet, 'track_event')
            take_event(tracks[one(event, 'track_uuid')], event, one(packet, 'timestamp'), interned)
    wanted = {}
    for each in series:
        wanted.setdefault(each.tid, []).append(each)
    for track in tracks.values():
        assert not track.open
        mine = wanted.pop(track.tid, [])
        assert len(track.sums) == len(mine)
        for each, sums, stall in zip(mine, track.sums, track.stalls):
            assert track.name == each.thread
            expected.compare(each.samples, sums, sum(own for own, _ in sums.values()), 'perfetto')
            assert stall[1] == each.total(), stall
        if track.name == 'helper':
            assert track.stacks == [['clone', '(frames left out)', 'read']] * 2, track.stacks
    assert not wanted


report, series = expected.load(sys.argv[1])
(check_perfetto if 'perfetto' in sys.argv[2] else check_otlp)(report, series, sys.argv[3])
