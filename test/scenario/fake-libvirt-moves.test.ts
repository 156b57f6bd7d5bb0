import { afterEach, beforeEach, expect, test } from "vitest";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

const HOSTS = ["devstack1", "devstack2"];

let cloud: VirtualCloud;
let id: string;

const files = () => cloud.runtime.files;
const host = async () => String((await cloud.server(id))?.["OS-EXT-SRV-ATTR:host"]);
const act = (body: object) => cloud.compute("POST", `/servers/${id}/action`, body);
const isIn = (status: string) => cloud.serverIs(id, (server) => server?.status === status);

/** Returns the guest's state on each host. */
function guests() {
  return Promise.all(
    HOSTS.map(async (name) => {
      const folder = `/hypervisors/${name}`;
      if ((await files().stat(`${folder}/domains/${id}.xml`)) === undefined) {
        return "none";
      }
      return (await files().readIfPresent(`${folder}/state/${id}`))?.trim() ?? "shutoff";
    }),
  );
}
/** Returns all files of the guest on a host. */
async function left(name: string) {
  const found: string[] = [];
  for (const part of ["domains", "state", "migrations", "instances"]) {
    for (const file of await files().list(`/hypervisors/${name}/${part}`)) {
      found.push(`${part}/${file}`);
    }
  }
  return found;
}

beforeEach(async () => {
  cloud = await VirtualCloud.open();
  for (const name of HOSTS) {
    await cloud.agent(name);
  }
  const { server } = (
    await cloud.compute("POST", "/servers", {
      server: { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: "devstack1" },
    })
  ).json;
  id = String((server as { id: string }).id);
  await isIn("ACTIVE");
});
afterEach(() => cloud.close());

test("6.3 a cold migration moves guest and files, and its confirmation leaves nothing behind", async () => {
  await act({ migrate: null });
  await isIn("VERIFY_RESIZE");
  expect(await host()).toBe("devstack2");
  expect(await guests()).toEqual(["shutoff", "running"]);
  await act({ confirmResize: null });
  await isIn("ACTIVE");
  expect(await guests()).toEqual(["none", "running"]);
  expect(await left("devstack1")).toEqual([]);
});

test("6.3 a resize that is reverted is undone on both hosts", async () => {
  const before = await left("devstack1");
  await act({ resize: { flavorRef: "2" } });
  await isIn("VERIFY_RESIZE");
  const xml = await files().read(`/hypervisors/devstack2/domains/${id}.xml`);
  await act({ revertResize: null });
  await isIn("ACTIVE");
  expect(await guests()).toEqual(["running", "none"]);
  expect(await left("devstack1")).toEqual(before);
  expect(await left("devstack2")).toEqual([]);
  expect(await files().read(`/hypervisors/devstack1/domains/${id}.xml`)).not.toContain(/<memory .*/.exec(xml)?.[0]);
});

test("6.5 a live migration moves the running guest, and leaves nothing at the source", async () => {
  await act({ "os-migrateLive": { host: null, block_migration: "auto" } });
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE" && server["OS-EXT-SRV-ATTR:host"] === "devstack2");
  await cloud.world.advance(10_000);
  expect(await guests()).toEqual(["none", "running"]);
  expect(await left("devstack1")).toEqual([]);
  expect(await left("devstack2")).toEqual([`domains/${id}.xml`, `state/${id}`, `instances/${id}`]);
});

test("6.6 rescue, unrescue, and a delete that leaves nothing", async () => {
  await act({ rescue: {} });
  await isIn("RESCUE");
  expect(await files().read(`/hypervisors/devstack1/domains/${id}.xml`)).toContain("disk.rescue");
  await act({ unrescue: null });
  await isIn("ACTIVE");
  expect(await files().read(`/hypervisors/devstack1/domains/${id}.xml`)).not.toContain("disk.rescue");
  await cloud.compute("DELETE", `/servers/${id}`);
  await cloud.serverIs(id, (server) => server === null);
  expect(await left("devstack1")).toEqual([]);
});

test("8.3 a guest whose move is not confirmed is deleted on both hosts", async () => {
  await act({ migrate: null });
  await isIn("VERIFY_RESIZE");
  await cloud.compute("DELETE", `/servers/${id}`);
  await cloud.serverIs(id, (server) => server === null);
  await cloud.world.advance(10_000);
  expect([...(await left("devstack1")), ...(await left("devstack2"))]).toEqual([]);
});
