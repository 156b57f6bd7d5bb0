import type { LogRow } from "../../../src/dashboard/wire/logs.js";
import type { DashboardRow } from "../../../src/dashboard/wire/messages.js";
import type { RequestRow } from "../../../src/dashboard/wire/rows.js";
import { type FakeDashboardParts, FakeDashboardServer } from "./fake-server.js";
import {
  hello,
  hostName,
  lifeOf,
  networkUuid,
  providerUuid,
  rowsOf,
  serverRow,
  serverUuid,
} from "./generated-cluster.js";

/** A cluster of a few hosts; the fourth is dead and has stale allocations. */
export async function smallCluster(parts: Partial<FakeDashboardParts> = {}): Promise<FakeDashboardServer> {
  const dashboard = new FakeDashboardServer({
    hello: () => hello(Date.now()),
    rows: () => smallRows(),
    life: (uuid) => (uuid === serverUuid(12) ? lifeOf(serverRow(12, 3)) : null),
    bodies: (id) => ({ ...requestRow(Number(id.slice(1))), body: '{\n  "server": {}\n}', answer: null }),
    logs: () => Array.from({ length: 60 }, (_, index) => logRow(index)),
    choices: () => ({
      images: [
        { id: "1a9e0000-0000-4000-8000-000000000001", name: "cirros" },
        { id: "1a9e0000-0000-4000-8000-000000000002", name: "debian" },
        { id: "1a9e0000-0000-4000-8000-000000000003", name: "debian" },
      ],
      networks: [{ id: "2e700000-0000-4000-8000-000000000001", name: "private" }],
      zones: ["east", "west"],
    }),
    ...parts,
  });
  await dashboard.start();
  return dashboard;
}

export function* smallRows(): Generator<DashboardRow> {
  yield* rowsOf({ hosts: 6, servers: 24 }, Date.now());
  const snapshot = { name: "before-the-move", at: Date.now() - 60_000, bytes: 300_000 };
  yield { kind: "snapshot", key: snapshot.name, value: snapshot };
  yield { kind: "scenario", key: "stale-evacuation", value: { title: "a host dies, and comes back" } };
}

export function requestRow(index: number): RequestRow {
  const status = [200, 202, 409, 200, 503][index % 5] ?? 200;
  return {
    id: `r${index}`,
    at: Date.now() - index * 137,
    service: ["compute-api", "placement"][index % 2] ?? "other",
    method: ["GET", "POST", "PUT"][index % 3] ?? "GET",
    path: index % 2 === 0 ? `/v2.1/servers/${serverUuid(index)}?fields=all` : `/allocations/${serverUuid(index)}`,
    status,
    ms: index * 3,
    requestId: `req-${serverUuid(index)}`,
    globalRequestId: null,
    user: "admin",
    project: "admin",
    hasBody: true,
    about: index === 1 ? [serverUuid(12)] : [],
  };
}

export function requests(many: number): readonly DashboardRow[] {
  return Array.from({ length: many }, (_, index) => ({ kind: "request", key: `r${index}`, value: requestRow(index) }));
}

export function logRow(index: number): LogRow {
  const level = ["INFO", "WARNING", "ERROR"][index % 3] ?? "INFO";
  return {
    at: Date.now() - (60 - index) * 731,
    source: index % 4 === 0 ? "control-plane" : hostName(index % 6),
    level,
    requestId: `req-${serverUuid(index)}`,
    instance: serverUuid(12),
    message: `live_migration step ${index}: pre_live_migration on the destination finished`,
    fields: [`host=${hostName(index % 6)}`, `path=/compute/v2.1/servers/${serverUuid(index)}/action`],
    more: level === "ERROR" ? ["Error: the guest is gone", "    at migrate (driver.js:1:1)"] : [],
  };
}

/** Every view, with a text that is visible once it is drawn. */
export const VIEWS: readonly { readonly route: string; readonly shows: string }[] = [
  { route: "hosts", shows: "maintenance: new fans on Thursday" },
  { route: "hosts?state=differs", shows: "stale allocation" },
  { route: "hosts?q=no-such-host", shows: "No hosts match." },
  { route: "hosts?as=list", shows: "Servers / guests" },
  { route: "findings", shows: "Commands that repair it" },
  { route: `hosts/${hostName(3)}`, shows: "Provider tree" },
  { route: "servers", shows: "vm24" },
  { route: `servers/${serverUuid(12)}`, shows: "Actions and events" },
  { route: "networks", shows: "172.24.4.0/24" },
  { route: `networks/${networkUuid(1)}`, shows: "10.0.0.5" },
  { route: "ports", shows: "binding_failed" },
  { route: "ports?q=no-such-port", shows: "No ports match." },
  { route: "placement", shows: hostName(5) },
  { route: `placement/${providerUuid(3)}`, shows: "COMPUTE_VOLUME_ATTACH" },
  { route: `consumers/${serverUuid(12)}`, shows: "INSTANCE" },
  { route: "requests", shows: `/allocations/${serverUuid(1)}` },
  { route: "logs", shows: "live_migration step 59" },
  { route: "nowhere/x", shows: "The dashboard has no view at" },
  { route: "try", shows: "Problems" },
  { route: `try/fault-set?host=${hostName(2)}`, shows: "Equivalent command" },
  { route: "snapshots", shows: "before-the-move" },
];
