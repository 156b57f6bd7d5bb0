import { expect, it } from "vitest";
import { obstacles } from "../../../../../src/cli/cluster/scenario/scenario-command.js";
import type { CloudSession } from "../../../../../src/control-plane/local/cloud-session.js";

const STEPS = [
  { say: "vm1 is created.", ask: "POST compute /servers", body: { server: { name: "vm1" } } },
  { say: "It fails.", run: "compute-agent fault set devstack[1-2] driver.spawn=fail" },
  { say: "A host is lost.", run: "compute-agent host kill devstack3" },
  { say: "Ironic fails.", run: "compute-agent fault set ironic api=503" },
];

function cloudOf(...names: string[]): CloudSession {
  return { request: async () => ({ servers: names.map((name) => ({ name })) }) } as unknown as CloudSession;
}

it("a scenario is not played if a host is missing or down, or the name of a server is taken", async () => {
  const hosts = [
    { host: "devstack1", state: "serving" },
    { host: "devstack2", state: "killed" },
  ] as const;
  expect(await obstacles(STEPS, { hosts, cloud: cloudOf("vm1", "vm2") })).toEqual([
    "host devstack2 is killed, expected serving",
    "host devstack3 is not in the cluster, expected serving",
    "server vm1 exists already, but a step creates it",
  ]);
});

it("a scenario is played in a cluster that has its hosts and none of its servers", async () => {
  const hosts = ["devstack1", "devstack2", "devstack3"].map((host) => ({ host, state: "serving" as const }));
  expect(await obstacles(STEPS, { hosts, cloud: cloudOf("vm2") })).toEqual([]);
});
