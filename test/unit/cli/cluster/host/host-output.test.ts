import { describe, expect, it } from "vitest";
import {
  chosenHosts,
  type HostOutcome,
  hostTable,
  reportOutcomes,
} from "../../../../../src/cli/cluster/host/host-control.js";
import { HostLogFilter } from "../../../../../src/cli/cluster/logs/find-sources.js";
import { collectHosts } from "../../../../../src/cli/ui/command-line.js";
import type { HostRow } from "../../../../../src/conductor-client/methods/session.js";

function aRow(host: string, more: Partial<HostRow> = {}): HostRow {
  return {
    host,
    state: "serving",
    pid: 1234567,
    process: "pool-1",
    driver: "fake-libvirt",
    since: 0,
    reason: "",
    exitCode: null,
    log: null,
    servers: 3,
    service: { enabled: true, forcedDown: false, disabledReason: null },
    ...more,
  };
}

describe("the table of hosts", () => {
  it("fits 80 columns, whatever its content", () => {
    const reason = `cannot read /a/long/path/${"folder/".repeat(9)}nova.conf; mend that`;
    const service = { enabled: false, forcedDown: true, disabledReason: "a bad fan" };
    const table = hostTable(
      [aRow("rack01-node001"), aRow("rack01-node002", { state: "restarting", reason, service })],
      7_300_000,
      80,
    );
    expect(Math.max(...table.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(table).toContain("2 h");
  });

  it("has no column for reasons if there are none", () => {
    expect(hostTable([aRow("a", { reason: "pid 1234567" })], 0, 80)).not.toContain("Reason");
  });

  it("lists that a service is disabled or forced down, with the reason", () => {
    const service = { enabled: false, forcedDown: true, disabledReason: "a bad fan" };
    expect(hostTable([aRow("a", { service })], 0, 120)).toContain("disabled: a bad fan; forced down");
  });
});

describe("hosts of a command line", () => {
  const rows = ["devstack1", "devstack2", "devstack10"].map((host) => aRow(host));
  const chosen = (...args: string[]) =>
    chosenHosts(
      args.reduce((hosts: readonly string[], text) => collectHosts(text, hosts), []),
      false,
      rows,
      "/st",
    ).map(({ host }) => host);

  it("are names and ranges, each once", () => {
    expect(chosen("devstack10", "devstack[1-2],devstack1")).toEqual(["devstack10", "devstack1", "devstack2"]);
  });

  it("are all hosts with --all only", () => {
    expect(chosenHosts([], true, rows, "/st")).toHaveLength(3);
    expect(() => chosenHosts(["devstack1"], true, rows, "/st")).toThrow("found --all and devstack1");
    expect(() => chosen()).toThrow("found no host");
  });

  it("are corrected by a suggestion if one is unknown", () => {
    expect(() => chosen("devstock1")).toThrow("there is no host devstock1 in /st; did you mean devstack1?");
    expect(() => chosen("other")).toThrow("there are devstack[1-2,10]");
    expect(() => chosen("x[1-")).toThrow(/without its counterpart/);
  });
});

describe("the result of a command", () => {
  function captureReport(outcomes: readonly HostOutcome[], json = false) {
    const lines: string[] = [];
    const code = reportOutcomes(outcomes, json, {
      print: (line) => void lines.push(line),
      complain: (line) => void lines.push(`! ${line}`),
    });
    return { code, lines };
  }
  const failed = (host: string, exitCode: number | null): HostOutcome => ({
    process: aRow(host, { state: "failed", exitCode }),
    failure: "failed: because",
  });

  it("lists ranges by state, and failures one by one", () => {
    const done = ["a1", "a2", "a3"].map((host): HostOutcome => ({ process: aRow(host) }));
    expect(captureReport([...done, failed("b", 3)])).toEqual({
      code: 3,
      lines: ["a[1-3] serving", "! compute-agent host: b: failed: because"],
    });
  });

  it.each([
    [[], 0],
    [[failed("a", 3), failed("b", 3)], 3],
    [[failed("a", 3), failed("b", 2)], 1],
    [[failed("a", null)], 1],
    [[failed("a", 0)], 1],
  ])("exits with the common reason of all failures: %#", (outcomes, code) => {
    expect(captureReport(outcomes).code).toBe(code);
  });

  it("can be JSON", () => {
    const [line = ""] = captureReport([failed("a", 3)], true).lines;
    expect(JSON.parse(line)).toMatchObject([{ host: "a", failure: "failed: because", since: expect.any(String) }]);
  });

  it("does not name thousands of failures", () => {
    expect(captureReport(Array.from({ length: 1000 }, (_none, index) => failed(`h${index}`, 1))).lines).toHaveLength(
      21,
    );
  });
});

describe("the log filter for one host of a pool", () => {
  it("accepts the host's entries with their continuation lines, in both formats", () => {
    const filter = new HostLogFilter("h1");
    const lines = [
      "2026-11-23 20:42:29.257 7061 ERROR a crash host=h1 more=x",
      "    at somewhere",
      "2026-11-23 20:42:29.257 7061 INFO other host=h10",
      "    at elsewhere",
      "2026-11-23 20:42:29.257 7061 INFO last host=h1",
      '{"level":30,"host":"h1","message":"in JSON"}',
      '{"level":30,"host":"h10","message":"in JSON"}',
    ];
    expect(lines.map((line) => filter.accepts(line))).toEqual([true, true, false, false, true, true, false]);
  });

  it("accepts entries that contain the host's name, directly or in a range", () => {
    const filter = new HostLogFilter("rack1-n7");
    const accepts = (text: string) => filter.accepts(`2026-11-23 20:42:29.257 7061 INFO ${text}`);
    expect(
      ["host rack1-n7 is serving", "2 hosts are killed: a,rack[1-2]-n[5-9]", "the last of rack1-n7."].map(accepts),
    ).toEqual([true, true, true]);
    expect(
      ["host rack1-n70 is serving", "2 hosts are killed: rack[1-2]-n[8-9]", "xrack1-n7", "a[9-1]", "rack1-n7.x"].map(
        accepts,
      ),
    ).toEqual([false, false, false, false, false]);
  });
});
