import { describe, expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";
import { addHosts, createNetwork, createPort, OF_SERVER, SERVER } from "./port-fixtures.js";

describe("lists of ports", () => {
  test.each([
    ["device_id", `device_id=${SERVER}`, ["bound"]],
    ["the device's owner", "device_owner=compute:nova", ["bound"]],
    ["a host", "binding:host_id=devstack1", ["bound"]],
    ["a MAC address in any case", "mac_address=FA:16:3E:00:00:AA", ["plain"]],
    ["an address", "fixed_ips=ip_address%3D10.0.0.20", ["plain"]],
    ["a part of addresses", "fixed_ips=ip_address_substr%3D10.0.0.2", ["plain", "bound"]],
    ["an address and a part", "fixed_ips=ip_address%3D10.0.0.20&fixed_ips=ip_address_substr%3D9", []],
    ["a status", "status=DOWN", ["plain", "bound"]],
    ["a group", "security_groups=00000000-0000-4000-8000-000000000000", []],
    ["tags", "tags=red", ["plain"]],
    ["a name", "name=plain", ["plain"]],
  ])("are filtered by %s", async (_what, query, names) => {
    const harness = new NetworkHarness();
    addHosts(harness, "devstack1");
    const network = await createNetwork(harness);
    await createPort(harness, network, {
      name: "plain",
      mac_address: "fa:16:3e:00:00:aa",
      fixed_ips: [{ ip_address: "10.0.0.20" }],
      tags: ["red"],
    });
    const bound = {
      name: "bound",
      fixed_ips: [{ ip_address: "10.0.0.21" }],
      "binding:host_id": "devstack1",
      ...OF_SERVER,
    };
    await createPort(harness, network, bound, "admin");
    expect((await harness.list(`/ports?${query}`)).map(({ name }) => name)).toEqual(names);
  });

  test("are filtered by the subnet and the group", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const { id, fixed_ips: ips, security_groups: groups } = await createPort(harness, network);
    const [{ subnet_id: subnet } = {}] = ips as readonly Record<string, string>[];
    expect(await harness.list(`/ports?fixed_ips=subnet_id%3D${subnet}&fields=id`)).toEqual([{ id }]);
    expect(await harness.list(`/ports?security_groups=${groups}&fields=id`)).toEqual([{ id }]);
    expect(await harness.rejection("GET", "/ports?fixed_ips=foo")).toBe(
      "400 InvalidInput: Invalid input for operation: 'foo' is not of the form <key>=[value].",
    );
  });

  test("contain own ports and those on own networks", async () => {
    const harness = new NetworkHarness();
    const network = await createNetwork(harness);
    const foreign = await harness.get(
      "POST",
      "/ports",
      { port: { network_id: network, name: "foreign", project_id: "alt" } },
      "admin",
    );
    const own = await createPort(harness, network, { name: "own" });
    expect((await harness.list("/ports")).map(({ name }) => name)).toEqual(["foreign", "own"]);
    expect((await harness.list("/ports", "alt")).map(({ name }) => name)).toEqual(["foreign"]);
    expect(await harness.rejection("GET", `/ports/${own.id}`, undefined, "alt")).toBe(
      `404 PortNotFound: Port ${own.id} could not be found.`,
    );
    expect(await harness.get("GET", `/ports/${foreign.id}`)).toMatchObject({ name: "foreign" });
  });

  test("use indexes for the filters of servers and agents", () => {
    const harness = new NetworkHarness();
    const plan = (condition: string) =>
      harness.context.sql
        .all(`EXPLAIN QUERY PLAN SELECT id FROM network_ports WHERE ${condition}`, "x")
        .map((row) => String(row[3]))
        .join("; ");
    for (const condition of [
      "device_id = ?",
      "network_id = ?",
      "project_id = ?",
      "mac_address = ?",
      "id IN (SELECT port_id FROM network_port_bindings WHERE host IS ?)",
      "id IN (SELECT port_id FROM network_ip_allocations WHERE address IS ?)",
      "id IN (SELECT port_id FROM network_port_security_groups WHERE security_group_id IS ?)",
    ]) {
      expect(plan(condition)).not.toContain("SCAN network_");
    }
  });
});
