import { describe, expect, it } from "vitest";
import { eventually } from "../../process/support/cloud.js";
import { hasPeer } from "./control-plane.js";
import { OC_HOSTS, withOcHosts, withPreferredHost } from "./oc-hosts.js";
import { useRealNova } from "./use-real-nova.js";
import { hostsTried, idle } from "./waiting.js";

const DISABLED = "COMPUTE_STATUS_DISABLED";

describe.skipIf(!hasPeer)("hosts", () => {
  const cloud = useRealNova();
  withOcHosts(cloud);

  it("A8: a build that fails on the first host is retried on another", async () => {
    const nova = cloud();
    let id = "";
    await withPreferredHost(nova, "driver.spawn=fail:once", async () => {
      id = await nova.operator.boot("second-choice");
      await idle(nova, id, "ACTIVE");
    });
    const server = await nova.operator.server(id);
    const host = String(server["OS-EXT-SRV-ATTR:host"]);
    expect(OC_HOSTS).toContain(host);
    expect(await hostsTried(nova, id)).toEqual(["big1", host]);
    expect(Object.keys(await nova.operator.held(id, OC_HOSTS))).toEqual([host]);
    await nova.remove(id);
  });

  it("A8: a build that fails on all hosts ends in ERROR, with a fault that explains it, without allocations", async () => {
    const nova = cloud();
    await Promise.all(OC_HOSTS.map((host) => nova.setFault(host, "driver.spawn=fail:once")));
    const id = await nova.operator.boot("nowhere");
    const server = await idle(nova, id, "ERROR");
    expect(String(server.fault?.message)).toMatch(/Exceeded maximum number of retries/);
    expect(await nova.operator.held(id, OC_HOSTS)).toEqual({});
    await nova.remove(id);
  });

  it("A9: a disabled service has the trait until it is enabled", async () => {
    const nova = cloud();
    const { id } = await nova.operator.service("oc3");
    const { uuid } = await nova.operator.provider("oc3");
    const traits = async () => {
      const { body } = await nova.placement("GET", `/resource_providers/${uuid}/traits`);
      return Object.values(body.traits ?? {}).map(String);
    };
    expect(await traits()).not.toContain(DISABLED);
    expect((await nova.compute("PUT", `/os-services/${id}`, { status: "disabled" })).status).toBe(200);
    expect(await traits()).toContain(DISABLED);
    expect((await nova.compute("PUT", `/os-services/${id}`, { status: "enabled" })).status).toBe(200);
    expect(await traits()).not.toContain(DISABLED);
  });

  it("A9: hypervisors are listed and shown, with and without uptime", async () => {
    const nova = cloud();
    for (const version of ["2.1", "2.53", "2.87", "2.88", "2.93"]) {
      const { status, body } = await nova.compute("GET", "/os-hypervisors/detail", undefined, version);
      expect(status, version).toBe(200);
      const found = Object.values(body.hypervisors ?? {}).filter(({ service }) => /^oc\d$/.test(String(service?.host)));
      expect(found.map(({ state, status: enabled }) => [state, enabled])).toEqual(
        OC_HOSTS.map(() => ["up", "enabled"]),
      );
      for (const { id } of found) {
        expect((await nova.compute("GET", `/os-hypervisors/${id}`, undefined, version)).status).toBe(200);
      }
    }
  });

  it("A9: an aggregate sets its host's availability zone and its provider's aggregate", async () => {
    const nova = cloud();
    const made = await nova.compute("POST", "/os-aggregates", {
      aggregate: { name: "cellar", availability_zone: "down-there" },
    });
    const { id, uuid: aggregate } = made.body.aggregate ?? {};
    const change = (body: object) => nova.compute("POST", `/os-aggregates/${id}/action`, body);
    expect((await change({ add_host: { host: "oc3" } })).status).toBe(200);
    const { uuid } = await nova.operator.provider("oc3");
    const aggregates = async () =>
      (await nova.placement("GET", `/resource_providers/${uuid}/aggregates`)).body.aggregates;
    expect(await aggregates()).toEqual([aggregate]);
    const { body } = await nova.compute("GET", "/os-availability-zone/detail");
    const zones = Object.values(body.availabilityZoneInfo ?? {});
    const cellar = zones.find(({ zoneName }) => String(zoneName) === "down-there");
    expect(Object.keys(cellar?.hosts ?? {})).toEqual(["oc3"]);
    const server = await nova.compute("POST", "/servers", {
      server: {
        ...{ name: "in-the-cellar", flavorRef: "1", imageRef: await nova.operator.image(), networks: "none" },
        availability_zone: "down-there",
      },
    });
    const vm = String(server.body.server?.id);
    const built = await idle(nova, vm, "ACTIVE");
    expect(String(built["OS-EXT-SRV-ATTR:host"])).toBe("oc3");
    expect(String(built["OS-EXT-AZ:availability_zone"])).toBe("down-there");
    await nova.remove(vm);
    expect((await change({ remove_host: { host: "oc3" } })).status).toBe(200);
    await eventually(aggregates, (found) => Object.keys(found ?? {}).length === 0);
    expect((await nova.compute("DELETE", `/os-aggregates/${id}`)).status).toBe(200);
  });
});
