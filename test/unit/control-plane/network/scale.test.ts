import { expect, test, vi } from "vitest";
import { DatabaseFile, type SqlValue } from "../../../../src/control-plane/database/database-file.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { NetworkHarness } from "./network-harness.js";

/** Tables with as many rows as there are ports, or more. */
const LARGE =
  /^(?:network_ports|network_port_bindings|network_ip_allocations|network_port_security_groups|network_tags)$/;

test.each([
  "device_id=11111111-2222-4333-8444-555555555555",
  "network_id=11111111-2222-4333-8444-555555555555",
  "binding:host_id=devstack1",
  "mac_address=fa:16:3e:00:00:01",
  "fixed_ips=ip_address%3D10.0.0.9",
  "fixed_ips=subnet_id%3D11111111-2222-4333-8444-555555555555",
  "security_groups=11111111-2222-4333-8444-555555555555",
  "project_id=demo",
  "id=11111111-2222-4333-8444-555555555555",
  "device_id=one&device_id=two",
  "network_id=one&device_owner=network:dhcp",
  "tags=red",
])("a list of ports by %s reads no large table as a whole", async (query) => {
  const network = new NetworkHarness();
  expect(await scannedTables(network, `/ports?${query}`, "admin")).toEqual([]);
});

test("a member's list of ports reads no large table as a whole", async () => {
  expect(await scannedTables(new NetworkHarness(), "/ports", "demo")).toEqual([]);
  expect(await scannedTables(new NetworkHarness(), "/ports?device_id=one", "demo")).toEqual([]);
});

test("a port is created and deleted without reading a large table as a whole", async () => {
  const network = new NetworkHarness();
  const { id } = await network.get("POST", "/networks", { network: {} });
  await network.get("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.0.0.0/24" } });
  const body = { port: { network_id: id } };
  const plans = watchPlans(network);
  const port = await network.get("POST", "/ports", body);
  await network.get("DELETE", `/ports/${port.id}`);
  expect(plans()).toEqual([]);
});

async function scannedTables(
  network: NetworkHarness,
  url: string,
  caller: "admin" | "demo",
): Promise<readonly string[]> {
  const plans = watchPlans(network);
  await network.list(url, caller);
  return plans();
}

/** Records the statements of requests; returns those that scan a large table. */
function watchPlans({ store }: NetworkHarness): () => readonly string[] {
  const sql = store.database;
  const statements: (readonly [text: string, values: readonly SqlValue[]])[] = [];
  const methods = ["all", "get", "strings", "number", "run", "execute"] as const;
  const spies = methods.map((method) =>
    vi.spyOn(sql, method).mockImplementation(function record(this: never, text: string, ...values: SqlValue[]) {
      statements.push([text, values]);
      return Reflect.apply(Object.getPrototypeOf(sql)[method], sql, [text, ...values]);
    }),
  );
  return () => {
    for (const spy of spies) {
      spy.mockRestore();
    }
    const copy = copyOfSchema(sql);
    const scans = statements.flatMap(([text, values]) => {
      const plan = copy.all(`EXPLAIN QUERY PLAN ${text}`, ...values).map((row) => String(row[3]));
      return plan.filter((line) => LARGE.test(/^SCAN (\w+)/.exec(line)?.[1] ?? "")).map((line) => `${line}: ${text}`);
    });
    copy.file.close();
    return scans;
  };
}

/** Statements are explained in another database: an explained write would stay in progress in its own. */
function copyOfSchema(sql: Sql): Sql {
  const copy = new Sql(new DatabaseFile(":memory:"));
  const parts = sql.strings(
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
  );
  copy.file.exec(parts.join("; "));
  return copy;
}
