import { expect, it } from "vitest";
import { type CheckReport, checkStart } from "../../../../../src/cli/agent/check/print-check.js";
import { loadConfig } from "../../../../../src/cli/agent/load-config.js";
import { VirtualWorld } from "../../../../../src/simulation/virtual-world.js";
import { JOIN_TOKEN, startInProcessConductor } from "../../../../fixtures/in-process-conductor.js";
import { TestPlacement } from "../../../../fixtures/world/placement.js";

async function createHarness({ joinToken = JOIN_TOKEN }: { readonly joinToken?: string } = {}) {
  const world = new VirtualWorld({ seed: 7 });
  const conductor = await startInProcessConductor(world, {
    conductor: {
      placementAccess: () => ({ endpoint: "http://127.0.0.1:8778", token: "admin", expiresAt: world.now + 60_000 }),
    },
  });
  await new TestPlacement(conductor.runtime).listen(conductor.runtime, 8778);
  const runtime = world.spawn({ name: "check" });
  await runtime.files.write("/cluster/join-token", joinToken);
  await runtime.files.write(
    "/etc/nova.conf",
    `[DEFAULT]\nhost = h\n[conductor]\nurl = ${conductor.url}\n[fake_libvirt]\nconnection_uri = fake-libvirt:///hypervisors/h\n`,
  );
  const loaded = await loadConfig(
    { configFile: ["/etc/nova.conf"], configDir: [], option: [], stateDir: "/cluster", logFormat: "pretty" },
    runtime.files,
    null,
  );
  const deps = { runtime, connectToBroker: () => expect.fail("there is no broker"), serviceVersion: undefined };
  const limits = { limit: 8_000, signal: new AbortController().signal };
  const check = () => world.runUntil(checkStart(loaded, deps, limits));
  return { world, conductor, runtime, check };
}

function part({ parts }: CheckReport, name: string) {
  return parts.find((each) => each.name === name);
}

it("--check of a new host under compute-cluster finds all, and makes nothing", async () => {
  const { check, conductor, runtime } = await createHarness();
  const report = await check();
  expect(report).toMatchObject({ host: "h", controlPlane: "compute-cluster", outcome: "starts" });
  expect(report.parts.map(({ name, state }) => `${name} ${state}`)).toEqual([
    "conductor ok",
    "placement ok",
    "service ok",
    "hypervisor ok",
    "identity ok",
    "provider ok",
    "lease ok",
  ]);
  expect(conductor.store.services.list()).toEqual([]);
  expect(conductor.store.leases.get("h")).toBeNull();
  expect(await runtime.files.stat("/cluster/agents")).toBeUndefined();
  expect(await runtime.files.stat("/hypervisors")).toBeUndefined();
});

it("--check names the agent that has the host, and when a lost one's lease ends", async () => {
  const { check, conductor, world } = await createHarness();
  const other = conductor.agent("h");
  await world.runUntil(other.session.acquireLease());
  const held = await check();
  expect(held.outcome).toBe("fails");
  expect(part(held, "lease")?.found).toContain(`pid ${other.runtime.processes.pid} on machine`);
  other.runtime.kill();
  await world.advance(1_000);
  expect(part(await check(), "lease")).toMatchObject({
    state: "waits",
    hint: expect.stringContaining("it ends by itself in"),
  });
});

it("--check tells a control plane that is away from one that refuses the join token", async () => {
  const { check, conductor, world } = await createHarness();
  conductor.kill();
  const began = world.now;
  const away = await check();
  expect(away).toMatchObject({
    outcome: "waits",
    parts: [{ name: "conductor", state: "waits" }, {}, {}, {}, {}, {}, {}],
  });
  expect(part(away, "conductor")?.found).toContain(conductor.url.replace("http", "ws"));
  expect(part(away, "conductor")?.hint).toContain("compute-agent up");
  expect(world.now - began).toBeLessThan(10_000);
  const rejectedReport = await (await createHarness({ joinToken: "another" })).check();
  expect(part(rejectedReport, "conductor")).toMatchObject({ state: "fails" });
  expect(JSON.stringify(rejectedReport)).not.toContain("another");
});
