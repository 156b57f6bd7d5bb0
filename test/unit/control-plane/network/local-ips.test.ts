import { expect, test } from "vitest";
import { UNKNOWN } from "./l3-fixtures.js";
import { type Body, NetworkHarness } from "./network-harness.js";
import { addHosts, createNetwork, createPort, updatePort } from "./port-fixtures.js";

function add(harness: NetworkHarness, attributes: Body): Promise<Body> {
  return harness.get("POST", "/local-ips", { local_ip: attributes });
}

test("a local IP of a network has a port of its own, which goes with it", async () => {
  const harness = new NetworkHarness();
  const network = await createNetwork(harness);
  const localIp = await add(harness, { network_id: network, local_ip_address: "10.0.0.99" });
  expect(localIp).toMatchObject({
    name: "",
    ip_mode: "translate",
    network_id: network,
    local_ip_address: "10.0.0.99",
    project_id: "demo",
  });
  const url = `/ports/${localIp.local_port_id}`;
  expect(await harness.get("GET", url, undefined, "admin")).toMatchObject({
    device_id: localIp.id,
    device_owner: "network:local_ip",
    status: "N/A",
  });
  expect(await harness.rejection("DELETE", url, undefined, "admin")).toBe(
    `409 ServicePortInUse: Port ${localIp.local_port_id} cannot be deleted directly via the port API: still referenced by Local IPs.`,
  );
  await harness.get("DELETE", `/local-ips/${localIp.id}`);
  expect(await harness.rejection("GET", url, undefined, "admin")).toContain("404 PortNotFound");
  expect(await harness.rejection("GET", `/local-ips/${localIp.id}`)).toContain("404 LocalIPNotFound");
});

test("a local IP of a port has its address, and leaves the port", async () => {
  const harness = new NetworkHarness();
  const network = await createNetwork(harness);
  const port = await createPort(harness, network, { fixed_ips: [{ ip_address: "10.0.0.9" }] });
  const localIp = await add(harness, { local_port_id: port.id });
  expect(localIp).toMatchObject({ local_port_id: port.id, network_id: network, local_ip_address: "10.0.0.9" });
  await harness.get("DELETE", `/local-ips/${localIp.id}`);
  expect(await harness.get("GET", `/ports/${port.id}`)).toMatchObject({ id: port.id });
});

test("local IPs without a usable port or network are rejected", async () => {
  const harness = new NetworkHarness();
  const network = await createNetwork(harness);
  const port = await createPort(harness, network, {
    fixed_ips: [{ ip_address: "10.0.0.8" }, { ip_address: "10.0.0.9" }],
  });
  const reject = (attributes: Body) => harness.rejection("POST", "/local-ips", { local_ip: attributes });
  expect(await reject({})).toBe(
    "400 LocalIPPortOrNetworkRequired: Either Port ID or Network ID must be specified for Local IP create.",
  );
  expect(await reject({ local_port_id: UNKNOWN })).toBe(
    `400 BadRequest: Bad local_ip request: Port ${UNKNOWN} not found.`,
  );
  expect(await reject({ local_port_id: port.id })).toBe(
    `400 LocalIPNoRequestedIP: Specified Port ${port.id} has several IPs, should specify exact IP address to use for Local IP.`,
  );
  expect(await reject({ local_port_id: port.id, local_ip_address: "1.2.3.4" })).toBe(
    `400 LocalIPRequestedIPNotFound: Specified Port ${port.id} does not have requested IP address: 1.2.3.4.`,
  );
});

test("an association shows the host of its port, and keeps the local IP", async () => {
  const harness = new NetworkHarness();
  addHosts(harness, "host1");
  const network = await createNetwork(harness);
  const localIp = await add(harness, { network_id: network });
  const port = await createPort(harness, network, { fixed_ips: [{ ip_address: "10.0.0.9" }] });
  const url = `/local_ips/${localIp.id}/port_associations`;
  const association = await harness.get("POST", url, { port_association: { fixed_port_id: port.id } });
  const expected = {
    local_ip_id: localIp.id,
    local_ip_address: localIp.local_ip_address,
    fixed_port_id: port.id,
    fixed_ip: "10.0.0.9",
    host: "",
  };
  expect(association).toEqual(expected);
  await updatePort(harness, port.id, { "binding:host_id": "host1" }, "service");
  expect(await harness.list(url)).toEqual([{ ...expected, host: "host1" }]);
  expect(await harness.rejection("GET", `${url}?host=host1`)).toBe(
    "400 InvalidInput: Invalid input for operation: 'host' is not supported for filtering.",
  );
  expect(await harness.rejection("DELETE", `/local-ips/${localIp.id}`)).toBe(
    `409 LocalIPInUse: Local IP ${localIp.id} is still associated with one or more ports.`,
  );
  await harness.get("DELETE", `${url}/${port.id}`);
  expect(await harness.rejection("DELETE", `${url}/${port.id}`)).toBe(
    `404 LocalIPAssociationNotFound: Local IP ${localIp.id} association with port ${port.id} could not be found.`,
  );
  await harness.get("DELETE", `/local-ips/${localIp.id}`);
});
