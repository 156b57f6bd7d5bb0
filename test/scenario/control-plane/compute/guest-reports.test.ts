import { beforeEach, describe, expect, test } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let instance: Instance;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  instance = world.server("devstack1");
});

function diagnosticsAt(version: number, token?: string) {
  return world.ask({ url: `/compute/v2.1/servers/${instance.uuid}/diagnostics`, version, token });
}

describe("6.10 console output", () => {
  const read = (body: unknown = {}, token?: string) => world.act(instance, { "os-getConsoleOutput": body }, 1, token);

  test("is the agent's reply without characters that XML does not allow", async () => {
    world.agentReplies.get_console_output = "a\u0000\u001bb\r\nc\td\n";
    const reply = await read({ length: "10" });
    expect([reply.status, reply.json()]).toEqual([200, { output: "ab\nc\td\n" }]);
    expect(world.calls.at(-1)).toMatchObject({ host: "devstack1", params: { tailLength: 10 } });
    await read({ length: null });
    expect(world.calls.at(-1)).toMatchObject({ params: { tailLength: null } });
    await read({ length: "99999999999999999999" });
    expect(world.calls.at(-1)).toMatchObject({ params: { tailLength: 2 ** 31 - 1 } });
  });

  test("rejects an invalid length with 400", async () => {
    for (const length of ["ten", -2, 1.5, {}]) {
      expect((await read({ length })).status).toBe(400);
    }
  });

  test("is 404 if the server has moved, 409 without a host or agent, and 501 without driver support", async () => {
    expect([(await read()).status, (await read()).message]).toEqual([
      501,
      "The requested functionality is not supported.",
    ]);
    world.agentReplies.get_console_output = new ConductorError("InstanceNotFound", "Instance could not be found.");
    expect((await read()).status).toBe(404);
    world.agentResponds = false;
    expect((await read()).status).toBe(409);
    instance = world.server(null);
    const reply = await read();
    expect([reply.status, reply.message]).toEqual([409, `Instance ${instance.uuid} is not ready`]);
  });

  test("of another project's server is a 404", async () => {
    expect((await read({}, await world.token("demo"))).status).toBe(404);
  });
});

describe("6.10 diagnostics", () => {
  test("are the driver's own counters before 2.48, and have one format since", async () => {
    world.agentReplies.get_diagnostics = { cpu0_time: 17, memory: 512 };
    world.agentReplies.get_instance_diagnostics = {
      state: "running",
      driver: "libvirt",
      hypervisor: "qemu",
      hypervisorOs: "linux",
      uptime: 5,
      configDrive: true,
      memoryDetails: { maximum: 512, used: 100 },
      cpuDetails: [{ id: 0, time: 17, utilisation: null }],
      nicDetails: [],
      diskDetails: [{ readBytes: 1, readRequests: 2, writeBytes: 3, writeRequests: 4, errorsCount: -1 }],
    };
    expect((await diagnosticsAt(47)).json()).toEqual({ cpu0_time: 17, memory: 512 });
    expect((await diagnosticsAt(48)).json()).toEqual({
      state: "running",
      driver: "libvirt",
      hypervisor: "qemu",
      hypervisor_os: "linux",
      uptime: 5,
      config_drive: true,
      num_cpus: 1,
      num_nics: 0,
      num_disks: 1,
      memory_details: { maximum: 512, used: 100 },
      cpu_details: [{ id: 0, time: 17, utilisation: null }],
      nic_details: [],
      disk_details: [{ read_bytes: 1, read_requests: 2, write_bytes: 3, write_requests: 4, errors_count: -1 }],
    });
  });

  test("of a guest that is not running are 409 with Nova's message; only administrators may read them", async () => {
    const data = { attr: "power state", state: "shutdown", instance_uuid: instance.uuid };
    world.agentReplies.get_diagnostics = new ConductorError("InstanceInvalidState", "it is shut down", data);
    const reply = await diagnosticsAt(1);
    expect([reply.status, reply.message]).toEqual([
      409,
      `Cannot 'get_diagnostics' instance ${instance.uuid} while it is in power state shutdown`,
    ]);
    instance = world.server("devstack1", { projectId: world.projectId("demo") });
    expect((await diagnosticsAt(1, await world.token("demo"))).status).toBe(403);
  });
});

describe("6.10 uptime of a host", () => {
  const UPTIME = " 12:00:00 up 3 days,  2:01,  0 users,  load average: 0.00, 0.00, 0.00\n";
  const hypervisor = (path: string, version: number) =>
    world.ask({ url: `/compute/v2.1/os-hypervisors/${path}`, version });

  test("has a separate path before 2.88 and is a property of the hypervisor since", async () => {
    world.agentReplies.get_host_uptime = UPTIME;
    expect((await hypervisor("1/uptime", 1)).json()).toEqual({
      hypervisor: { id: 1, hypervisor_hostname: "devstack1", state: "up", status: "enabled", uptime: UPTIME },
    });
    const { id } = (await hypervisor("detail", 88)).json("hypervisors", 0) as { readonly id: string };
    expect((await hypervisor(`${id}/uptime`, 88)).status).toBe(404);
    expect((await hypervisor("detail", 88)).json("hypervisors", 0, "uptime")).toBe(UPTIME);
    expect((await hypervisor(id, 88)).json("hypervisor", "uptime")).toBe(UPTIME);
  });

  test("is null if the driver does not report it, the host is down, or its agent does not reply", async () => {
    expect((await hypervisor("1/uptime", 1)).status).toBe(501);
    expect((await hypervisor("detail", 88)).json("hypervisors", 0, "uptime")).toBeNull();
    world.agentReplies.get_host_uptime = UPTIME;
    world.agentResponds = false;
    expect((await hypervisor("detail", 88)).json("hypervisors", 0, "uptime")).toBeNull();
    world.fence("devstack1");
    const reply = await hypervisor("1/uptime", 1);
    expect([reply.status, reply.message]).toEqual([400, "Compute service of devstack1 is unavailable at this time."]);
    world.calls.length = 0;
    await hypervisor("detail", 88);
    expect(world.calls).toEqual([]);
  });
});
