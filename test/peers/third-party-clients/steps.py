"""Runs functions in sequence and prints a JSON object per line: name, and error if the function failed."""

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
