import { expect, it } from "vitest";
import { faultLines } from "../../../../src/cli/cluster/status.js";
import type { HostStatus, ServerStatus } from "../../../../src/control-plane/local/cluster-status.js";

const EXPLANATION =
  "No valid host was found. There are not enough hosts available. " +
  "Of 3 hosts 2 have too little MEMORY_MB, and 1 is disabled.";

function inError(name: string, second: number, message = EXPLANATION): ServerStatus {
  const created = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  return { id: name, name, status: "ERROR", fault: { message, created } };
}

function row(...servers: readonly ServerStatus[]): HostStatus {
  return { host: null, service: null, provider: null, servers, guests: null };
}

it("prints the fault of a server in ERROR in lines of at most 80 columns", () => {
  const active = { id: "vm2", name: "vm2", status: "ACTIVE", fault: null };
  const lines = faultLines([row(inError("vm1", 1), active)], 80).join("\n");
  expect(lines).toBe(
    "Servers in ERROR:\n" +
      "  vm1: No valid host was found. There are not enough hosts available. Of 3\n" +
      "    hosts 2 have too little MEMORY_MB, and 1 is disabled.",
  );
});

it("prints the latest five faults of all hosts, and counts the other servers in ERROR", () => {
  const servers = [3, 7, 1, 6, 2, 5, 4].map((second) => inError(`vm${second}`, second, "E"));
  const lines = faultLines([row(...servers.slice(0, 4)), row(...servers.slice(4))], 80);
  const named = [7, 6, 5, 4, 3].map((second) => `  vm${second}: E`);
  expect(lines).toEqual(["Servers in ERROR:", ...named, "  and 2 more"]);
});

it("reports that no fault was recorded for a server that an administrator put into ERROR", () => {
  const reset = { id: "vm1", name: "vm1", status: "ERROR", fault: null };
  expect(faultLines([row(reset)], 80)).toEqual(["Servers in ERROR:", "  vm1: no fault was recorded"]);
});

it("prints nothing below the table when no server is in ERROR", () => {
  expect(faultLines([row({ id: "a", name: "a", status: "ACTIVE", fault: null })], 80)).toEqual([]);
});
