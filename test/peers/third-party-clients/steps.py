"""Runs functions one after the other and prints a JSON object a line: name, and error unless it went well."""

import json
import traceback


def run(steps, *arguments):
    for each in steps:
        line = {"name": each.__name__.replace("_", " ")}
        try:
            each(*arguments)
        except Exception:
            line["error"] = traceback.format_exc()
        print(json.dumps(line), flush=True)
