import { describe, expect, it } from "vitest";
import { commandsOf, missingOf } from "../../../../../src/dashboard/pages/api.js";
import { barOf, barsOf, inOrder } from "../../../../../src/dashboard/pages/model/bars.js";
import { othersOf, pairsOf } from "../../../../../src/dashboard/pages/model/cluster.js";
import { isHostMatch } from "../../../../../src/dashboard/pages/model/filters.js";
import { age, amount } from "../../../../../src/dashboard/pages/model/format.js";
import { hashOf, routeOf } from "../../../../../src/dashboard/pages/model/navigation.js";
import type { DashboardAction } from "../../../../../src/dashboard/wire/messages.js";
import type { FindingRow } from "../../../../../src/dashboard/wire/rows.js";
import { hostRow, providerRow, serverRow } from "../../../../dashboard/support/generated-cluster.js";

describe("bars", () => {
  it("show usage by owner, with capacity reduced by reserved and multiplied by the ratio", () => {
    const bar = barOf(
      "MEMORY_MB",
      [providerRow(3, 4).inventory.MEMORY_MB].filter((row) => row !== undefined),
    );
    expect(bar.capacity).toBe(32_256);
    expect(bar.parts.map(({ type, amount: held }) => [type, held])).toEqual([
      ["server", 2_048],
      ["stale", 1_024],
    ]);
    expect(bar.parts[1]?.from).toBeCloseTo(bar.parts[0]?.width ?? 0);
  });

  it("stay within their frame if usage exceeds capacity", () => {
    const row = {
      total: 1,
      reserved: 0,
      ratio: 1,
      min: 1,
      max: 1,
      step: 1,
      used: { server: 3, migration: 1, stale: 0 },
    };
    const bar = barOf("VCPU", [row]);
    expect(bar.over).toBe(true);
    expect(bar.parts.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(100);
  });

  it("show bare metal classes if a provider has no others", () => {
    const row = {
      total: 1,
      reserved: 0,
      ratio: 1,
      min: 1,
      max: 1,
      step: 1,
      used: { server: 0, migration: 0, stale: 0 },
    };
    const classes = (inventory: Record<string, typeof row>) => barsOf([{ inventory }]).map((bar) => bar.resourceClass);
    expect(classes({ CUSTOM_BAREMETAL: row })).toEqual(["CUSTOM_BAREMETAL"]);
    expect(classes({ DISK_GB: row, VCPU: row })).toEqual(["VCPU", "DISK_GB"]);
  });
});

describe("servers and guests side by side", () => {
  const server = serverRow(1, 0);
  const finding: FindingRow = {
    code: "stale-guest",
    text: "it is on devstack2",
    explanation: "",
    commands: [],
    host: "h",
    server: "gone",
    consumer: null,
    provider: null,
  };

  it("pairs them by uuid, with differences and their reasons first", () => {
    const guests = [
      { uuid: server.uuid, name: "instance-1", state: "running" },
      { uuid: "gone", name: "instance-2", state: "running" },
    ];
    const pairs = pairsOf([server], guests, [finding]);
    expect(pairs.map(({ name, wrong }) => [name, wrong.length])).toEqual([
      ["instance-2", 1],
      [server.name, 0],
    ]);
    expect(pairs[1]).toMatchObject({ server, guest: guests[0] });
    expect(othersOf([finding, { ...finding, server: null }], pairs)).toEqual([{ ...finding, server: null }]);
  });
});

describe("filters of hosts", () => {
  const filter = { text: "", state: "", aggregate: "", fault: "" } as const;

  it("find by words, state, aggregate and fault", () => {
    const dead = hostRow(3);
    expect(isHostMatch(dead, false, { ...filter, text: "SIGNAL node004" })).toBe(true);
    expect(isHostMatch(dead, false, { ...filter, text: "signal node005" })).toBe(false);
    expect(isHostMatch(dead, false, { ...filter, state: "up" })).toBe(false);
    expect(isHostMatch(dead, true, { ...filter, state: "differs" })).toBe(true);
    expect(isHostMatch(hostRow(0), false, { ...filter, aggregate: "gold" })).toBe(true);
    expect(isHostMatch(hostRow(2), false, { ...filter, fault: "driver.spawn" })).toBe(true);
    expect(isHostMatch(hostRow(2), false, { ...filter, fault: "driver.destroy" })).toBe(false);
  });
});

describe("addresses of views", () => {
  it("are parsed to the view that they were rendered from, with any name", () => {
    const name = "a/b?c#d %";
    const route = routeOf(hashOf("hosts", name, { q: "x y&z", state: "" }));
    expect(route).toEqual({ view: "hosts", of: name, filter: { q: "x y&z" } });
  });

  it("are parsed to the list of hosts if they are invalid", () => {
    expect(routeOf("").view).toBe("hosts");
    for (const address of ["nowhere/x", "hosts/a/b", "requests/one"]) {
      expect(routeOf(`#/${address}`)).toEqual({ view: "unknown", of: address, filter: {} });
    }
    expect(routeOf("#/logs/?host=a%20b")).toEqual({ view: "logs", of: null, filter: { host: "a b" } });
    expect(routeOf("#/hosts/%E0%A4").of).toBe("%E0%A4");
  });
});

describe("commands of actions", () => {
  const action: DashboardAction = {
    name: "evacuate",
    label: "Evacuate",
    summary: "",
    subject: "server",
    destructive: false,
    fields: [
      { name: "server", label: "Server", type: "server", required: true },
      { name: "dest", label: "To host", type: "host", required: false },
    ],
    commands: ["openstack server evacuate [--host {dest}] {server}"],
  };

  it("omit empty options and quote values for a shell", () => {
    expect(commandsOf(action, {})).toEqual(["openstack server evacuate {server}"]);
    expect(commandsOf(action, { server: "vm1", dest: "it's; rm" })).toEqual([
      "openstack server evacuate --host 'it'\\''s; rm' vm1",
    ]);
    expect(missingOf(action, { dest: "devstack2" })).toBe("Server");
  });
});

describe("figures", () => {
  it("have readable units", () => {
    expect([age(59_000), age(600_000), age(3 * 3_600_000), age(72 * 3_600_000)]).toEqual([
      "59 s",
      "10 min",
      "3 h",
      "3 d",
    ]);
    expect([amount("MEMORY_MB", 2_560), amount("DISK_GB", 3), amount("VCPU", 1_500)]).toEqual([
      "2.5 GiB",
      "3 GiB",
      "1,500",
    ]);
  });
});

it("amounts have the order of the bars, then unusual classes", () => {
  const amounts = { DISK_GB: 1, VGPU: 2, MEMORY_MB: 512, CUSTOM_A: 1, VCPU: 4 };
  expect(inOrder(amounts).map(([name]) => name)).toEqual(["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "VGPU"]);
});
