import { describe, expect, it } from "vitest";
import { titleOf, unmetRequirement } from "../../../../../src/dashboard/pages/model/requirements.js";
import type { ActionRequirements } from "../../../../../src/dashboard/wire/messages.js";
import { ACTIONS, hostRow, serverRow } from "../../../../dashboard/support/generated-cluster.js";

const [server, host] = [serverRow(0, 0), hostRow(0)];

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
  const action = (name: string) => {
    const found = ACTIONS.find((each) => each.name === name);
    if (found === undefined) {
      throw new Error(`no action ${name}`);
    }
    return found;
  };
  expect(titleOf(action("host-kill"), "devstack3")).toBe("Kill devstack3?");
  expect(titleOf(action("fault-set"), "devstack3")).toBe("Set fault: devstack3");
  expect(titleOf(action("apply"), "")).toBe("Apply the plan?");
  expect(titleOf(action("create"), "")).toBe("Create server");
});
