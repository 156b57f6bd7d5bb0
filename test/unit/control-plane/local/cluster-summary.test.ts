import { expect, it } from "vitest";
import { summaryText } from "../../../../src/cli/cluster/status.js";
import type { CloudSession } from "../../../../src/control-plane/local/cloud-session.js";
import { clusterSummary } from "../../../../src/control-plane/local/cluster-summary.js";
import { fillStore, serverId } from "../../../fixtures/large-cloud.js";
import { ApiWorld } from "../compute/api-world.js";

async function cloudOf(hosts: number) {
  const world = await ApiWorld.open();
  fillStore(world.store, { hosts, servers: hosts });
  const requestedPaths: string[] = [];
  const session: CloudSession = {
    request: async (service, method, path, version) => {
      requestedPaths.push(path);
      const url = `/${service}/v2.1${path}`;
      return (await world.ask({ method, url, version: Number(version.slice("2.".length)) })).json();
    },
  };
  return { world, session, requestedPaths: requestedPaths };
}

it("reads the summary of many hosts in four requests, with the latest servers in error", async () => {
  const { world, session, requestedPaths } = await cloudOf(60);
  world.store.services.update(1, { forcedDown: true });
  world.store.services.update(2, { disabled: true });
  for (const number of [0, 1, 2]) {
    world.store.instances.save(serverId(number), { vmState: "error" });
  }
  const details = "Of 60 hosts 60 are full.\nNoValidHost: No valid host was found. \n    at place";
  world.store.instances.addFault({
    instanceUuid: serverId(2),
    message: "No valid host was found.",
    code: 500,
    details,
    host: null,
  });
  const summary = await clusterSummary(session, 50, 2);
  expect(summary).toMatchObject({ hosts: 60, down: ["host-0"], disabled: ["host-1"], serversInError: 3 });
  const explained = "No valid host was found. Of 60 hosts 60 are full.";
  expect(summary?.recentInError.map(({ fault }) => fault?.message)).toEqual([explained, undefined]);
  expect(summary?.usages.VCPU).toEqual({ used: 0, total: 60_000 });
  expect(requestedPaths).toHaveLength(4);
});

it("there is no summary of few hosts", async () => {
  expect(await clusterSummary((await cloudOf(3)).session, 3, 5)).toBeNull();
});

it("names some of the hosts that are down, and counts the others", () => {
  const down = Array.from({ length: 30 }, (_, number) => `h${number}`);
  const amount = { used: 1, total: 2 };
  const usages = { VCPU: amount, MEMORY_MB: amount, DISK_GB: amount };
  const rest = { disabled: [], usages, runningGuests: 4, serversInError: 1000, moreInError: true, recentInError: [] };
  const text = summaryText({ hosts: 100, down, ...rest });
  expect(text).toContain("hosts: 100, 70 up\ndown: 30 (h0, h1,");
  expect(text).toContain("h19 and 10 more)\ndisabled: none\nVCPU: 1 of 2 used");
  expect(text).toContain("servers in error: 1000 or more");
});
