import { afterEach, beforeEach, expect, test } from "vitest";
import { VirtualMachine } from "../../src/simulation/virtual-machine.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

// Each host is on its own machine, with the same folder names as the other.
let cloud: VirtualCloud;
let machines: Readonly<Record<string, VirtualMachine>>;
let agents: Readonly<Record<string, VirtualRuntime>>;
let id: string;

const HOSTS = ["devstack1", "devstack2"];

const act = (body: object) => cloud.compute("POST", `/servers/${id}/action`, body);
const isIn = (status: string) => cloud.serverIs(id, (server) => server?.status === status);
const hostOf = async () => String((await cloud.server(id))?.["OS-EXT-SRV-ATTR:host"]);

async function start(host: string): Promise<VirtualRuntime> {
  const { runtime } = await cloud.agent(host, { machine: machines[host] ?? new VirtualMachine(host) });
  return runtime;
}

/** Returns the guest's state on each host, and its files there. */
async function guests() {
  const found: Record<string, readonly string[]> = {};
  for (const host of HOSTS) {
    const { files } = cloud.world.spawn({ machine: machines[host] ?? new VirtualMachine(host) });
    const folder = `/hypervisors/${host}`;
    const state = (await files.readIfPresent(`${folder}/state/${id}`))?.trim();
    const isDefined = (await files.stat(`${folder}/domains/${id}.xml`)) !== undefined;
    found[host] = [...(isDefined ? [state ?? "shutoff"] : []), ...(await files.list(`${folder}/instances`))];
  }
  return found;
}

beforeEach(async () => {
  cloud = await VirtualCloud.open({ machines: true });
  machines = Object.fromEntries(HOSTS.map((host) => [host, new VirtualMachine(`machine-of-${host}`)]));
  agents = { devstack1: await start("devstack1"), devstack2: await start("devstack2") };
  const { server } = (
    await cloud.compute("POST", "/servers", {
      server: { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: "devstack1" },
    })
  ).json;
  id = String((server as { id: string }).id);
  await isIn("ACTIVE");
});
afterEach(() => cloud.close());

test("6.3 a cold migration goes to the other machine, and is confirmed", async () => {
  await act({ migrate: null });
  await isIn("VERIFY_RESIZE");
  expect(await guests()).toEqual({ devstack1: ["shutoff", `${id}_resize`], devstack2: ["running", id] });
  await act({ confirmResize: null });
  await isIn("ACTIVE");
  expect([await hostOf(), await guests()]).toEqual(["devstack2", { devstack1: [], devstack2: ["running", id] }]);
});

test("6.3 a resize to the other machine is reverted", async () => {
  await act({ resize: { flavorRef: "2" } });
  await isIn("VERIFY_RESIZE");
  await act({ revertResize: null });
  await isIn("ACTIVE");
  expect([await hostOf(), await guests()]).toEqual(["devstack1", { devstack1: ["running", id], devstack2: [] }]);
});

test("8.3 a live migration to the other machine is refused before anything happens, and the guest runs on", async () => {
  await act({ "os-migrateLive": { host: null, block_migration: "auto" } });
  await cloud.world.advance(60_000);
  await isIn("ACTIVE");
  expect([await hostOf(), await guests()]).toEqual(["devstack1", { devstack1: ["running", id], devstack2: [] }]);
  const { migrations } = (await cloud.compute("GET", "/os-migrations")).json;
  expect((migrations as { status: string }[]).map(({ status }) => status)).toEqual(["error"]);
});

test("3 an evacuation from a machine that is gone; when it is back, only the guest of the other machine is left", async () => {
  agents.devstack1?.kill();
  await cloud.compute("PUT", `/os-services/${await cloud.serviceId("devstack1")}`, { forced_down: true });
  await act({ evacuate: {} });
  await cloud.serverIs(id, (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack2" && server.status === "ACTIVE");
  expect(await guests()).toEqual({ devstack1: ["running", id], devstack2: ["running", id] });
  machines.devstack1?.reboot();
  await start("devstack1");
  expect(await guests()).toEqual({ devstack1: [], devstack2: ["running", id] });
});
