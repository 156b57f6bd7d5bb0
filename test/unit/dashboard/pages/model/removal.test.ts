import { expect, it } from "vitest";
import { Cluster } from "../../../../../src/dashboard/pages/model/cluster.js";
import { removalConsequence } from "../../../../../src/dashboard/pages/model/removal.js";
import type { DashboardRow } from "../../../../../src/dashboard/wire/messages.js";
import { hostName, hostRow, serverRow } from "../../../../dashboard/support/generated-cluster.js";

const HOST = hostName(0);

function consequence(...set: readonly DashboardRow[]): string {
  const cluster = new Cluster();
  cluster.apply([{ seq: 1, at: 0, set: [{ kind: "host", key: HOST, value: hostRow(0) }, ...set], gone: [] }]);
  return removalConsequence(HOST, cluster);
}

const server: DashboardRow = { kind: "server", key: serverRow(1, 0).uuid, value: serverRow(1, 0) };
const fenced: DashboardRow = { kind: "host", key: HOST, value: { ...hostRow(0), forcedDown: true } };

function guests(...uuids: string[]): DashboardRow {
  const rows = uuids.map((uuid) => ({ uuid, name: uuid, state: "running" }));
  return { kind: "guests", key: HOST, value: { at: 0, from: "folder", guests: rows } };
}

it("a removal deletes service, providers and allocations, and is rejected for servers that are not evacuated", () => {
  expect(consequence()).toBe("Its compute service, its providers and their allocations are deleted.");
  expect(consequence(server, guests(server.key))).toMatch(
    /It has 1 server: the removal is rejected unless .* evacuated/,
  );
  expect(consequence(server, guests(server.key))).not.toContain("without a server");
});

it("guests without a server stay, unless the agent of a fenced host starts once more", () => {
  expect(consequence(guests("a", "b"))).toMatch(/ 2 guests without a server stay on its hypervisor\.$/);
  expect(consequence(fenced, guests("a"))).toMatch(
    /Its agent starts once more, to destroy guests of evacuated servers/,
  );
});
