import { afterEach, beforeEach, expect, it } from "vitest";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;

beforeEach(async () => {
  cloud = await VirtualCloud.open();
});
afterEach(() => cloud.close());

type Row = Readonly<Record<string, unknown>>;

async function services(): Promise<readonly Row[]> {
  return (await cloud.compute("GET", "/os-services")).json.services as Row[];
}

const idOf = async (binary: string): Promise<unknown> => (await services()).find((row) => row.binary === binary)?.id;

it("1.2 lists the scheduler and the conductor in zone internal, alive by heartbeats, before the agents", async () => {
  await cloud.agent("devstack1");
  const before = await services();
  await cloud.world.advance(600_000);
  const after = await services();
  const host = cloud.runtime.processes.hostname;
  const alike = { status: "enabled", state: "up", disabled_reason: null, forced_down: false };
  expect(after).toEqual([
    { ...alike, binary: "nova-scheduler", host, zone: "internal", id: before[0]?.id, updated_at: expect.any(String) },
    { ...alike, binary: "nova-conductor", host, zone: "internal", id: before[1]?.id, updated_at: expect.any(String) },
    {
      ...alike,
      binary: "nova-compute",
      host: "devstack1",
      zone: "nova",
      id: before[2]?.id,
      updated_at: expect.any(String),
    },
  ]);
});

it("lists the zone internal to administrators, with its services by host, and nowhere else", async () => {
  await cloud.agent("devstack1");
  await cloud.world.advance(20_000);
  const detail = (await cloud.compute("GET", "/os-availability-zone/detail")).json.availabilityZoneInfo;
  const service = { available: true, active: true, updated_at: expect.any(String) };
  expect(detail).toEqual([
    {
      zoneName: "internal",
      zoneState: { available: true },
      hosts: { [cloud.runtime.processes.hostname]: { "nova-scheduler": service, "nova-conductor": service } },
    },
    { zoneName: "nova", zoneState: { available: true }, hosts: { devstack1: { "nova-compute": service } } },
  ]);
  expect((await cloud.compute("GET", "/os-availability-zone")).json.availabilityZoneInfo).toMatchObject([
    { zoneName: "nova" },
  ]);
});

it("refuses to change them, as upstream; a deleted one is gone, and is missed once", async () => {
  const id = await idOf("nova-conductor");
  await expect(cloud.compute("PUT", `/os-services/${id}`, { status: "disabled" })).rejects.toThrow(
    /400 .*Updating a nova-conductor service is not supported. Only nova-compute services can be updated./,
  );
  expect((await cloud.compute("DELETE", `/os-services/${id}`)).status).toBe(204);
  await cloud.world.advance(60_000);
  expect((await services()).map(({ binary, state }) => [binary, state])).toEqual([["nova-scheduler", "up"]]);
  expect(cloud.runtime.logs.filter(({ level }) => level === "error")).toMatchObject([
    {
      message: "heartbeat of a control plane service could not be stored; retrying at the next one",
      fields: { err: { name: "ServiceNotFound" } },
    },
  ]);
});
