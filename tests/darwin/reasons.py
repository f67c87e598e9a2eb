#!/usr/bin/env python3
"""reasons.py BINARY MANIFEST PACK: the categories of functions that need a reason (the classes of the pack's rules) of which BINARY, a
Mach-O or an archive, leaves a function undefined are those that the privacy manifest declares."""
import plistlib
import re
import subprocess
import sys

categories, functions, category = {}, [], None
for line in open(sys.argv[3]):
    line = line.split(';')[0].strip()
    if line.startswith('[rule'):
        functions = []
    elif match := re.fullmatch(r'api\s*=\s*(.*)', line):
        functions += [api.strip() for api in match[1].split(',')]
    elif match := re.fullmatch(r'class\s*=\s*(.*)', line):
        categories[match[1]] = set(functions)
names = subprocess.run(['llvm-nm-19', '--undefined-only', '--format=just-symbols', sys.argv[1]], check=True,
                       capture_output=True, text=True).stdout.split()
called = {name[1:].split('$')[0] for name in names if name.startswith('_')}
used = {category for category, functions in categories.items() if functions & called}
declared = {entry['NSPrivacyAccessedAPIType']: entry['NSPrivacyAccessedAPITypeReasons']
            for entry in plistlib.load(open(sys.argv[2], 'rb'))['NSPrivacyAccessedAPITypes']}
print(sorted(functions & called for functions in categories.values() if functions & called), 'are called')
for category in sorted(used - set(declared)):
    print('not declared:', category, categories[category] & called)
for category in sorted(set(declared) - used):
    print('declared, and not called:', category)
sys.exit(0 if used == set(declared) and all(declared.values()) else 1)
