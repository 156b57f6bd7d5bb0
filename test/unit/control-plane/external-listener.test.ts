// Imported first, so that no virtual time passes while it loads.
import "prom-client";
import { expect, it } from "vitest";
import { connectToConductor } from "../../../src/conductor-client/connect-to-conductor.js";
import { type ExternalListener, openExternalListener } from "../../../src/control-plane/external-listener.js";
import { openrc } from "../../../src/control-plane/identity/openrc.js";
import { readClusterInfo } from "../../../src/control-plane/local/state-dir.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { DIRECTORY, openControlPlane } from "../../fixtures/world/control-plane.js";

const runtime = () => createVirtualRuntime();
const LISTENER: ExternalListener = {
  address: "192.0.2.2",
  port: 8775,
  tls: { cert: "", key: "" },
  host: "control.test",
  names: ["control.test", "*.cloud.test"],
  cacert: null,
};
const services = { "/api": async () => ({ status: 200, headers: {}, body: "served" }) };

it("is published with its name, and accepts the names of its certificate and addresses", async () => {
  const world = runtime();
  const { url } = await openExternalListener(LISTENER, { services }, world, (_mount, handler) => handler);
  expect(url).toBe("https://control.test:8775");
  const ask = async (host: string) => {
    const request = { method: "GET", url: "https://192.0.2.2:8775/api", headers: { host } } as const;
    return (await world.runUntil(world.http.request(request))).status;
  };
  for (const host of [
    "control.test:8775",
    "Control.Test",
    "a.cloud.test",
    "192.0.2.2:8775",
    "[2001:db8::2]",
    "localhost",
  ]) {
    expect([host, await ask(host)]).toEqual([host, 200]);
  }
  for (const host of ["evil.test", "cloud.test", "a.b.cloud.test", "test"]) {
    expect([host, await ask(host)]).toEqual([host, 403]);
  }
});

it("reuses its previous port if none is set, or takes another if that is in use", async () => {
  const world = runtime();
  const any = { ...LISTENER, port: 0, lastPort: 4711 };
  const first = await openExternalListener(any, { services }, world, (_mount, handler) => handler);
  expect(first.url).toBe("https://control.test:4711");
  const second = await openExternalListener(any, { services }, world, (_mount, handler) => handler);
  expect(second.url).not.toBe(first.url);
  await expect(
    openExternalListener({ ...LISTENER, port: 4711 }, { services }, world, (_mount, handler) => handler),
  ).rejects.toThrow("4711");
});

it("gives agents the addresses of Placement and Image at their listener, and clients the external one", async () => {
  const world = runtime();
  const externalListener = { ...LISTENER, host: "192.0.2.2", cacert: "/cluster/tls/ca.pem" };
  const { url, externalUrl, stop } = await world.runUntil(openControlPlane({ runtime: world, externalListener }));
  expect(externalUrl).toBe("https://192.0.2.2:8775");
  const joinToken = (await world.files.read(DIRECTORY.joinTokenFile)).trim();
  const getEndpoints = async (where: string) => {
    const connection = connectToConductor({ url: where, joinToken, runtime: world });
    const session = connection.host("devstack1", { lease: false });
    const calls = [session.call("placement_access", {}), session.call("image_access", {})];
    const endpoints = (await world.runUntil(Promise.all(calls))).map(({ endpoint }) => endpoint);
    await world.runUntil(connection.close());
    return endpoints;
  };
  expect(await getEndpoints("wss://192.0.2.2:8775")).toEqual([`${externalUrl}/placement`, `${externalUrl}/image`]);
  expect(await getEndpoints(url)).toEqual([`${url}/placement`, `${url}/image`]);
  const clouds = await world.files.read(DIRECTORY.cloudsFile);
  expect(clouds).toContain(`auth_url: "${externalUrl}/identity/v3"`);
  expect(openrc(clouds, "devstack")).toContain("export OS_CACERT=/cluster/tls/ca.pem");
  expect(await readClusterInfo(world.files, DIRECTORY)).toMatchObject({ url, externalUrl: externalUrl });
  // Metrics need no token, so they are not available externally.
  const metrics = async (where: string) =>
    (await world.runUntil(world.http.request({ method: "GET", url: `${where}/metrics` }))).status;
  expect([await metrics(url), await metrics("https://192.0.2.2:8775")]).toEqual([200, 404]);
  await world.runUntil(stop());
});
