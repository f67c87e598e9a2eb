# SPDX-License-Identifier: Apache-2.0
"""check_firefox.py REPORT.json FILE PROFILER-CLI FOLDER: what the Firefox Profiler reads is what the
report says. Its command line has a server that keeps the profile; this is a client of it, because the
own one gives the server half a second to start."""
import glob
import json
import os
import socket
import subprocess
import sys
import time

import expected


class Profiler:
    def __init__(self, cli, path, folder):
        for old in glob.glob(os.path.join(folder, 'test.*')):
            os.remove(old)
        self.socket = os.path.join(folder, 'test.sock')
        self.process = subprocess.Popen(['node', cli, '--daemon', path, '--session', 'test'],
                                        env=dict(os.environ, PROFILER_CLI_SESSION_DIR=folder))

    def ask(self, message):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            connection.sendall(json.dumps(message).encode() + b'\n')
            return json.loads(connection.makefile(encoding='utf-8').readline())

    def await_ready(self):
        while True:
            assert self.process.poll() is None, 'the profiler ended'
            try:
                answer = self.ask({'type': 'status'})
                assert answer['type'] != 'error', answer
                if answer['type'] == 'ready':
                    return
            except (FileNotFoundError, ConnectionRefusedError):
                pass  # it does not listen yet
            time.sleep(0.02)

    def command(self, **command):
        answer = self.ask({'type': 'command', 'command': command})
        assert answer['type'] == 'success', answer
        return answer['result']

    def functions(self, thread):
        read = self.command(command='thread', subcommand='functions', thread=thread, includeIdle=True)
        assert len(read['functions']) == read['totalFunctionCount'], read
        return {f['name']: [f['selfSamples'], f['totalSamples']] for f in read['functions']}, read

    def markers(self, thread):
        return self.command(command='thread', subcommand='markers', thread=thread,
                            markerFilters={'list': True})['flatMarkers']

    def end(self):
        self.process.terminate()
        self.process.wait()


def check_watch(report, series, threads):
    for thread in threads:
        mine = [s for s in series if str(s.tid) == thread['tid']]
        got, read = profiler.functions(thread['threadHandle'])
        total = sum(own for own, _ in got.values())
        if not mine:  # only seen beside a stall: twice
            assert thread['name'] == 'helper' and total == 2 and got['read'] == [2, 2], got
            continue
        assert thread['name'] == mine[0].thread
        assert read['weightType'] == 'tracing-ms'
        samples = [(stack, weight / 1e6) for one in mine for stack, weight in one.samples]
        expected.compare(samples, got, total, 'firefox', near=1e-6)
        libraries = {f['name']: f.get('library') for f in read['functions']}
        assert libraries['fsync'] == 'libc.so.6' and libraries['main'] == 'server', libraries
        marks = profiler.markers(thread['threadHandle'])
        wanted = [s for s in report['stalls'] if str(s['tid']) == thread['tid']]
        assert sorted(round(m['duration'] * 1e6) for m in marks if m['name'] == 'Stall') == sorted(
            s['duration_ns'] for s in wanted), marks
    helper = next(t['threadHandle'] for t in threads if t['name'] == 'helper')
    marks = profiler.markers(helper)
    assert [m['name'] for m in marks] == ['Stack', 'Stack'] and all(m['hasStack'] for m in marks), marks


def check_others(report, series, threads):
    all_of_it = {}
    total = 0
    for thread in threads:
        got, _ = profiler.functions(thread['threadHandle'])
        total += sum(own for own, _ in got.values())
        for name, both in got.items():
            old = all_of_it.get(name, [0, 0])
            all_of_it[name] = [old[0] + both[0], old[1] + both[1]]
    if report['kind'] == 'stacks':
        assert [t['tid'] for t in threads] == [str(t['tid']) for t in report['threads']]
    expected.compare(series[0].samples, all_of_it, total, 'firefox')


report, series = expected.load(sys.argv[1])
profiler = Profiler(sys.argv[3], sys.argv[2], sys.argv[4])
try:
    profiler.await_ready()
    threads = profiler.command(command='thread', subcommand='list', threadListOptions={'sort': 'index'})['threads']
    (check_watch if report['kind'] == 'watch' else check_others)(report, series, threads)
finally:
    profiler.end()
