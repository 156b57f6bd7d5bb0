import { describe, expect, test } from "vitest";
import { POWER_STATES } from "../../../../src/virt/index.js";
import { bareMetal, DESTROY, INSTANCE, spawnOptions } from "./support/driver.js";
import { type FakeIronic, fault, LOCKED } from "./support/fake-ironic.js";
import { active, BY_INSTANCE, NODE, recordedBodies, started } from "./support/started.js";

describe("8.2 building", () => {
  test("claims, writes the instance info, validates, deploys and polls as recorded", async () => {
    const { driver, ironic, slept } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    await driver.spawn(instance, spawnOptions());
    expect(ironic.requests()).toEqual([
      `GET /v1/nodes/${NODE}?fields=F`,
      `PATCH /v1/nodes/${NODE}`,
      `GET /v1/nodes/${NODE}?fields=F`,
      `PATCH /v1/nodes/${NODE}`,
      `GET /v1/nodes/${NODE}/validate`,
      `PUT /v1/nodes/${NODE}/states/provision`,
      BY_INSTANCE,
      BY_INSTANCE,
    ]);
    expect(slept).toEqual([2000]);
    const [claim, info, put] = ironic.observedRequests.filter(({ body }) => body !== undefined).map(({ body }) => body);
    expect(claim).toEqual([{ op: "replace", path: "/instance_uuid", value: INSTANCE }]);
    expect([info]).toEqual((await recordedBodies("spawn")).slice(0, 1));
    expect(put).toEqual({ target: "active" });
    expect((await driver.getInfo(instance)).state).toBe(POWER_STATES.running);
  });

  test("attaches its ports first, a port that is attached already being success", async () => {
    const { driver, ironic, node } = await started({ vifs: ["p1"] });
    const network = ["p1", "p2"].map((id) => ({ id, address: "10.0.0.1", network: "n", active: false }));
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    await driver.spawn(instance, spawnOptions({ network }));
    expect(node.vifs).toEqual(["p1", "p2"]);
    const order = ironic.requests().filter((request) => /^(POST|PATCH)/.test(request));
    expect(order.slice(1, 3)).toEqual([`POST /v1/nodes/${NODE}/vifs`, `POST /v1/nodes/${NODE}/vifs`]);
  });

  test("a port is attached once the node is no longer locked", async () => {
    const { driver, ironic, node } = await started();
    await driver.prepareForSpawn(bareMetal(NODE));
    let locked = 2;
    ironic.fault = ({ method }) => {
      if (method !== "POST" || locked === 0) {
        return undefined;
      }
      locked -= 1;
      return LOCKED;
    };
    const network = [{ id: "p1", address: "10.0.0.1", network: "n", active: false }];
    await driver.spawn(bareMetal(NODE), spawnOptions({ network }));
    expect(node.vifs).toEqual(["p1"]);
  });

  test("a config drive is sent as an object", async () => {
    const { driver, ironic } = await started();
    const userData = Buffer.from("#!/bin/sh").toString("base64");
    const instance = bareMetal(NODE, { configDrive: true, userData, metadata: { a: "b" } });
    await driver.prepareForSpawn(instance);
    await driver.spawn(instance, spawnOptions());
    expect(ironic.observedRequests.find(({ method }) => method === "PUT")?.body).toMatchObject({
      configdrive: { meta_data: { uuid: INSTANCE, meta: { a: "b" } }, user_data: "#!/bin/sh" },
    });
  });

  test("a config drive contains its user's SSH key", async () => {
    const { driver, ironic } = await started();
    const instance = bareMetal(NODE, { configDrive: true, keyName: "mine", keyData: "ssh-rsa AAAA" });
    await driver.prepareForSpawn(instance);
    await driver.spawn(instance, spawnOptions());
    expect(ironic.observedRequests.find(({ method }) => method === "PUT")?.body).toMatchObject({
      configdrive: { meta_data: { public_keys: { mine: "ssh-rsa AAAA" } } },
    });
  });

  test("injected files, which such a config drive cannot contain, abort the build", async () => {
    const { driver } = await started();
    const injectedFiles = [{ path: "/etc/motd", contents: "aGk=" }];
    const instance = bareMetal(NODE, { configDrive: true, injectedFiles });
    await driver.prepareForSpawn(instance);
    await expect(driver.spawn(instance, spawnOptions())).rejects.toThrow(/has 1 files \(personality\)/);
  });

  test.each([
    [
      "a validation that fails",
      (ironic: FakeIronic) => {
        ironic.validation.deploy = { result: false, reason: "x" };
      },
    ],
    [
      "an interface that does not answer",
      (ironic: FakeIronic) => {
        ironic.validation.storage = { result: null };
      },
    ],
    [
      "a deployment that is refused",
      (ironic: FakeIronic) => {
        ironic.fault = ({ method }) => (method === "PUT" ? fault(400, "no") : undefined);
      },
    ],
  ])("%s gives the node back: volumes, ports, then the claim", async (_, breakIt) => {
    const { driver, ironic, node } = await started();
    ironic.volumeTargets = ["v1"];
    const network = [{ id: "p1", address: "10.0.0.1", network: "n", active: false }];
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    breakIt(ironic);
    await expect(driver.spawn(instance, spawnOptions({ network }))).rejects.toThrow();
    expect(node).toMatchObject({ instance_uuid: null, instance_info: {}, vifs: [], provision_state: "available" });
    expect(ironic.requests().slice(-4)).toEqual([
      `GET /v1/volume/targets?node=${NODE}&detail=True`,
      "DELETE /v1/volume/targets/v1",
      `DELETE /v1/nodes/${NODE}/vifs/p1`,
      `PATCH /v1/nodes/${NODE}`,
    ]);
    expect(ironic.observedRequests.at(-1)?.body).toEqual((await recordedBodies("prepare_for_spawn then")).at(-1));
  });

  test("a failed deployment reports its reason, and is left for destroy", async () => {
    const { driver, ironic, node } = await started();
    ironic.deployEnds = "deploy failed";
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    await expect(driver.spawn(instance, spawnOptions())).rejects.toThrow("the disk is on fire");
    expect(node.instance_uuid).toBe(INSTANCE);
    await driver.destroy(instance, DESTROY);
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
  });

  test("InvalidImage aborts the build", async () => {
    const { driver, ironic } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    ironic.fault = ({ method }) => (method === "PUT" ? fault(400, "InvalidImage: no such image") : undefined);
    await expect(driver.spawn(instance, spawnOptions())).rejects.toMatchObject({ name: "BuildAbortException" });
  });

  test.each([
    [null],
    [{ vmState: "building", taskState: "deleting" }],
    [{ vmState: "error", taskState: null }],
  ] as const)("stops when nobody wants the instance any more: %j", async (states) => {
    const { driver, records } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    records.states = states;
    await expect(driver.spawn(instance, spawnOptions())).rejects.toMatchObject({ name: "InstanceDeployFailure" });
  });

  test("stops when another client tears the node down", async () => {
    const { driver, ironic, node } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    ironic.done = ({ method }) => {
      if (method !== "PUT") {
        return;
      }
      ironic.halt();
      Object.assign(node, { provision_state: "deleting", target_provision_state: "available" });
    };
    await expect(driver.spawn(instance, spawnOptions())).rejects.toMatchObject({ name: "InstanceNotFound" });
  });

  test("a lost response to the deploy request: the node is read, and the request is not sent twice", async () => {
    const { driver, ironic, node } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    ironic.fault = ({ method }) => (method === "PUT" ? "answer lost" : undefined);
    await driver.spawn(instance, spawnOptions());
    expect(node.provision_state).toBe("active");
    expect(ironic.observedRequests.filter(({ method }) => method === "PUT")).toHaveLength(1);
  });

  test("a deployment waits for an Ironic that is unreachable for a minute", async () => {
    const { driver, ironic, node, slept } = await started();
    const instance = bareMetal(NODE);
    await driver.prepareForSpawn(instance);
    let away = 30;
    ironic.fault = ({ path }) => {
      if (!path.includes("instance_uuid=") || away === 0) {
        return undefined;
      }
      away -= 1;
      return "refused";
    };
    await driver.spawn(instance, spawnOptions());
    expect(node.provision_state).toBe("active");
    expect(slept).toHaveLength(31);
  });
});

describe("an Ironic that is unreachable for a minute", () => {
  /** Drops thirty requests, beginning with the one of this number (from 0). */
  const away = (ironic: FakeIronic, at: number) => {
    let left = 30;
    ironic.fault = (_, index) => {
      if (index < at || left === 0) {
        return undefined;
      }
      left -= 1;
      return "refused";
    };
  };

  test.each([0, 1, 2, 3, 4, 5])("is waited for at request %i of a deployment", async (at) => {
    const { driver, ironic, node } = await started();
    await driver.prepareForSpawn(bareMetal(NODE));
    ironic.observedRequests.length = 0;
    away(ironic, at);
    await driver.spawn(bareMetal(NODE), spawnOptions());
    expect(node).toMatchObject({ instance_uuid: INSTANCE, provision_state: "active" });
  });

  test.each([0, 1, 2])("is waited for at request %i of a tear-down", async (at) => {
    const { driver, ironic, node } = await started(active);
    away(ironic, at);
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
  });

  test.each([0, 1, 2])("is waited for at request %i of giving a node back", async (at) => {
    const { driver, ironic, node } = await started();
    await driver.prepareForSpawn(bareMetal(NODE));
    ironic.observedRequests.length = 0;
    away(ironic, at);
    await driver.failedSpawnCleanup(bareMetal(NODE));
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
  });
});

describe("8.2 destroy", () => {
  test("tears down as recorded, and an absent instance is success", async () => {
    const { driver, ironic, node } = await started(active);
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(ironic.requests()).toEqual([
      BY_INSTANCE,
      `PUT /v1/nodes/${NODE}/states/provision`,
      BY_INSTANCE,
      BY_INSTANCE,
    ]);
    expect(ironic.observedRequests[1]?.body).toEqual({ target: "deleted" });
    expect(node.instance_uuid).toBeNull();
    ironic.observedRequests.length = 0;
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(ironic.requests()).toEqual([BY_INSTANCE]);
  });

  const TORN = ["active", "deploy failed", "error", "wait call-back", "deploying", "rescue", "rescue failed"];
  test.each(TORN)("%s is torn down", async (provision_state) => {
    const { driver, ironic } = await started({ ...active, provision_state });
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(ironic.requests().filter((request) => /^(PUT|PATCH)/.test(request))).toEqual([
      `PUT /v1/nodes/${NODE}/states/provision`,
    ]);
  });

  test.each(["available", "manageable", "clean failed", "inspect failed"])(
    "%s has only its claim undone",
    async (provision_state) => {
      const { driver, ironic, node } = await started({ ...active, provision_state, vifs: ["p1"] });
      await driver.destroy(bareMetal(NODE), {
        ...DESTROY,
        network: [{ id: "p1", address: "", network: "n", active: false }],
      });
      expect(ironic.requests().filter((request) => /^(PUT|PATCH)/.test(request))).toEqual([`PATCH /v1/nodes/${NODE}`]);
      expect(node).toMatchObject({ instance_uuid: null, vifs: [] });
    },
  );

  test("waits for a node that is already being torn down", async () => {
    const { driver, ironic, node } = await started({ ...active, provision_state: "deleting" });
    let polls = 3;
    ironic.done = () => {
      polls -= 1;
      if (polls === 0) {
        node.instance_uuid = null;
      }
    };
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(ironic.requests().every((request) => request === BY_INSTANCE)).toBe(true);
  });

  test("a lost response does not end it, and an accepted request is not sent again", async () => {
    const { driver, ironic, node } = await started(active);
    ironic.fault = ({ method }) => (method === "PUT" ? "answer lost" : undefined);
    await driver.destroy(bareMetal(NODE), DESTROY);
    expect(node.instance_uuid).toBeNull();
    expect(ironic.observedRequests.filter(({ method }) => method === "PUT")).toHaveLength(1);
  });

  test("gives up after api_max_retries polls", async () => {
    const { driver } = await started({ ...active, provision_state: "deleting" }, { api_max_retries: 3 });
    await expect(driver.destroy(bareMetal(NODE), DESTROY)).rejects.toThrow("after 4 polls");
  });

  test("8.9 OPT a node that a deleted instance still has is torn down, although no host lists it", async () => {
    const { driver, ironic, node } = await started(active);
    expect(await driver.getAvailableNodes({ refresh: true })).toEqual([]);
    expect(await driver.deleteInstanceFiles(bareMetal(NODE))).toBe(true);
    expect(node.instance_uuid).toBeNull();
    expect(await driver.getAvailableNodes({ refresh: true })).toEqual([NODE]);
    ironic.observedRequests.length = 0;
    expect(await driver.deleteInstanceFiles(bareMetal(NODE))).toBe(true);
    expect(ironic.observedRequests.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("the next inventory is based on a fresh read", async () => {
    const { driver, ironic, records } = await started(active);
    records.instances = [INSTANCE];
    await driver.getAvailableNodes({ refresh: true });
    await driver.destroy(bareMetal(NODE), DESTROY);
    ironic.observedRequests.length = 0;
    await driver.getAvailableResource(NODE);
    expect(ironic.requests()).toEqual([`GET /v1/nodes/${NODE}?fields=F`]);
    expect(await driver.listInstanceUuids()).toEqual([]);
  });
});

describe("8.2 power", () => {
  test("on and off as recorded, and the resulting state needs no further request", async () => {
    const { driver, ironic, records } = await started(active);
    records.instances = [INSTANCE];
    await driver.getAvailableNodes({ refresh: true });
    ironic.observedRequests.length = 0;
    await driver.powerOn(bareMetal(NODE));
    expect(ironic.requests()).toEqual([BY_INSTANCE, `PUT /v1/nodes/${NODE}/states/power`, BY_INSTANCE, BY_INSTANCE]);
    expect(ironic.observedRequests[1]?.body).toEqual({ target: "power on" });
    ironic.observedRequests.length = 0;
    expect(await driver.powerState(bareMetal(NODE))).toBe(POWER_STATES.running);
    expect(ironic.observedRequests).toEqual([]);
    await driver.powerOff(bareMetal(NODE));
    expect(await driver.powerState(bareMetal(NODE))).toBe(POWER_STATES.shutdown);
  });

  const targets = (ironic: FakeIronic) =>
    ironic.observedRequests
      .filter(({ method }) => method === "PUT")
      .map(({ body }) => (body as { target: string }).target);

  test.each([
    [{}, ["soft power off"], ["soft rebooting"]],
    [{ no_soft: true }, ["soft power off", "power off"], ["soft rebooting", "rebooting"]],
  ])("softly, where the node can: %j", async (properties, off, rebooted) => {
    const { driver, ironic } = await started({ ...active, power_state: "power on", properties });
    await driver.reboot(bareMetal(NODE), "SOFT");
    expect(targets(ironic)).toEqual(rebooted);
    ironic.observedRequests.length = 0;
    await driver.powerOff(bareMetal(NODE), { timeout: 30 });
    expect(targets(ironic)).toEqual(off);
    expect(ironic.observedRequests.find(({ method }) => method === "PUT")?.body).toMatchObject({ timeout: 30 });
  });

  test("of an instance without a node is InstanceNotFound", async () => {
    const { driver } = await started();
    await expect(driver.powerOn(bareMetal(NODE))).rejects.toMatchObject({ name: "InstanceNotFound" });
    await expect(driver.reboot(bareMetal(NODE), "HARD")).rejects.toMatchObject({ name: "InstanceNotFound" });
    expect(await driver.powerState(bareMetal(NODE))).toBe(POWER_STATES.nostate);
  });
});

describe("8.2 rebuild, rescue", () => {
  test.each([
    [{ vmState: "error", taskState: "rebuild_spawning" }, null],
    [{ vmState: "error", taskState: null }, "InstanceDeployFailure"],
  ] as const)("a rebuild of a server that is %j while its node is deployed", async (states, failure) => {
    const { driver, records } = await started(active);
    records.states = states;
    const error = await driver.rebuild(bareMetal(NODE), spawnOptions()).catch((caught: Error) => caught);
    expect(error?.name ?? null).toBe(failure);
  });

  test("a rebuild keeps the node, and writes the instance info as recorded", async () => {
    const { driver, ironic, node } = await started(active);
    await driver.rebuild(bareMetal(NODE), spawnOptions());
    const [info, put] = ironic.observedRequests.filter(({ body }) => body !== undefined).map(({ body }) => body);
    expect([info]).toEqual((await recordedBodies("rebuild")).slice(0, 1));
    expect(put).toEqual({ target: "rebuild" });
    expect(node).toMatchObject({ instance_uuid: INSTANCE, provision_state: "active" });
  });

  test("rescue and unrescue; unrescue of an instance that is not rescued does nothing", async () => {
    const { driver, ironic, node } = await started(active);
    await driver.rescue(bareMetal(NODE), { image: spawnOptions().image, ...DESTROY });
    expect(node.provision_state).toBe("rescue");
    expect(ironic.observedRequests.find(({ method }) => method === "PUT")?.body).toMatchObject({
      target: "rescue",
      rescue_password: expect.any(String),
    });
    await driver.unrescue(bareMetal(NODE));
    expect(node.provision_state).toBe("active");
    ironic.observedRequests.length = 0;
    await driver.unrescue(bareMetal(NODE));
    expect(ironic.requests()).toEqual([BY_INSTANCE]);
  });
});
