import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

const HOSTS = ["devstack1", "devstack2"];

let cloud: VirtualCloud;
let id: string;
/** The process of devstack1's agent. */
let first: VirtualRuntime;

const act = (body: object) => cloud.compute("POST", `/servers/${id}/action`, body, "2.79");
function isOn(host: string, ...statuses: string[]) {
  return cloud.serverIs(
    id,
    (server) =>
      server?.["OS-EXT-SRV-ATTR:host"] === host &&
      statuses.includes(String(server.status)) &&
      server["OS-EXT-STS:task_state"] === null,
  );
}

/** Returns the guest's state on each host. */
function guests() {
  return Promise.all(
    HOSTS.map(async (name) => {
      const folder = `/hypervisors/${name}`;
      const { files } = cloud.runtime;
      if ((await files.stat(`${folder}/domains/${id}.xml`)) === undefined) {
        return "none";
      }
      return (await files.readIfPresent(`${folder}/state/${id}`))?.trim() ?? "shutoff";
    }),
  );
}

async function forcedDown(host: string, down: boolean): Promise<void> {
  const { services } = (await cloud.compute("GET", `/os-services?host=${host}&binary=nova-compute`)).json;
  const [service] = services as { id: string }[];
  await cloud.compute("PUT", `/os-services/${service?.id}`, { forced_down: down });
}

async function held(consumer: string) {
  return Object.keys((await cloud.placement("GET", `/allocations/${consumer}`)).json.allocations as object);
}

/** Returns the migrations of the server, deleted or not. */
async function migrations(): Promise<{ readonly status: string; readonly uuid: string }[]> {
  const { migrations: found } = (await cloud.compute("GET", "/os-migrations")).json;
  return found as { status: string; uuid: string }[];
}

beforeEach(async () => {
  cloud = await VirtualCloud.open();
  first = (await cloud.agent("devstack1")).runtime;
  await cloud.agent("devstack2");
  const server = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: "devstack1" };
  id = String(((await cloud.compute("POST", "/servers", { server })).json.server as { id: string }).id);
  await isOn("devstack1", "ACTIVE");
});
afterEach(() => cloud.close());

describe("a message that waits for a host from which its instance is evacuated", () => {
  test.each([
    ["start", { "os-start": null }, "SHUTOFF", "shutoff"],
    ["reboot", { reboot: { type: "HARD" } }, "ACTIVE", "running"],
    ["rebuild", { rebuild: { imageRef: "" } }, "ACTIVE", "running"],
  ])("%s does nothing on its return, nor when the instance is moved back", async (name, body, status, guest) => {
    if (name === "start") {
      await act({ "os-stop": null });
      await isOn("devstack1", "SHUTOFF");
    }
    first.kill();
    await forcedDown("devstack1", true);
    await act(name === "rebuild" ? { rebuild: { imageRef: await cloud.image() } } : body);
    await act({ evacuate: { host: "devstack2" } });
    await isOn("devstack2", status);
    await cloud.agent("devstack1");
    await cloud.world.advance(30_000);
    expect(await guests()).toEqual(["none", guest]);
    await isOn("devstack2", status);
    const { instanceAction } = await fetchRejectedAction(name);
    expect(instanceAction).toMatchObject({ action: name, message: null });

    await forcedDown("devstack1", false);
    await act({ migrate: { host: "devstack1" } });
    await isOn("devstack1", "VERIFY_RESIZE");
    await act({ confirmResize: null });
    await isOn("devstack1", status);
    await cloud.world.advance(30_000);
    expect(await guests()).toEqual([guest, "none"]);
  });

  test("start is done when the host comes back before anybody evacuates it", async () => {
    await act({ "os-stop": null });
    await isOn("devstack1", "SHUTOFF");
    first.kill();
    await forcedDown("devstack1", true);
    await act({ "os-start": null });
    await cloud.agent("devstack1");
    await isOn("devstack1", "ACTIVE");
    await cloud.world.advance(30_000);
    expect(await guests()).toEqual(["running", "none"]);
  });

  /** Returns the action of the message. */
  async function fetchRejectedAction(name: string) {
    const { instanceActions } = (await cloud.compute("GET", `/servers/${id}/os-instance-actions`)).json;
    const action = (instanceActions as { action: string; request_id: string }[]).find((found) => found.action === name);
    return (await cloud.compute("GET", `/servers/${id}/os-instance-actions/${action?.request_id}`)).json;
  }
});

describe("a delete that was acknowledged", () => {
  const isGone = () => cloud.serverIs(id, (server) => server === null);

  /** Asserts that no part of the server is left, once devstack1 is back. */
  async function leavesNothing(): Promise<void> {
    await cloud.agent("devstack1");
    await cloud.world.advance(120_000);
    expect(await cloud.server(id)).toBeNull();
    expect(await guests()).toEqual(["none", "none"]);
    for (const { uuid, status } of await migrations()) {
      expect(["error", "failed", "completed", "done"]).toContain(status);
      expect(await held(uuid)).toEqual([]);
    }
    expect(await held(id)).toEqual([]);
  }

  test("is not forgotten when the instance is evacuated before its host has heard of it", async () => {
    first.kill();
    await cloud.compute("DELETE", `/servers/${id}`);
    await forcedDown("devstack1", true);
    expect((await act({ evacuate: { host: "devstack2" } })).status).toBe(200);
    await isGone();
    await leavesNothing();
  });

  test.each([0, 200, 1_000, 3_000])("ends an evacuation that began %i ms before", async (passed) => {
    first.kill();
    await forcedDown("devstack1", true);
    await act({ evacuate: { host: "devstack2" } });
    await cloud.world.advance(passed);
    await cloud.compute("DELETE", `/servers/${id}`);
    await isGone();
    await leavesNothing();
  });

  test("and a host that returns at that moment leave nothing", async () => {
    first.kill();
    await cloud.compute("DELETE", `/servers/${id}`);
    await forcedDown("devstack1", true);
    await act({ evacuate: { host: "devstack2" } });
    await leavesNothing();
  });
});
