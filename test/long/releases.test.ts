import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

const TINY = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];
const HOSTS = ["devstack1", "devstack2", "devstack3"];

describe("1.2, 6.0 agents of several releases", () => {
  let cloud: LocalCloud;

  beforeEach(async () => {
    cloud = await LocalCloud.start();
  });
  afterEach(() => cloud.dispose());

  const start = (host: string, release: string) => cloud.startAgent(host, { args: ["--release", release, ...MIXED] });

  it("1.2 ServiceTooOld: an older agent must not join, and a newer one joins an old deployment only with an option", async () => {
    await start("devstack1", "queens");
    const rejectionOf = async (...args: string[]) => {
      const agent = await cloud.startAgent("devstack2", { args, wait: false });
      const { code } = await agent.exited;
      expect(code).toBe(3);
      return agent.stderr;
    };
    expect(await rejectionOf("--release", "pike")).toMatch(
      /service-too-old.*version 22.*oldest in the deployment has 30/s,
    );
    expect(await rejectionOf()).toMatch(/service-too-old.*service version 30/s);
    await start("devstack2", "master");
    await cloud.controlPlane.kill();
    await expect(cloud.startControlPlane()).rejects.toThrow(/service version 30/);
    await cloud.startControlPlane("--disable-compute-service-check-for-ffu");
  });

  it("1.5 manage db online_data_migrations runs beside a running cluster", async () => {
    const program = new Program("compute-cluster", [
      "manage",
      "db",
      "online_data_migrations",
      "--state-dir",
      cloud.stateDir,
    ]);
    expect((await program.exited).code).toBe(0);
    expect(program.stdout).toMatch(/migration_uuids\s*\|\s*0\s*\|\s*0/);
  });
});

describe("6.0 compute-agent up --releases", () => {
  let cloud: LocalCloud;
  let cluster: Program;

  beforeEach(async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "compute-agent-"));
    const flags = ["--state-dir", stateDir, "--port", "0", "--releases", "master,pike,queens"];
    cluster = new Program("compute-cluster", ["up", ...flags]);
    await cluster.printed(/Ctrl-C stops all of it/);
    const [, url = ""] = await cluster.printed(/control-plane +ready +(\S+)/);
    cloud = LocalCloud.over(stateDir, url);
  });
  afterEach(async () => {
    await cluster.stop();
    await cloud.dispose();
  });

  it("starts a host of each release, oldest first, and moves servers as in Pike until the Pike host is removed", async () => {
    const ready = [...cluster.stdout.matchAll(/(devstack\d) +ready/g)].map(([, host]) => host);
    expect(ready).toEqual(HOSTS);
    const operator = new Operator(cloud);
    const vm = await operator.boot("vm", { host: "devstack1" });
    await operator.serverIn(vm, "ACTIVE");
    const act = async (body: object) => {
      const { status } = await cloud.compute("POST", `/servers/${vm}/action`, body);
      expect([202, 204]).toContain(status);
    };
    const migrate = async (host: string) => {
      await act({ migrate: { host } });
      await operator.serverIn(vm, "VERIFY_RESIZE");
    };
    const rejectionOf = async (version: string) => {
      const args = ["--service-version", version, ...MIXED];
      const agent = await cloud.startAgent("devstack4", { args, wait: false });
      expect((await agent.exited).code).toBe(3);
      return agent.stderr;
    };

    expect(await rejectionOf("21")).toMatch(/version 21.*oldest in the deployment has 22/s);
    await migrate("devstack3");
    expect(await operator.held(vm, HOSTS)).toEqual({ devstack1: TINY, devstack3: TINY });
    await act({ revertResize: null });
    await operator.serverIn(vm, "ACTIVE");
    expect(await operator.held(vm, HOSTS)).toEqual({ devstack1: TINY });
    await migrate("devstack2");
    await act({ confirmResize: null });
    await operator.serverIn(vm, "ACTIVE");
    await cloud.eventually(
      () => operator.held(vm, HOSTS),
      (held) => !("devstack1" in held),
    );
    expect(await operator.held(vm, HOSTS)).toEqual({ devstack2: TINY });

    await operator.forceDown("devstack1", true);
    await cloud.eventually(
      () => operator.deleteService("devstack1"),
      (status) => status === 204,
    );
    expect(await rejectionOf("22")).toMatch(/version 22.*oldest in the deployment has 30/s);
    await migrate("devstack3");
    const [newest] = await operator.migrations(vm);
    expect(await operator.held(vm, HOSTS)).toEqual({ devstack3: TINY });
    expect(await operator.held(String(newest?.uuid), HOSTS)).toEqual({ devstack2: TINY });
  });
});
