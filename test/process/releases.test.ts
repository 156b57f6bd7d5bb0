import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import { Program } from "./support/program.js";

const TINY = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];
const HOSTS = ["devstack1", "devstack2", "devstack3"];

describe("1.2, 6.0 agents of several releases", () => {
  let cloud: LocalCloud;
  let operator: Operator;

  beforeEach(async () => {
    cloud = await LocalCloud.start();
    operator = new Operator(cloud);
  });
  afterEach(() => cloud.dispose());

  const start = (host: string, release: string) => cloud.startAgent(host, { args: ["--release", release, ...MIXED] });
  const act = async (id: string, body: object) => {
    const { status } = await cloud.compute("POST", `/servers/${id}/action`, body);
    expect([202, 204]).toContain(status);
  };
  const migrate = async (id: string, host: string) => {
    await act(id, { migrate: { host } });
    await operator.serverIn(id, "VERIFY_RESIZE");
  };

  it("moves the Pike way while one is of Pike, and the Queens way when it is gone", async () => {
    const pike = await start("devstack1", "pike");
    await start("devstack2", "queens");
    await start("devstack3", "master");
    const vm1 = await operator.boot("vm1", { host: "devstack2" });
    await operator.serverIn(vm1, "ACTIVE");
    await migrate(vm1, "devstack3");
    expect(await operator.held(vm1, HOSTS)).toEqual({ devstack2: TINY, devstack3: TINY });
    await act(vm1, { confirmResize: null });
    await operator.serverIn(vm1, "ACTIVE");
    await cloud.eventually(
      () => operator.held(vm1, HOSTS),
      (held) => Object.keys(held).length === 1,
    );
    expect(await operator.held(vm1, HOSTS)).toEqual({ devstack3: TINY });
    await migrate(vm1, "devstack2");
    await act(vm1, { revertResize: null });
    await operator.serverIn(vm1, "ACTIVE");
    expect(await operator.held(vm1, HOSTS)).toEqual({ devstack3: TINY });

    await pike.stop();
    const { id } = await operator.service("devstack1");
    expect((await cloud.compute("DELETE", `/os-services/${id}`)).status).toBe(204);
    await migrate(vm1, "devstack2");
    const [newest] = await operator.migrations(vm1);
    expect(await operator.held(vm1, HOSTS)).toEqual({ devstack2: TINY });
    expect(await operator.held(String(newest?.uuid), HOSTS)).toEqual({ devstack3: TINY });
  });

  it("1.2 ServiceTooOld: an older one may not join, and a newer one joins an old deployment only on purpose", async () => {
    await start("devstack1", "queens");
    const refused = async (...args: string[]) => {
      const agent = await cloud.startAgent("devstack2", { args, wait: false });
      const { code } = await agent.exited;
      expect(code).toBe(3);
      return agent.stderr;
    };
    expect(await refused("--release", "pike")).toMatch(/service-too-old.*version 22.*oldest in the deployment has 30/s);
    expect(await refused()).toMatch(/service-too-old.*service version 30/s);
    await start("devstack2", "master");
    await cloud.controlPlane.kill();
    await expect(cloud.startControlPlane()).rejects.toThrow(/service version 30/);
    await cloud.startControlPlane("--disable-compute-service-check-for-ffu");
  });

  it("1.5 db online-data-migrations runs beside a running cluster", async () => {
    const program = new Program("compute-cluster", ["db", "online-data-migrations", "--state-dir", cloud.stateDir]);
    expect((await program.exited).code).toBe(0);
    expect(program.stdout).toMatch(/migration_uuids\s*\|\s*0\s*\|\s*0/);
  });
});
