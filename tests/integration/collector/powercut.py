# SPDX-License-Identifier: Apache-2.0
"""Make the folder that a power cut leaves, of what powercut.c kept.

powercut.py KEPT FOLDER
"""
import os
import shutil
import sys

kept, folder = sys.argv[1:]


def make(path):
    os.makedirs(os.path.join(folder, path), exist_ok=True)
    listing = os.path.join(kept, "folders", "%" + path.replace("/", "%"))
    if not os.path.exists(listing):
        return  # its name was synced, what is in it was not
    for line in open(listing):
        key, name = line.rstrip("\n").split(" ", 1)
        inner = os.path.join(path, name)
        if key == "/":
            make(inner)
            continue
        content = os.path.join(kept, "files", key)
        out = os.path.join(folder, inner)
        if os.path.exists(content):
            shutil.copyfile(content, out)
        else:
            open(out, "w").close()


make("")
