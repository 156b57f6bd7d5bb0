import { afterEach, beforeEach, expect, it } from "vitest";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;

beforeEach(async () => {
  cloud = await VirtualCloud.open();
});
afterEach(() => cloud.close());

async function providers(): Promise<readonly { readonly uuid: string; readonly name: string }[]> {
  return (await cloud.placement("GET", "/resource_providers")).json.resource_providers as {
    uuid: string;
    name: string;
  }[];
}

it("7.1, 7.2 a service whose provider is held by a stranger is kept, and deleted with force", async () => {
  const { agent } = await cloud.agent("devstack1");
  await cloud.world.runUntil(agent.stop());
  const [provider] = await providers();
  if (!provider) {
    throw new Error("no provider");
  }
  const unknownConsumer = "f0000000-0000-4000-8000-000000000001";
  await cloud.placement("PUT", `/allocations/${unknownConsumer}`, {
    allocations: { [provider.uuid]: { resources: { VCPU: 1 } } },
    project_id: "p",
    user_id: "u",
    consumer_generation: null,
    consumer_type: "INSTANCE",
  });
  const { services } = (await cloud.compute("GET", "/os-services?binary=nova-compute")).json;
  const [service] = services as { id: string }[];
  const path = `/os-services/${service?.id}`;
  await expect(cloud.compute("DELETE", path)).rejects.toThrow(
    new RegExp(`409 .*${provider.uuid}.*${unknownConsumer}`, "s"),
  );
  expect((await providers()).map(({ name }) => name)).toEqual(["devstack1"]);

  expect((await cloud.compute("DELETE", `${path}?force=true`)).status).toBe(204);
  expect(await providers()).toEqual([]);
  expect((await cloud.compute("GET", "/os-services?binary=nova-compute")).json.services).toEqual([]);
  expect((await cloud.compute("GET", "/os-hypervisors")).json.hypervisors).toEqual([]);
});
