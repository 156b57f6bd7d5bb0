import { describe, expect, it } from "vitest";
import { Cluster } from "../../../../../src/dashboard/pages/model/cluster.js";
import { consequenceOf, titleOf, unmetRequirement } from "../../../../../src/dashboard/pages/model/requirements.js";
import type { ActionRequirements, DashboardAction, DashboardRow } from "../../../../../src/dashboard/wire/messages.js";
import { ACTIONS, hostName, hostRow, serverRow } from "../../../../dashboard/support/generated-cluster.js";

const [server, host] = [serverRow(0, 0), hostRow(0)];

function action(name: string): DashboardAction {
  const found = ACTIONS.find((each) => each.name === name);
  if (found === undefined) {
    throw new Error(`no action ${name}`);
  }
  return found;
}

describe("the state of an object forbids an action", () => {
  it.each<readonly [ActionRequirements, object, string | null]>([
    [{ vmStates: ["stopped"] }, { server }, "vm1 is active. The server must be stopped."],
    [{ vmStates: ["active"] }, { server }, null],
    [{ idle: true }, { server: { ...server, taskState: "rebuilding" } }, "vm1 has a task in progress: rebuilding."],
    [{ service: "down" }, { server, host }, "rack01-node001 is up. Kill or fence the host first."],
    [{ service: "up" }, { server, host: { ...host, state: "down" } }, "rack01-node001 is down."],
    [{ service: "up" }, { server: { ...server, host: null } }, "vm1 is on no host."],
    [
      { agent: "running" },
      { host: { ...host, agent: "refused" } },
      "The agent of rack01-node001 is not running (refused).",
    ],
    [{ agent: "running" }, { host: { ...host, agent: null } }, "rack01-node001 has no agent on this machine."],
    [{ agent: "stopped" }, { host: { ...host, agent: null } }, null],
    [
      { registered: true },
      { host: { ...host, registered: false } },
      "rack01-node001 has no compute service yet. Start its agent first.",
    ],
    [{ enabled: false }, { host }, "rack01-node001 is already enabled."],
    [{ forcedDown: true }, { host }, "rack01-node001 is not fenced."],
    [{ servers: true }, { host }, "rack01-node001 has no servers."],
    [{ faults: true }, { host }, "No fault is set on rack01-node001."],
    [{ faults: true }, {}, null],
  ])("%j", (requires, subject, reason) => {
    expect(unmetRequirement(requires, { servers: 0, ...subject })).toBe(reason);
  });

  it("but an action without requirements is always allowed", () => {
    expect(unmetRequirement(undefined, { server, host, servers: 1 })).toBeNull();
  });
});

it("the title of a dialog is a question if the action destroys something", () => {
  expect(titleOf(action("host-kill"), "devstack3")).toBe("Kill devstack3?");
  expect(titleOf(action("fault-set"), "devstack3")).toBe("Set fault: devstack3");
  expect(titleOf(action("apply"), "")).toBe("Apply the plan?");
  expect(titleOf(action("create"), "")).toBe("Create server");
});

const HOST = hostName(0);

function consequence(...set: readonly DashboardRow[]): string {
  const cluster = new Cluster();
  cluster.apply([{ seq: 1, at: 0, set: [{ kind: "host", key: HOST, value: hostRow(0) }, ...set], gone: [] }]);
  return consequenceOf({ ...action("host-kill"), name: "host-remove" }, HOST, cluster);
}

const serverOnHost: DashboardRow = { kind: "server", key: serverRow(1, 0).uuid, value: serverRow(1, 0) };
const fenced: DashboardRow = { kind: "host", key: HOST, value: { ...hostRow(0), forcedDown: true } };

function guests(...uuids: string[]): DashboardRow {
  const rows = uuids.map((uuid) => ({ uuid, name: uuid, state: "running" }));
  return { kind: "guests", key: HOST, value: { at: 0, from: "folder", guests: rows } };
}

it("a removal deletes service, providers and allocations, and is rejected for servers that are not evacuated", () => {
  expect(consequence()).toBe("Its compute service, its providers and their allocations are deleted.");
  expect(consequence(serverOnHost, guests(serverOnHost.key))).toMatch(
    /It has 1 server: the removal is rejected unless .* evacuated/,
  );
  expect(consequence(serverOnHost, guests(serverOnHost.key))).not.toContain("without a server");
});

it("guests without a server stay, unless the agent of a fenced host starts once more", () => {
  expect(consequence(guests("a", "b"))).toMatch(/ 2 guests without a server stay on its hypervisor\.$/);
  expect(consequence(fenced, guests("a"))).toMatch(
    /Its agent starts once more, to destroy guests of evacuated servers/,
  );
});
