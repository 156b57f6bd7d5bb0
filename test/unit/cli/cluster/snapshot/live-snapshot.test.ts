import { expect, it } from "vitest";
import { pidsHere } from "../../../../../src/cli/cluster/snapshot/live-snapshot.js";
import type { HostSession } from "../../../../../src/conductor-client/port.js";

it("a snapshot suspends no local process that has the pid of an agent on another machine", async () => {
  const holders: Readonly<Record<string, object | null>> = {
    here: { pid: 12, machine: "mine" },
    far: { pid: 13, machine: "another" },
    gone: null,
  };
  const calls: unknown[] = [];
  const call = async (method: string, params: { readonly host: string }) => {
    calls.push([method, params.host]);
    return holders[params.host];
  };
  const row = (host: string, pid: number | null, process: string | null) => ({ host, pid, process });
  const hosts = [
    row("own", 11, "own"),
    row("killed", null, "own"),
    row("here", 12, "elsewhere"),
    row("far", 13, "elsewhere"),
    row("gone", 14, "elsewhere"),
  ];
  expect(await pidsHere(hosts, { call } as unknown as Pick<HostSession, "call">, "mine")).toEqual([11, 12]);
  expect(calls).toEqual(["here", "far", "gone"].map((host) => ["host_lease_holder", host]));
});
