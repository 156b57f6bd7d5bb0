import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiResponse } from "./support/cloud.js";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";

const HOSTS = ["devstack1", "devstack2", "devstack3"];
const BUILDS = 150;
const DELETES = 50;

describe("kill -9 of the control plane in the middle of 200 concurrent builds and deletes", () => {
  let cloud: LocalCloud;
  let operator: Operator;

  beforeEach(async () => {
    cloud = await LocalCloud.start();
    operator = new Operator(cloud);
  });
  afterEach(() => cloud.dispose());

  it("loses no acknowledged request, and allocations equal instances after two passes", async () => {
    const quick = ["-o", "update_resources_interval=1", "-o", "periodic_fuzzy_delay=0", "-o", "fake_libvirt.vcpus=200"];
    await Promise.all(HOSTS.map((host) => cloud.startAgent(host, { args: quick })));
    const first = await Promise.all(Array.from({ length: DELETES }, (_, index) => operator.boot(`old-${index}`)));
    await operator.serversIn(first, "ACTIVE");
    const image = await operator.image();

    // A request is either acknowledged or fails with the process; only acknowledged ones must be durable.
    const ended = (request: Promise<ApiResponse>) => request.catch(() => undefined);
    const builds = Array.from({ length: BUILDS }, (_, index) =>
      ended(
        cloud.compute("POST", "/servers", {
          server: { name: `new-${index}`, flavorRef: "1", imageRef: image, networks: "none" },
        }),
      ),
    );
    const deletes = first.map((id) => ended(cloud.compute("DELETE", `/servers/${id}`)));
    // Killed once a third of the requests have responses.
    let responseCount = 0;
    await new Promise<void>((resolve) => {
      for (const request of [...builds, ...deletes]) {
        void request.then(() => {
          responseCount += 1;
          if (responseCount === 66) {
            resolve();
          }
        });
      }
    });
    await cloud.controlPlane.kill();
    const built = (await Promise.all(builds)).filter((response) => response?.status === 202);
    const deleteResponses = await Promise.all(deletes);
    expect(built.length).toBeGreaterThan(0);

    await cloud.startControlPlane();
    const ids = built.map((response) => String(response?.body.server?.id));
    await operator.serversIn(ids, "ACTIVE");
    for (const [index, id] of first.entries()) {
      if (deleteResponses[index]?.status === 204) {
        await cloud.eventually(
          () => cloud.compute("GET", `/servers/${id}`),
          (response) => response.status === 404,
        );
      }
    }

    const expected = async () => {
      const servers = Object.values((await cloud.compute("GET", "/servers/detail?all_tenants=1")).body.servers ?? {});
      return new Map(
        HOSTS.map((host) => [host, servers.filter((server) => String(server["OS-EXT-SRV-ATTR:host"]) === host)]),
      );
    };
    for (const host of HOSTS) {
      const { uuid } = await operator.provider(host);
      await cloud.eventually(
        async () => {
          const held = Object.keys(
            (await cloud.placement("GET", `/resource_providers/${uuid}/allocations`)).body.allocations ?? {},
          );
          const here = ((await expected()).get(host) ?? []).map((server) => String(server.id));
          return { held: held.sort(), here: here.sort() };
        },
        ({ held, here }) => held.join() === here.join(),
      );
    }
  });
});
