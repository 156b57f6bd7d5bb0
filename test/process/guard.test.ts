import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { copyFolder } from "./support/copy-folder.js";
import { filesBelow } from "./support/files-below.js";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import type { Program } from "./support/program.js";

type Past = "nothing" | "no guests" | "guests";

/** Exit code of an agent whose start was rejected; see the README. */
const REJECTED_EXIT_CODE = 3;

describe("the ownership guard, as processes", () => {
  let cloud: LocalCloud;
  let operator: Operator;
  const state = (host: string) => join(cloud.stateDir, "agents", host);
  const hypervisor = (host: string) => join(cloud.stateDir, "hypervisors", host);
  const pointedAt = (host: string) => ["-o", `fake_libvirt.connection_uri=fake-libvirt://${hypervisor(host)}`];

  /** State directories of stopped clusters, to copy: devstack1 has run, without a guest and with one. */
  const templates = new Map<Past, LocalCloud>();
  /** One cluster for each past, shared by the tests that do not change it. */
  const shared = new Map<Past, LocalCloud>();

  beforeAll(async () => {
    shared.set("nothing", await LocalCloud.start());
    await Promise.all((["no guests", "guests"] as const).map(prepare));
  });
  const prepare = async (past: Past): Promise<void> => {
    const made = await LocalCloud.start();
    templates.set(past, made);
    const agent = await made.startAgent("devstack1");
    if (past === "guests") {
      const boots = new Operator(made);
      await boots.serverIn(await boots.boot("vm1"), "ACTIVE");
    }
    await agent.stop();
    await made.controlPlane.stop();
    shared.set(past, await LocalCloud.from(made.stateDir));
  };
  afterAll(() => Promise.all([...templates.values(), ...shared.values()].map((made) => made.dispose())));

  /** Selects a cluster where devstack1 has run, with or without a guest, and was stopped. The test must not change it. */
  const over = (past: Past): void => {
    cloud = shared.get(past) as LocalCloud;
    operator = new Operator(cloud);
  };
  /** Creates such a cluster for this test only, which may change it. */
  const goingOnAfter = async (past: Past): Promise<void> => {
    cloud = await (past === "nothing" ? LocalCloud.start() : LocalCloud.from(templates.get(past)?.stateDir ?? ""));
    onTestFinished(() => cloud.dispose());
    operator = new Operator(cloud);
  };
  /** Starts an agent that runs until the test ends. */
  const running = async (host: string): Promise<Program> => {
    const agent = await cloud.startAgent(host);
    onTestFinished(() => agent.stop());
    return agent;
  };
  /** Changes a file, and restores it when the test ends. */
  const changed = async (file: string, change: (text: string) => string | null): Promise<void> => {
    const before = await readFile(file, "utf8");
    onTestFinished(() => writeFile(file, before));
    const after = change(before);
    await (after === null ? rm(file) : writeFile(file, after));
  };

  /** Starts the agent. Expects a rejection whose message matches each of `words`, and that nothing was changed. */
  const expectRejection = async (host: string, args: readonly string[], words: readonly RegExp[]): Promise<void> => {
    const before = await world();
    const agent = await cloud.startAgent(host, { args, wait: false });
    const { code } = await agent.exited;
    expect(code, agent.stderr).toBe(REJECTED_EXIT_CODE);
    for (const word of words) {
      expect(agent.stderr).toMatch(word);
    }
    expect(agent.stderr).not.toMatch(/^\s+at /m);
    expect(await world()).toEqual(before);
  };

  /** Returns everything that a rejected agent must not change. */
  const world = async () => ({
    guests: await filesBelow(join(cloud.stateDir, "hypervisors")),
    services: Object.values((await cloud.compute("GET", "/os-services?binary=nova-compute")).body.services ?? {}).map(
      (service) => [service.host, service.status, service.forced_down],
    ),
    // Without their state, up or down, which depends on time.
    nodes: Object.values((await cloud.compute("GET", "/os-hypervisors")).body.hypervisors ?? {}).map((node) => [
      node.id,
      node.hypervisor_hostname,
      node.status,
    ]),
    providers: (await cloud.placement("GET", "/resource_providers")).body,
  });

  it("2.4 G1: a plain restart starts", async () => {
    over("guests");
    await running("devstack1");
  });

  it("2.4 G2: another host on the same state directory and hypervisor is rejected", async () => {
    over("guests");
    await expectRejection(
      "devstack9",
      ["-o", `state_path=${state("devstack1")}`, ...pointedAt("devstack1")],
      [/devstack1/, /devstack9/],
    );
  });

  it("2.4 G3: the hypervisor under the same host was renamed", async () => {
    over("guests");
    const file = join(hypervisor("devstack1"), "hypervisor.json");
    await changed(file, (text) => text.replaceAll('"devstack1"', '"renamed"'));
    await expectRejection("devstack1", [], [/devstack1/, /renamed/]);
  });

  it("2.4 G4: the passive agent of a pair, with its own state directory, is rejected before any guest is touched", async () => {
    over("guests");
    await expectRejection("backup1", pointedAt("devstack1"), [/devstack1/, /backup1/]);
  });

  it("2.4 G5: the same is rejected when the hypervisor is empty", async () => {
    over("no guests");
    await expectRejection("backup1", pointedAt("devstack1"), [/devstack1/, /backup1/]);
  });

  it("2.4 G6: a second live agent with the same host is rejected, and the first continues", async () => {
    over("nothing");
    const first = await running("devstack1");
    await expectRejection("devstack1", [], [new RegExp(`pid ${first.pid}`)]);
    expect(first.running).toBe(true);
  });

  it("2.4 G6: after kill -9 a new agent takes the host at once", async () => {
    over("nothing");
    const first = await cloud.startAgent("devstack1");
    await first.kill();
    await running("devstack1");
  });

  it("2.4 G7: compute_id deleted after the first start", async () => {
    over("guests");
    await changed(join(state("devstack1"), "compute_id"), () => null);
    await expectRejection("devstack1", [], [/compute_id/]);
  });

  it("2.4 G8: compute_id cloned from another host", async () => {
    over("no guests");
    const second = await cloud.startAgent("devstack2");
    await second.stop();
    await cp(join(state("devstack1"), "compute_id"), join(state("devstack2"), "compute_id"));
    await expectRejection("devstack2", [], [/devstack1/, /devstack2/]);
  });

  it("2.4 G9: an empty database, and guests on the hypervisor", async () => {
    over("guests");
    const other = await LocalCloud.start();
    try {
      const agent = await other.startAgent("devstack1", { args: pointedAt("devstack1"), wait: false });
      expect((await agent.exited).code, agent.stderr).toBe(REJECTED_EXIT_CODE);
      expect((await other.compute("GET", "/os-services?binary=nova-compute")).body.services).toEqual([]);
    } finally {
      await other.dispose();
    }
  });

  it("2.4 G10: the service was deleted through the API, and a guest is on the hypervisor", async () => {
    await goingOnAfter("nothing");
    const first = await cloud.startAgent("devstack1");
    await cloud.startAgent("devstack2");
    const server = await operator.boot("vm1", { host: "devstack1" });
    await operator.serverIn(server, "ACTIVE");
    await first.kill();
    await operator.forceDown("devstack1", true);
    await operator.evacuate(server, "devstack2");
    await operator.serverIn(server, "ACTIVE");
    expect(await operator.deleteService("devstack1")).toBe(204);
    await expectRejection("devstack1", [], [/guest/, new RegExp(server)]);
  });

  it("2.4 G11: the service was deleted, and there is no guest: service, node and provider are created again, with the same uuid", async () => {
    await goingOnAfter("no guests");
    const before = await operator.provider("devstack1");
    expect(await operator.deleteService("devstack1")).toBe(204);
    expect((await operator.provider("devstack1")).uuid).toBe("undefined");
    await cloud.startAgent("devstack1");
    expect((await operator.provider("devstack1")).uuid).toBe(before.uuid);
    expect(String((await operator.service("devstack1")).state)).toBe("up");
  });

  it("2.4 G12: another compute_id for the same host and node", async () => {
    over("no guests");
    await changed(join(state("devstack1"), "compute_id"), () => "7f1f0a6e-2f4f-4f39-9d49-0c6b5d3d4a11\n");
    await expectRejection("devstack1", [], [/7f1f0a6e-2f4f-4f39-9d49-0c6b5d3d4a11/, /compute_id/]);
  });

  it("2.4 G13: a guest of another host's instance, without an evacuation, is left alone", async () => {
    await goingOnAfter("no guests");
    const second = await cloud.startAgent("devstack2");
    const server = await operator.boot("vm1", { host: "devstack2" });
    await operator.serverIn(server, "ACTIVE");
    await second.stop();
    for (const folder of ["domains", "state", "instances"]) {
      await copyFolder(join(hypervisor("devstack2"), folder), join(hypervisor("devstack1"), folder));
    }
    const before = await filesBelow(hypervisor("devstack1"));
    expect(Object.keys(before)).toContain(join("domains", `${server}.xml`));
    await cloud.startAgent("devstack1");
    expect(await filesBelow(hypervisor("devstack1"))).toEqual(before);
  });

  it("--dry-run reports the rejection, with the same exit code", async () => {
    over("guests");
    const before = await world();
    const agent = await cloud.startAgent("backup2", { args: [...pointedAt("devstack1"), "--dry-run"], wait: false });
    expect((await agent.exited).code, agent.stderr).toBe(REJECTED_EXIT_CODE);
    expect(await world()).toEqual(before);
  });

  it("the identity file is written once and not replaced", async () => {
    over("no guests");
    const first = await readFile(join(state("devstack1"), "compute_id"), "utf8");
    const agent = await cloud.startAgent("devstack1");
    await agent.stop();
    expect(await readFile(join(state("devstack1"), "compute_id"), "utf8")).toBe(first);
  });
});
