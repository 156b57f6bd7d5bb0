import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../process/support/cloud.js";
import type { Operator } from "../../process/support/operator.js";
import { hasPeer } from "./control-plane.js";
import { RealNova } from "./real-nova.js";

const HOSTS = ["oc1", "oc2", "oc3"] as const;

describe.skipIf(!hasPeer)("servers of a real Nova on our agents", () => {
  let nova: RealNova;
  let operator: Operator;
  beforeAll(async () => {
    nova = await RealNova.start();
    operator = nova.operator;
  });
  afterAll(() => nova?.stop());

  it("A1: three agents are up within two seconds of their start, of the release's service version", async () => {
    await Promise.all(HOSTS.map((host) => nova.startAgent(host)));
    const started = performance.now();
    const services = await eventually(
      async () => Promise.all(HOSTS.map((host) => operator.service(host))),
      (found) => found.every(({ state }) => String(state) === "up"),
    );
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(services.map(({ status }) => status)).toEqual(["enabled", "enabled", "enabled"]);
    await nova.discover();
  });

  it("A2: one server is built where it was asked for, and deleted", async () => {
    const id = await operator.boot("vm1", { host: "oc2" });
    const server = await operator.serverIn(id, "ACTIVE");
    expect(server["OS-EXT-SRV-ATTR:host"]).toBe("oc2");
    expect(await operator.held(id, HOSTS)).toEqual({ oc2: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } });
    expect((await nova.compute("DELETE", `/servers/${id}`)).status).toBe(204);
    await eventually(
      () => nova.compute("GET", `/servers/${id}`),
      ({ status }) => status === 404,
    );
    expect(await operator.held(id, HOSTS)).toEqual({});
  });
});
