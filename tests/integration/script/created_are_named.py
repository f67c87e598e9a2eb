# SPDX-License-Identifier: Apache-2.0
"""sonde names the function, file and line that created each task of created.py; without debug mode,
or if no function of the program did, it says that it does not know.

created_are_named.py SONDE PYTHON CREATED.PY
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

CREATORS = {"connection": "accept", "server": "starts", "waiting": "main", "Task-1": "<module>",
            # a comprehension is a function of its own up to 3.11
            "starts 0": ("waits", "<listcomp>")}


def read(sonde, python, program, *arguments, path=None):
    environment = {**os.environ, **({"PYTHONPATH": path} if path else {})}
    child = subprocess.Popen([python, program, *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, env=environment)
    try:
        child.stdout.readline()
        for _ in range(100):
            out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(child.pid)],
                                 capture_output=True, text=True)
            report = json.loads(out.stdout)
            thread = report["threads"][0]
            stacks = [thread] + thread.get("awaited_by", [])
            frames = [f for stack in stacks for f in stack["frames"] if f.get("task")]
            if frames:
                return frames, out.stdout
            time.sleep(0.1)
    finally:
        child.kill()
    sys.exit("no task is shown: " + out.stdout)


def wrong_creators(sonde, python, program, path=None):
    """Tasks whose creator is not the line that has their name. path: a folder or archive that has
    asyncio."""
    with open(program) as file:
        lines = file.read().splitlines()
    frames, text = read(sonde, python, program, path=path)
    bad = [] if "PYTHONASYNCIODEBUG" not in text else ["a note"]
    for frame in frames:
        name, creator = frame["task"], frame.get("task_created_by", {})
        wanted = next(i + 1 for i, line in enumerate(lines) if name.replace("0", "%d") in line)
        function = creator.get("function", "").rsplit(".", 1)[-1]
        if function not in CREATORS[name] or (
                creator.get("file"), creator.get("line")) != (program, wanted):
            bad.append((path, name, creator, wanted))
    if {f["task"] for f in frames} != {"connection", "server", "starts 0", "waiting", "Task-1"}:
        bad.append((path, [f["task"] for f in frames]))
    return bad


def wrong_elsewhere(sonde, python, program, folder):
    """asyncio in a folder and in an archive that are not named after Python, as in a program that has
    an interpreter built in; and a program in a folder that has the name asyncio."""
    package = subprocess.run([python, "-c", "import asyncio; print(asyncio.__path__[0])"],
                             capture_output=True, text=True, check=True).stdout.strip()
    shutil.copytree(package, folder + "/parts/asyncio", ignore=shutil.ignore_patterns("*.pyc"))
    archive = shutil.make_archive(folder + "/parts", "zip", folder + "/parts")
    os.mkdir(folder + "/asyncio")
    own = shutil.copy(program, folder + "/asyncio/tasks.py")
    return [bad for where in (folder + "/parts", archive) for bad in
            wrong_creators(sonde, python, program, where)] + wrong_creators(sonde, python, own)


def main():
    sonde, python, program = sys.argv[1:]
    bad = wrong_creators(sonde, python, program)
    with tempfile.TemporaryDirectory() as folder:
        bad += wrong_elsewhere(sonde, python, program, folder)
    for arguments in (["callback"], ["callback", "plain"]):
        frames, text = read(sonde, python, program, *arguments)
        if any("task_created_by" in f for f in frames) or "PYTHONASYNCIODEBUG" not in text:
            bad.append((arguments, frames, text))
    frames, text = read(sonde, python, program, "plain")
    if any("task_created_by" in f for f in frames):
        bad.append(("plain", frames))
    print(bad)
    sys.exit(bool(bad))


main()
