# SPDX-License-Identifier: Apache-2.0
"""check_sarif.py SCHEMA SARIF SHOWN: is SARIF valid by its published schema and by rules of the standard that
no schema can have, and has it the calls of SHOWN (`sonde show --json` of the same report)?"""
import json
import sys

import jsonschema

schema, log, shown = (json.load(open(path)) for path in sys.argv[1:4])
jsonschema.Draft4Validator.check_schema(schema)
errors = sorted(jsonschema.Draft4Validator(schema).iter_errors(log), key=str)
for error in errors[:5]:
    print("%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:300]))
assert not errors
assert log["version"] == "2.1.0"
(run,) = log["runs"]
rules = run["tool"]["driver"]["rules"]
results = run["results"]
ids = [rule["id"] for rule in rules]
assert len(set(ids)) == len(ids)
for result in results:
    assert ids[result["ruleIndex"]] == result["ruleId"]
# 3.27.23, 3.27.24: all results have it or none
for key in ("baselineState", "suppressions"):
    assert len({key in result for result in results}) <= 1, key
seen = [tuple(sorted(r["partialFingerprints"].items())) for r in results if "partialFingerprints" in r]
assert len(set(seen)) == len(seen)

calls = {}
for call in shown["calls"]:
    if shown.get("rules") and "rule" not in call:
        continue
    name = call.get("rule_name", call["function"])
    calls[name] = calls.get(name, 0) + call["count"]
assert set(calls) <= set(ids), (set(calls), ids)
found = dict.fromkeys(calls, 0)
for result in results:
    found[result["ruleId"]] += result.get("occurrenceCount", 0)
assert found == calls, (found, calls)
missed = [call for call in shown["calls"] if "may_miss" in call]
texts = [n["message"]["text"] for i in run["invocations"] for n in i["toolExecutionNotifications"]]
for call in missed:
    assert "calls of %s may be missing: %s" % (call["function"], call["may_miss"]) in texts, call
# a stack of each result is one of the report
def functions(frames):
    for frame in frames:
        for inlined in frame.get("inlined", []):
            yield inlined["function"]
        yield frame.get("function", "")


def is_tail_call(frame):
    return frame["location"].get("message", {}).get("text") == "tail call, inferred"


stacks = {tuple(functions(call.get("frames", []))) for call in shown["calls"]}
for result in results:
    for stack in result.get("stacks", []):
        names = tuple(f["location"].get("logicalLocations", [{}])[0].get("fullyQualifiedName", "")
                      for f in stack["frames"] if not is_tail_call(f))
        assert names in stacks, names
# what the calls of a rule are together, once counted by result and once by call
if len(run["invocations"]) == 1:
    for rule in shown.get("rules", []):
        (properties,) = [r["properties"] for r in rules if r["id"] == rule["name"]]
        of_rule = [r for r in results if r["ruleId"] == rule["name"]]
        assert properties["calls"] == rule["calls"] == sum(r.get("occurrenceCount", 0) for r in of_rule), rule
        assert properties["appStacks"] == rule["app_stacks"]
        assert properties["sdks"] == rule.get("sdks", [])
        for key, name in (("firstNs", "first_ns"), ("lastNs", "last_ns"), ("threads", "threads")):
            assert properties.get(key) == rule.get(name), (key, rule)
        if of_rule:
            assert properties["firstNs"] == min(r["properties"]["firstNs"] for r in of_rule) > 0
            assert properties["lastNs"] == max(r["properties"]["lastNs"] for r in of_rule)
            assert properties["threads"] >= max(r["properties"]["threads"] for r in of_rule) > 0
print("%d results of %d rules" % (len(results), len(rules)))
