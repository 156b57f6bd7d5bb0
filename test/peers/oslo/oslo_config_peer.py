"""Reads configuration files as oslo.config does: one JSON request per input line, one JSON response per output line."""

import json
import os
import sys
import tempfile

from oslo_config import cfg


def register(conf):
    text = [cfg.StrOpt("a"), cfg.StrOpt("b"), cfg.StrOpt("c")]
    typed = [cfg.IntOpt("i"), cfg.FloatOpt("f"), cfg.BoolOpt("t", default=False), cfg.ListOpt("l"), cfg.MultiStrOpt("m")]
    conf.register_opts(text + typed)
    conf.register_opts([cfg.StrOpt("a"), cfg.StrOpt("z"), cfg.IntOpt("n", min=0, max=9)], group="g")


def value_of(group, name):
    try:
        return {"value": getattr(group, name)}
    except (Exception, RecursionError):
        return {"error": True}


def answer(folder, files):
    paths = []
    for index, text in enumerate(files):
        path = os.path.join(folder, "%d.conf" % index)
        with open(path, "w", newline="") as file:
            file.write(text)
        paths.append(path)
    conf = cfg.ConfigOpts()
    register(conf)
    try:
        conf([arg for path in paths for arg in ("--config-file", path)], use_env=False)
    except cfg.ConfigFileParseError as error:
        return {"parse_error": error.msg, "file": paths.index(error.config_file)}
    values = {"DEFAULT.%s" % name: value_of(conf, name) for name in "abciftlm"}
    values.update({"g.%s" % name: value_of(conf.g, name) for name in "azn"})
    return {"values": values}


with tempfile.TemporaryDirectory() as folder:
    for line in sys.stdin:
        print(json.dumps(answer(folder, json.loads(line))), flush=True)
