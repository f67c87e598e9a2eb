#!/usr/bin/env python3
"""packs.py make LIBSYSTEM ARCH OUT PACK...: of all functions and methods that these packs of rules list, writes OUT/system.m, a library
of the system that has those that the simulated libSystem lacks, and OUT/calls.m, a part of a program that calls each once.
packs.py check REPORT.json PACK...: does the report have each of them, by its rule, with two calls in a phase of their own each?
The packs are read here anew: what `sonde audit compile` made of them is what is tested."""
import json
import re
import subprocess
import sys

# Names that Apple's headers give these on x86-64.
RENAMED = {'stat', 'fstat', 'lstat', 'fstatat', 'statfs', 'fstatfs'}


def read(paths):
    """(rule, api) of each pack, in order"""
    rule, found = None, []
    for path in paths:
        for line in open(path):
            line = line.split(';')[0].strip()
            if match := re.fullmatch(r'\[rule "(.*)"\]', line):
                rule = match[1]
            elif match := re.fullmatch(r'api\s*=\s*(.*)', line):
                found += [(rule, api.strip()) for api in match[1].split(',')]
    return found


def make(system, arch, out, packs):
    apis = [api for _, api in read(packs)]
    names = subprocess.run(['llvm-nm-19', '--defined-only', '--extern-only', '--format=just-symbols', system],
                           check=True, capture_output=True, text=True).stdout.split()
    label = lambda f: '_' + f + ('$INODE64' if arch == 'x86_64' and f in RENAMED else '')
    functions = [api for api in apis if api[0] not in '-+']
    methods = [re.fullmatch(r'([-+])\[(\w+) ([\w:]+)\]', api).groups() for api in apis if api[0] in '-+']
    classes = sorted({m[1] for m in methods})
    declare = lambda kind, selector: kind + ' (long)' + (
        ' '.join(part + ':(id)p%d' % i for i, part in enumerate(selector.split(':')[:-1])) if ':' in selector else selector)
    interfaces = '#include "foundation.h"\n' + ''.join(
        f'@interface {c} : NSObject\n' + ''.join(f'{declare(k, s)};\n' for k, of, s in methods if of == c) + '@end\n' for c in classes)
    prototype = lambda f: f'long called_{f}(const void *a, void *b, void *c, void *d) __asm__("{label(f)}");\n'
    with open(out + '/system.m', 'w') as file:
        file.write(interfaces + ''.join(prototype(f) for f in functions + ['connect']))
        # a call by a library of the system
        file.write('long system_ask(void);\nlong system_ask(void) { static char bytes[4096]; return called_stat("/", bytes, 0, 0) + 1; }\n')
        for f in functions + ['connect']:
            if label(f) not in names:
                file.write(f'long called_{f}(const void *a, void *b, void *c, void *d) {{ return 0; }}\n')
        for c in classes:
            file.write(f'@implementation {c}\n' + ''.join(f'{declare(k, s)} {{ return 1; }}\n' for k, of, s in methods if of == c) + '@end\n')
    with open(out + '/calls.m', 'w') as file:
        file.write(interfaces + ''.join(prototype(f) for f in functions))
        file.write('void call_all(void);\n__attribute__((noinline)) void call_all(void)\n{\n    static char bytes[4096];\n')
        file.writelines(f'    (void)called_{f}("/", bytes, 0, 0);\n' for f in functions)
        for kind, of, selector in methods:
            to = of if kind == '+' else f'[{of} alloc]'
            arguments = ' '.join(part + ':0' for part in selector.split(':')[:-1]) if ':' in selector else selector
            file.write(f'    (void)[{to} {arguments}];\n')
        file.write('}\n')


def check(report, packs):
    report = json.load(open(report))
    rules = {rule['id']: rule['name'] for rule in report['rules']}
    phases = {phase['id']: phase['name'] for phase in report['named_phases']}
    counts = {}
    named = {rule for rule, _ in read(packs)}
    for call in report['calls']:
        if call['count'] and rules[call['rule']] in named:
            key = rules[call['rule']], call['function'], phases.get(call.get('phase'), '')
            counts[key] = counts.get(key, 0) + call['count']
            assert 'call_all' in [frame.get('function') for frame in call['frames']], call
    wanted = {(rule, api, phase): 1 for rule, api in read(packs) for phase in ('', 'consent')}
    for key in sorted(set(wanted) | set(counts)):
        if wanted.get(key) != counts.get(key):
            print('wanted', wanted.get(key), 'found', counts.get(key), key)
    print(sum(wanted.get(key) == counts.get(key) for key in wanted), 'of', len(wanted), 'as wanted')
    return set(wanted) == set(counts) and wanted == counts


if sys.argv[1] == 'make':
    make(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
else:
    sys.exit(0 if check(sys.argv[2], sys.argv[3:]) else 1)
