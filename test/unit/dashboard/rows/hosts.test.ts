import { beforeEach, expect, it } from "vitest";
import type { HostAgent } from "../../../../src/control-plane/conductor/methods/host-methods.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { Hosts } from "../../../../src/dashboard/rows/hosts.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

let store: Store;
let hosts: Hosts;
beforeEach(() => {
  const runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  hosts = new Hosts({ store, clock: runtime.clock, downTime: 60_000, faults: () => [] });
});

function known(host: string, more: Partial<HostAgent> = {}): HostAgent {
  return { host, state: "serving", reason: "", exitCode: null, ...more };
}

it("a host that cannot start is listed without a service, with the reason, until it is removed", () => {
  const rejectedHost = known("backup1", { state: "failed", exitCode: 3, reason: "recorded for devstack1" });
  expect(hosts.noteAgents([rejectedHost])).toEqual(["backup1"]);
  const row = { state: "down", registered: false, agent: "refused", reason: "recorded for devstack1" };
  expect(hosts.read("backup1")).toMatchObject(row);
  expect([...hosts.all()]).toEqual([[expect.objectContaining({ host: "backup1", ...row }), null]]);
  expect(hosts.noteAgents([rejectedHost])).toEqual([]);
  expect(hosts.noteAgents([])).toEqual(["backup1"]);
  expect([hosts.read("backup1"), [...hosts.all()]]).toEqual([undefined, []]);
});

it("a host with a service is listed once, whatever its agent reports", () => {
  const { id } = store.services.create({ host: "one", binary: "nova-compute", topic: "compute", version: 73 });
  store.services.reportState(id);
  hosts.noteAgents([known("one", { state: "failed", exitCode: 1 })]);
  expect([...hosts.all()].map(([row]) => [row.registered, row.state, row.agent])).toEqual([[true, "up", "failed"]]);
  expect(hosts.noteAgents([known("one")])).toEqual(["one"]);
});
