import { beforeEach, describe, expect, test } from "vitest";
import { NETWORK, NetworkWorld, SUBNET } from "./network-world.js";

let world: NetworkWorld;

beforeEach(() => {
  world = new NetworkWorld();
});

describe("a port", () => {
  test("has an address, a MAC address and the default group", async () => {
    const [group] = await world.list("/security-groups");
    const port = await world.port({ name: "p" });
    expect(port).toMatchObject({
      name: "p",
      network_id: NETWORK,
      project_id: "demo",
      fixed_ips: [{ subnet_id: SUBNET, ip_address: "10.0.0.2" }],
      mac_address: expect.stringMatching(/^fa:16:3e(:[0-9a-f]{2}){3}$/),
      security_groups: [group?.id],
      device_id: "",
      status: "DOWN",
    });
    expect(port).not.toHaveProperty("binding:host_id");
    expect(await world.get("GET", `/ports/${port.id}`, undefined, "admin")).toMatchObject({
      "binding:host_id": "",
      "binding:vif_type": "unbound",
    });
  });

  test("is found by its attributes", async () => {
    const port = await world.port({ fixed_ips: [{ subnet_id: SUBNET, ip_address: "10.0.0.7" }] });
    await world.port();
    for (const query of ["fixed_ips=ip_address%3D10.0.0.7", `id=${port.id}`, `mac_address=${port.mac_address}`]) {
      expect(await world.list(`/ports?${query}`), query).toMatchObject([{ id: port.id }]);
    }
    expect(await world.list("/ports?device_id=nothing")).toEqual([]);
    expect(await world.list("/ports", "alt")).toEqual([]);
    expect(await world.getRejection("GET", `/ports/${port.id}`, undefined, "alt")).toBe("404 HTTPNotFound");
  });

  test("has the MAC address that an administrator requests, which must be unique", async () => {
    const portRequest = { network_id: NETWORK, mac_address: "FA-16-3E-00-00-22" };
    const port = await world.port({ mac_address: portRequest.mac_address }, "admin");
    expect(port.mac_address).toBe("fa:16:3e:00:00:22");
    const again = await world.ask("POST", "/ports", { port: portRequest }, "admin");
    expect([again.status, again.json("NeutronError")]).toEqual([
      409,
      {
        type: "MacAddressInUse",
        message: `Unable to complete operation for network ${NETWORK}. The mac address fa:16:3e:00:00:22 is in use.`,
        detail: "",
      },
    ]);
    const user = await world.ask("POST", "/ports", { port: { ...portRequest, mac_address: "fa:16:3e:00:00:23" } });
    expect([user.status, user.json("NeutronError", "message")]).toEqual([
      403,
      "(rule:create_port and rule:create_port:mac_address) is disallowed by policy",
    ]);
    for (const wrong of ["x", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "fa:16:3e:00:00", null, 1]) {
      const reply = await world.ask("POST", "/ports", { port: { ...portRequest, mac_address: wrong } }, "admin");
      expect([reply.status, reply.json("NeutronError", "message")], String(wrong)).toEqual([
        400,
        `Invalid input for mac_address. Reason: '${wrong === null ? "None" : wrong}' is not a valid MAC address.`,
      ]);
    }
  });

  test("gets another MAC address from an administrator, unless it is bound", async () => {
    const [{ id, mac_address: own }, other] = [await world.port(), await world.port()];
    const change = (mac: unknown, as: "admin" | "demo") =>
      world.ask("PUT", `/ports/${id}`, { port: { mac_address: mac } }, as);
    expect((await change(own, "demo")).status).toBe(200);
    expect((await change("fa:16:3e:00:00:24", "demo")).status).toBe(403);
    expect((await change(other.mac_address, "admin")).json("NeutronError", "type")).toBe("MacAddressInUse");
    expect((await change("fa:16:3e:00:00:24", "admin")).json("port", "mac_address")).toBe("fa:16:3e:00:00:24");
  });

  test("is created although its derived MAC address is in use", async () => {
    const first = await world.port();
    await world.ask("DELETE", `/ports/${first.id}`);
    await world.port({ mac_address: first.mac_address }, "admin");
    const same = await world.port({ fixed_ips: first.fixed_ips });
    expect(same.mac_address).not.toBe(first.mac_address);
    expect(same.mac_address).toMatch(/^fa:16:3e(:[0-9a-f]{2}){3}$/);
  });

  test("gets another name and other groups", async () => {
    const group = await world.group();
    const { id } = await world.port();
    const change = { port: { name: "n", description: "d", security_groups: [group], admin_state_up: false } };
    expect(await world.get("PUT", `/ports/${id}`, change)).toMatchObject({
      ...change.port,
      revision_number: 2,
    });
    expect(await world.get("PUT", `/ports/${id}`, { port: { security_groups: [] } })).toMatchObject({
      name: "n",
      security_groups: [],
    });
  });

  test.each([
    [{ device_id: "somebody's" }, 400],
    [{ device_owner: "compute:nova" }, 400],
    [{ fixed_ips: [{ ip_address: "10.0.0.1" }] }, 400],
    [{ fixed_ips: [{ ip_address: "192.0.2.1" }] }, 400],
    [{ fixed_ips: [] }, 400],
    [{ fixed_ips: [{ ip_address: "10.0.0.8" }, { ip_address: "10.0.0.9" }] }, 400],
    [{ "binding:vnic_type": "direct" }, 400],
    [{ allowed_address_pairs: [{ ip_address: "10.0.0.1" }] }, 400],
    [{ security_groups: ["c0ffee00-0000-4000-8000-000000000099"] }, 404],
    [{ network_id: "c0ffee00-0000-4000-8000-000000000099" }, 404],
    [{ project_id: "alt" }, 403],
    [{ color: "red" }, 400],
  ])("%j is rejected", async (body, status) => {
    const reply = await world.ask("POST", "/ports", { port: { network_id: NETWORK, ...body } });
    expect(reply.status).toBe(status);
  });

  test("keeps its address, which no other port gets", async () => {
    const fixed = { fixed_ips: [{ ip_address: "10.0.0.7" }] };
    const { id } = await world.port(fixed);
    const body = { port: { network_id: NETWORK, ...fixed } };
    expect(await world.getRejection("POST", "/ports", body)).toBe("409 IpAddressAlreadyAllocated");
    const other = { port: { fixed_ips: [{ ip_address: "10.0.0.9" }] } };
    expect((await world.ask("PUT", `/ports/${id}`, other)).status).toBe(400);
    expect((await world.ask("DELETE", `/ports/${id}`)).status).toBe(204);
    expect(await world.port(fixed)).toMatchObject({ fixed_ips: [{ ip_address: "10.0.0.7" }] });
  });
});
