import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig, loadHosts } from "../../../../src/cli/agent/load-config.js";
import { type AgentCommandOptions, agentCommand } from "../../../../src/cli/agent/options.js";
import { showConfig } from "../../../../src/config/compile-config.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

/** Parses a command line to options. */
async function parse(...args: string[]): Promise<AgentCommandOptions> {
  let parsed: AgentCommandOptions | undefined;
  const command = agentCommand(async (options) => {
    parsed = options;
  });
  command.configureOutput({ writeErr: () => undefined });
  await command.parseAsync(["node", "compute-agent", ...args]);
  if (parsed === undefined) {
    throw new Error("the command did not run");
  }
  return parsed;
}

it("2.3 files in use are those of --config-file and those of --config-dir", async () => {
  const { files } = new VirtualWorld().spawn();
  await files.write("/etc/nova/nova.conf", "[DEFAULT]\n");
  await files.write("/etc/nova/conf.d/20-b.conf", "[DEFAULT]\nreport_interval = 7\n");
  await files.write("/etc/nova/conf.d/10-a.conf", "[DEFAULT]\nreport_interval = 5\n");
  await files.write("/etc/nova/conf.d/notes.txt", "no configuration");
  const options = await parse("--config-file", "/etc/nova/nova.conf", "--config-dir", "/etc/nova/conf.d");
  const loaded = await loadConfig(options, files, null);
  expect(loaded.configFiles).toEqual([
    "/etc/nova/nova.conf",
    "/etc/nova/conf.d/10-a.conf",
    "/etc/nova/conf.d/20-b.conf",
  ]);
  expect(loaded.compiled.config.defaults.reportInterval).toBe(7);
});

it("reads [oslo_messaging_rabbit] as oslo.messaging does: by deprecated names, and in the query of transport_url", async () => {
  const { files } = new VirtualWorld().spawn();
  const rabbit =
    "rabbit_quroum_max_memory_length = 7\nkombu_ssl_ca_certs = /ca.pem\nheartbeat_timeout_threshold = 20\n";
  const url = "rabbit://u:p@h/nova?ssl=1&heartbeat_timeout_threshold=30&rabbit_use_ssl=yes&unknown=1";
  await files.write("/nova.conf", `[DEFAULT]\ntransport_url = ${url}\n[Oslo_Messaging_Rabbit]\n${rabbit}`);
  const { compiled } = await loadConfig(await parse("--config-file", "/nova.conf"), files, null);
  expect(compiled.config.osloMessagingRabbit).toMatchObject({
    rabbitQuorumMaxMemoryLength: 7,
    sslCaFile: "/ca.pem",
    heartbeatTimeoutThreshold: 30,
    ssl: true,
  });
  expect(compiled.warnings).toEqual([]);
});

it("--metrics-port takes a port, 0 for any", async () => {
  expect((await parse("--metrics-port", "0")).metricsPort).toBe(0);
  expect((await parse("--metrics-port", "65535")).metricsPort).toBe(65_535);
  expect((await parse()).metricsPort).toBeUndefined();
  for (const wrong of ["65536", "-1", "x", "", "1.5"]) {
    await expect(parse(`--metrics-port=${wrong}`)).rejects.toThrow("expected a port");
  }
});

describe("the section of a plugin", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "plugin-section-"));
    await writeFile(
      join(folder, "mine.mjs"),
      `const options = {
        slots: { type: "integer", default: 8, min: 1, help: "Room." },
        password: { type: "text", default: null, secret: true, help: "Of the hypervisor." },
      };
      export const driver = { name: "mine", apiVersion: "1.0", configSchema: { section: "mine", options }, create() {} };`,
    );
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const load = async (...args: string[]) =>
    loadConfig(
      await parse("--compute-driver", join(folder, "mine.mjs"), ...args),
      new VirtualWorld().spawn().files,
      null,
    );

  it("is printed with its values and their origins, except secrets", async () => {
    const { compiled, driverConfig } = await load("-o", "mine.slots=4", "-o", "mine.password=hush");
    expect(showConfig(compiled).filter(({ section }) => section === "mine")).toEqual([
      { section: "mine", option: "slots", value: "4", origin: expect.stringContaining("mine.slots") },
      { section: "mine", option: "password", value: "****", origin: expect.any(String) },
    ]);
    expect(driverConfig).toMatchObject({ slots: 4, password: "hush" });
  });

  it("is validated by its schema before anything starts", async () => {
    await expect(load("-o", "mine.slots=0")).rejects.toThrow(/slots/);
    await expect(load("-o", "mine.slots=many")).rejects.toThrow(/slots/);
  });
});

describe("--host with many names", () => {
  const { files } = new VirtualWorld().spawn();

  it("gives each host a separate state_path, and shares equal sections as one object", async () => {
    const { names, of } = await loadHosts(await parse("--host", "rack[1-2]-node[01-03],spare"), files, null);
    expect(names).toEqual([
      "rack1-node01",
      "rack1-node02",
      "rack1-node03",
      "rack2-node01",
      "rack2-node02",
      "rack2-node03",
      "spare",
    ]);
    const [one, other] = [of("rack1-node01").compiled.config, of("spare").compiled.config];
    expect(one.defaults.statePath).toMatch(/agents\/rack1-node01$/);
    expect(other.defaults).toMatchObject({ host: "spare", statePath: expect.stringMatching(/agents\/spare$/) });
    expect(other.placement).toBe(one.placement);
  });

  it("is rejected if hosts would share a state_path, or another option sets the host", async () => {
    await expect(
      loadHosts(await parse("--host", "a,b", "-o", "state_path=/var/lib/nova"), files, null),
    ).rejects.toThrow(
      "hosts a and b would share [DEFAULT] state_path = /var/lib/nova; each needs a separate one, such as state_path = /var/lib/nova/$host",
    );
    await expect(loadHosts(await parse("--host", "a,b", "-o", "host=c"), files, null)).rejects.toThrow(
      "--host a is overridden by another option, which sets c",
    );
    await loadHosts(await parse("--host", "a,b", "-o", "state_path=/var/lib/nova/$host"), files, null);
  });

  it("is rejected by options that inspect one host", async () => {
    await expect(loadConfig(await parse("--host", "n[1-3]"), files, null)).rejects.toThrow(
      "--host names 3 hosts, expected one: --check and --dry-run need a single host, such as --host n1",
    );
  });
});

it("accepts a nova.conf with unknown scheduler and API options, since it never reads them", async () => {
  const { files } = new VirtualWorld().spawn();
  await files.write(
    "/nova.conf",
    [
      "[filter_scheduler]",
      "enabled_filters = AvailabilityZoneFilter,ComputeFilter,NUMATopologyFilter,PciPassthroughFilter",
      "soft_affinity_weight_multiplier = -1",
      "track_instance_changes = false",
      "[scheduler]",
      "max_attempts = 0",
      "[quota]",
      "driver = nova.quota.UnifiedLimitsDriver",
    ].join("\n"),
  );
  const { compiled } = await loadConfig(await parse("--config-file", "/nova.conf"), files, null);
  expect(compiled.config.filterScheduler.trackInstanceChanges).toBe(false);
  expect([compiled.config.scheduler.maxAttempts, compiled.warnings]).toEqual([3, []]);
  await files.write("/wrong.conf", "[filter_scheduler]\ntrack_instance_changes = perhaps\n");
  await expect(loadConfig(await parse("--config-file", "/wrong.conf"), files, null)).rejects.toThrow(
    "track_instance_changes",
  );
});

it.each([
  ["libvirt.LibvirtDriver", /use fake-libvirt .*\[fake_libvirt\].* or qemu .*-o compute_driver=fake-libvirt/],
  ["nova.virt.libvirt.LibvirtDriver", /use fake-libvirt/],
  ["nova.virt.libvirt.driver.LibvirtDriver", /use fake-libvirt/],
  ["ironic.IronicDriver", /use ironic, which reads \[ironic\]: -o compute_driver=ironic/],
])("suggests the driver that replaces %s", async (name, hint) => {
  const { files } = new VirtualWorld().spawn();
  await files.write("/nova.conf", `[DEFAULT]\ncompute_driver = ${name}\n`);
  await expect(loadConfig(await parse("--config-file", "/nova.conf"), files, null)).rejects.toThrow(hint);
});
