# SPDX-License-Identifier: Apache-2.0
"""gdb -batch -nx -x layouts.py: are the types that `sonde types` shows those of gdb?

From the environment: SONDE, the program; FILES, paths with a colon between them; NAMES, types with
a bar between them, or empty: all that gdb lists (COUNT of them, of random choice). For each type
that gdb knows: the same size, and members with the same names, bits, sizes and types. Prints a line
for each difference, and the last one "N types, M members, D differences"."""
import json
import os
import random
import re
import subprocess

SONDE = os.environ["SONDE"]
COUNT = int(os.environ.get("COUNT", "0"))


def words(text):
    """Type text in which spaces do not count, nor what the two write differently on purpose."""
    if "{" in text:
        return "{"
    text = re.sub(r"\b(struct|class|union|enum) ", "", text)
    text = re.sub(r"\(anonymous (class|union|struct)\)", "", text)
    for word, short in (("long long unsigned int", "unsigned long long"),
                        ("long unsigned int", "unsigned long"), ("long long int", "long long"),
                        ("short unsigned int", "unsigned short"), ("long int", "long"),
                        ("short int", "short")):
        text = text.replace(word, short)
    if "<" in text:  # gdb writes "T const"
        text = re.sub(r"\bconst\b", "", text)
        text = re.sub(r"\b(\d+)[ul]+\b", r"\1", text)
    if "::*" in text:  # gdb shows `this`
        text = re.sub(r"\)\([\w: ]+\* ?const(, )?", ")(", text)
    if text.startswith("int (**)("):  # a vtable
        text = "int (**)()"
    return re.sub(r"\s+", "", text.replace("restrict", "").replace("__", ""))


def has_virtual_base(kind):
    try:
        return " virtual " in gdb.execute("ptype " + kind.name, to_string=True).split("{")[0]
    except (gdb.error, TypeError):  # gdb does not find all names that it says itself
        return False


def fields_of(kind):
    result = []
    for field in kind.fields():
        if not hasattr(field, "bitpos"):
            continue  # static
        virtual = field.is_base_class and has_virtual_base(kind)
        result.append({"name": None if field.is_base_class else field.name or None,
                       "at": None if virtual else field.bitpos, "bits": field.bitsize,
                       "size": field.type.sizeof, "type": words(str(field.type))})
    return result


def members_of(shown):
    result = []
    for member in shown.get("members", []):
        at = None
        if "offset" in member:
            at = member["offset"] * 8 + member.get("bit_offset", 0)
        if member.get("virtual"):
            at = None
        result.append({"name": None if member.get("base") else member["name"], "at": at,
                       "bits": member.get("bit_size", 0), "size": member.get("size", 0),
                       "type": words(member["type"])})
    return result


def listed():
    """Names of structures that gdb lists."""
    names = set()
    for line in gdb.execute("info types -q .", to_string=True).splitlines():
        match = re.match(r"\d+:\s+(struct |class |union |)([\w:<>, *&()]+?);?$", line)
        if match and "typedef" not in line and "(anonymous" not in line:
            names.add(match.group(1).replace("class ", "") + match.group(2))
    names = sorted(names)
    random.Random(1).shuffle(names)
    return names[:COUNT] if COUNT else names


def look_up(name):
    """gdb's type, or None where it has no structure of the name."""
    try:
        kind = gdb.lookup_type(name)
        kind = kind.strip_typedefs()
        return kind if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) else None
    except gdb.error:
        return None


def differences(name, kind, shown):
    if shown.get("size", 0) != kind.sizeof:
        yield "size: gdb %d, sonde %s" % (kind.sizeof, shown.get("size"))
    theirs, ours = fields_of(kind), members_of(shown)
    if len(theirs) != len(ours):
        yield "members: gdb %d, sonde %d" % (len(theirs), len(ours))
        return
    for a, b in zip(theirs, ours):
        for key in a:
            if a[key] != b[key]:
                yield "%s of %s: gdb %s, sonde %s" % (key, a["name"], a[key], b[key])


def main():
    types = members = wrong = 0
    for path in os.environ["FILES"].split(":"):
        gdb.execute("file " + path, to_string=True)
        names = [n for n in os.environ["NAMES"].split("|") if n] or listed()
        kinds = [(n, look_up(n)) for n in names]
        kinds = [(n, k) for n, k in kinds if k is not None and k.sizeof > 0]
        for part in range(0, len(kinds), 200):
            chunk = kinds[part:part + 200]
            output = subprocess.run([SONDE, "types", "--json", path] + [n for n, _ in chunk],
                                    stdout=subprocess.PIPE, text=True).stdout
            shown = {}
            for item in json.loads(output):
                if item["kind"] in ("struct", "class", "union", "typedef"):
                    shown.setdefault(item["asked"], []).append(item)
            for name, kind in chunk:
                types += 1
                members += len(kind.fields())
                # of several definitions in a program gdb takes one
                tried = [list(differences(name, kind, item)) for item in shown.get(name, [])]
                best = min(tried, key=len) if tried else ["not found"]
                for line in best:
                    print("%s: %s: %s" % (os.path.basename(path), name, line))
                wrong += bool(best)
    print("%d types, %d members, %d differences" % (types, members, wrong))


main()
