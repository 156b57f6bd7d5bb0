import { expect, test } from "vitest";
import { StartRejectedError } from "../../../../src/agent/rejections.js";
import { HostsReport } from "../../../../src/cli/agent/host-reports.js";
import type { AgentHostStatus } from "../../../../src/cli/agent/hosts.js";
import { expandHosts } from "../../../../src/records/host-names.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const hostStatus = (host: string, state: AgentHostStatus["state"], error: Error | null = null): AgentHostStatus => ({
  host,
  state,
  detail: error?.message ?? "",
  exitCode: null,
  error,
});

function begin(names: string) {
  const runtime = createVirtualRuntime();
  const report = new HostsReport(runtime);
  for (const host of expandHosts(names)) {
    report.changed(hostStatus(host, "starting"));
  }
  report.begin();
  const lines = () =>
    runtime.logs.filter(({ level }) => level !== "debug").map(({ level, message }) => `${level} ${message}`);
  return { runtime, report, lines };
}

test("the start of a thousand hosts logs a few lines, with each reason why one does not serve", async () => {
  const { runtime, report, lines } = begin("n[0001-1000]");
  await runtime.advance(5_000);
  const held = (host: string) =>
    new StartRejectedError("host-lease-held", { found: `another agent acts for host ${host}`, hint: "stop it" });
  for (const host of expandHosts("n[0001-1000]")) {
    report.warned(host, "new here");
    if (host > "n0986") {
      report.changed(hostStatus(host, "failed", held(host)));
    } else {
      report.changed(
        hostStatus(host, host === "n0001" ? "failed" : "serving", host === "n0001" ? new TypeError("boom") : null),
      );
    }
  }
  report.started();
  expect(lines()).toEqual([
    "info 0 of 1000 hosts serve; 1000 starting",
    "warn new here (n[0001-1000])",
    "error host n0001 does not serve (TypeError): boom",
    "error 14 hosts do not serve (refused: host-lease-held): n[0987-1000]; n0987: another agent acts for host n0987. To fix it: stop it",
    "info 985 of 1000 hosts serve; 15 failed: n[0001,0987-1000]",
  ]);
});

test("later, simultaneous changes are one line", async () => {
  const { runtime, report, lines } = begin("n[1-3]");
  report.started();
  const before = lines().length;
  for (const host of expandHosts("n[1-3]")) {
    report.changed(hostStatus(host, "serving"));
    report.changed(hostStatus(host, "killed"));
  }
  await runtime.advance(1_000);
  report.changed(hostStatus("n2", "serving"));
  report.changed(hostStatus("n3", "failed", new Error("the disk is full")));
  report.warned("n2", "it is late");
  report.close();
  expect(lines().slice(before)).toEqual([
    "info 3 hosts are killed: n[1-3]",
    "warn it is late",
    "error host n3 does not serve (Error): the disk is full",
    "info host n2 is serving",
  ]);
});
