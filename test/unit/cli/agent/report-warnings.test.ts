import { expect, test } from "vitest";
import { logWarnings } from "../../../../src/cli/agent/load-config.js";

const WARNINGS = [
  { origin: "/nova.conf:1", message: "unknown section [vnc] is ignored", unknown: "[vnc]" },
  { origin: "/nova.conf:2", message: "unknown section [DEFUALT] is ignored; did you mean [DEFAULT]?" },
  {
    origin: "/nova.conf:3",
    message: "unknown option debug in section [DEFAULT] is ignored",
    unknown: "[DEFAULT] debug",
  },
  { origin: "/other.conf:1", message: "unknown section [vnc] is ignored", unknown: "[vnc]" },
];

function collectWarnings(transportUrl: string | null): readonly string[] {
  const lines: string[] = [];
  const say = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const logger = { info: say("info"), warn: say("warn") } as never;
  logWarnings(logger, { config: { defaults: { transportUrl } }, warnings: WARNINGS } as never);
  return lines;
}

test("unknown options of a nova-compute's file are one line, and misspelt options are one line each", () => {
  expect(collectWarnings("rabbit://guest@broker/")).toEqual([
    "warn unknown section [DEFUALT] is ignored; did you mean [DEFAULT]?",
    "info nova.conf has options that this agent does not use; ignored: [vnc], [DEFAULT] debug",
  ]);
});

test("unknown options of a file for compute-cluster are one line each", () => {
  expect(collectWarnings(null)).toEqual(WARNINGS.map(({ message }) => `warn ${message}`));
});
