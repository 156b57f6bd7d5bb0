import { describe, expect, it } from "vitest";
import {
  type Condition,
  type ConditionClients,
  checkCondition,
} from "../../../../../src/cli/cluster/wait/condition.js";
import type { ClusterWork } from "../../../../../src/conductor-client/methods/cluster.js";

const NOTHING: ClusterWork = { tasks: 0, messages: 0, servers: [], moves: [] };
const paths: string[] = [];

function createClients({
  work = NOTHING,
  servers = [],
  states = [],
  toReport = [],
}: Partial<ClientReplies> = {}): ConditionClients {
  const replies: Readonly<Record<string, unknown>> = {
    cluster_work: work,
    list_hosts: states.map((state, index) => ({ host: `h${index}`, state })),
    hosts_to_report: toReport,
  };
  return {
    session: { call: async (method: string) => replies[method] } as unknown as ConditionClients["session"],
    cloud: async () => ({
      request: async (_service, _method, path) => {
        paths.push(path);
        return { servers };
      },
    }),
  };
}

interface ClientReplies {
  readonly work: ClusterWork;
  readonly servers: readonly { readonly id: string; readonly name: string; readonly status: string; fault?: object }[];
  readonly states: readonly string[];
  readonly toReport: readonly string[];
}

const active: Condition = { kind: "server", server: "vm.1", status: "ACTIVE" };
const vm = (status: string, more: object = {}) => ({ id: "u1", name: "vm.1", status, ...more });

describe("conditions of `wait`", () => {
  it("counts the hosts that serve", async () => {
    const two: Condition = { kind: "hosts", count: 2 };
    expect(await checkCondition(two, createClients({ states: ["serving", "starting"] }))).toBe("1 of 2 hosts serve");
    expect(await checkCondition(two, createClients({ states: ["serving", "failed", "serving"] }))).toBeUndefined();
  });

  it("does not count a host before its first heartbeat makes it schedulable", async () => {
    const two: Condition = { kind: "hosts", count: 2 };
    expect(await checkCondition(two, createClients({ states: ["serving", "serving"], toReport: ["h1"] }))).toBe(
      "1 of 2 hosts serve, and 1 more once they have sent a heartbeat",
    );
  });

  it("names unfinished operations", async () => {
    const work: ClusterWork = {
      tasks: 1,
      messages: 2,
      servers: [{ uuid: "u1", displayName: "vm1", taskState: "powering-off" }],
      moves: [{ type: "resize", status: "migrating", instanceUuid: "u2" }],
    };
    expect(await checkCondition({ kind: "settled" }, createClients({ work }))).toBe(
      "server vm1 is powering-off, the resize of server u2 is migrating, the conductor has 1 pending tasks",
    );
    expect(await checkCondition({ kind: "settled" }, createClients())).toBeUndefined();
  });

  it("finds a server by its complete name or its id only", async () => {
    paths.length = 0;
    expect(await checkCondition(active, createClients({ servers: [vm("BUILD")] }))).toBe("server vm.1 is BUILD");
    expect(
      await checkCondition(active, createClients({ servers: [vm("ACTIVE"), { ...vm("BUILD"), name: "vmx1" }] })),
    ).toBeUndefined();
    expect(await checkCondition(active, createClients())).toBe("there is no server vm.1");
    expect(paths[0]).toBe(`/servers/detail?all_tenants=1&name=${encodeURIComponent("^vm\\.1$")}`);
    const server = "01234567-89ab-4def-8123-456789abcdef";
    expect(
      await checkCondition({ ...active, server }, createClients({ servers: [{ ...vm("ACTIVE"), id: server }] })),
    ).toBeUndefined();
    expect(paths.at(-1)).toBe(`/servers/detail?all_tenants=1&uuid=${server}`);
  });

  it("treats a missing server as deleted", async () => {
    expect(await checkCondition({ ...active, status: "DELETED" }, createClients())).toBeUndefined();
    expect(await checkCondition({ ...active, status: "DELETED" }, createClients({ servers: [vm("ERROR")] }))).toContain(
      "is ERROR",
    );
  });

  it("stops waiting for a server in error, or for an ambiguous name", async () => {
    const broken = createClients({ servers: [vm("ERROR", { fault: { message: "No valid host was found." } })] });
    await expect(checkCondition(active, broken)).rejects.toThrow("server vm.1 is in ERROR: No valid host was found.");
    const message = "No valid host was found. There are not enough hosts available.";
    const explained = { message, details: `Of 1 host with room 1 is disabled.\nNoValidHost: ${message}\n    at x` };
    await expect(
      checkCondition(active, createClients({ servers: [vm("ERROR", { fault: explained })] })),
    ).rejects.toThrow(`server vm.1 is in ERROR: ${message} Of 1 host with room 1 is disabled.`);
    await expect(checkCondition(active, createClients({ servers: [vm("ACTIVE"), vm("ACTIVE")] }))).rejects.toThrow(
      "2 servers",
    );
    expect(await checkCondition({ ...active, status: "ERROR" }, broken)).toBeUndefined();
  });
});
