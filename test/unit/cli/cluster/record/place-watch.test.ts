import { expect, it } from "vitest";
import { PlaceWatch } from "../../../../../src/cli/cluster/record/record-command.js";
import { administratorIn } from "../../../../../src/conductor-client/methods/cluster.js";
import type { HostSession } from "../../../../../src/conductor-client/port.js";

it("new servers are polled until they have a host, or never will", async () => {
  const servers = new Map<string, object>([
    ["a", { host: null, vmState: "building" }],
    ["b", { host: null, vmState: "error" }],
  ]);
  const looked: string[] = [];
  const session = {
    call: async (method: string, { uuid = "" }: { uuid?: string }) => {
      looked.push(uuid);
      return method === "instance_get" ? (servers.get(uuid) ?? null) : { availabilityZone: "east" };
    },
  } as unknown as HostSession;
  const watch = new PlaceWatch(session, { now: () => 7 });
  const made = (id: string) => ({
    at: 1,
    caller: administratorIn("admin"),
    method: "POST",
    path: "/compute/v2.1/servers",
    status: 202,
    answer: { server: { id } },
  });
  expect(await watch.places([made("a"), made("b"), made("gone"), { at: 1, run: ["host", "kill", "h"] }])).toEqual([]);
  looked.length = 0;
  servers.set("a", { host: "h1", vmState: "building" });
  expect(await watch.places([])).toEqual([{ at: 7, server: "a", place: "east:h1" }]);
  expect(looked).toEqual(["a", ""]);
  expect(await watch.places([])).toEqual([]);
});
