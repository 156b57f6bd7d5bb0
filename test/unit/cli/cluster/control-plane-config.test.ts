import { expect, it } from "vitest";
import { type ControlPlaneFlags, controlPlaneConfig } from "../../../../src/cli/cluster/control-plane-config.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { NOVA_QUOTA } from "../../../fixtures/quota.js";
import { FILTERS, MULTIPLIERS, NO_RULES } from "../../../fixtures/scheduler-rules.js";

async function read(text: string, flags: Partial<ControlPlaneFlags> = {}) {
  const runtime = new VirtualWorld().spawn();
  await runtime.files.write("/etc/nova.conf", text);
  const place = { runtime, cwd: "/etc", stateDir: "/state" };
  return controlPlaneConfig({ configFile: ["nova.conf"], ...flags }, place);
}

it("has Nova's defaults", async () => {
  expect(await read("")).toEqual({
    serviceDownTime: 60,
    auditPeriod: "month",
    crossAzAttach: true,
    reportInterval: 10,
    scheduler: {
      maxAttempts: 3,
      maxPlacementResults: 1000,
      aggregates: NO_RULES,
      filters: FILTERS,
      multipliers: MULTIPLIERS,
    },
    quota: NOVA_QUOTA,
    network: { start: "devstack", dnsDomain: "openstacklocal", quotas: {} },
    blockStorage: {
      backEnds: [{ name: "lvmdriver-1", availabilityZone: "nova", capacity: 10_000 }],
      defaultVolumeType: null,
      storageAvailabilityZone: null,
      maxOverSubscriptionRatio: 20,
      quotas: {
        volumes: 10,
        per_volume_gigabytes: -1,
        snapshots: 10,
        gigabytes: 1000,
        backups: 10,
        backup_gigabytes: 1000,
        groups: 10,
      },
    },
    allowResizeToSameHost: false,
    migrateMaxRetries: -1,
    reclaimInstanceInterval: 0,
    serviceDeletePolicy: "strict",
    upstreamQuirks: new Set(),
    oldestServiceVersion: 72,
  });
});

it("reads nova.conf, which flags override; options of agents are ignored", async () => {
  const text = [
    "[DEFAULT]",
    "service_down_time = 90",
    "reclaim_instance_interval = 100",
    "[scheduler]",
    "max_attempts = 5",
    "[api]",
    "service_delete_policy = cascade",
    "[network]",
    "dns_domain = example.org",
    "[workarounds]",
    "upstream_quirks = all",
    "[fake_libvirt]",
    "vcpus = 4",
    "",
  ].join("\n");
  const config = await read(text, { reclaimInstanceInterval: "7", allowResizeToSameHost: true });
  expect(config).toMatchObject({
    serviceDownTime: 90,
    scheduler: { maxAttempts: 5 },
    allowResizeToSameHost: true,
    reclaimInstanceInterval: 7,
    serviceDeletePolicy: "cascade",
    network: { start: "devstack", dnsDomain: "example.org" },
  });
  expect(config.upstreamQuirks.size).toBeGreaterThan(3);
});

it("reads the back ends of volumes, with devstack's zone and capacity where they name none", async () => {
  const text = "[block_storage]\nback_ends = fast, slow:west:20000\ndefault_volume_type = slow\nquota_volumes = -1\n";
  expect((await read(text)).blockStorage).toMatchObject({
    backEnds: [
      { name: "fast", availabilityZone: "nova", capacity: 10_000 },
      { name: "slow", availabilityZone: "west", capacity: 20_000 },
    ],
    defaultVolumeType: "slow",
    quotas: { volumes: -1 },
  });
  for (const value of ["", "a,a", "a:nova:0", "a:nova:1:2", "a@b"]) {
    await expect(read(`[block_storage]\nback_ends = ${value}\n`), value).rejects.toThrow(/back_ends/);
  }
});

it("2.5 row 2 a down time that is not above report_interval becomes 2.5 times that", async () => {
  expect((await read("[DEFAULT]\nreport_interval = 30\nservice_down_time = 30\n")).serviceDownTime).toBe(75);
});

it("rejects an invalid value, with its option and the allowed values", async () => {
  await expect(read("[api]\nservice_delete_policy = maybe\n")).rejects.toThrow(/service_delete_policy/);
  await expect(read("", { serviceDownTime: "soon" })).rejects.toThrow(/--service-down-time/);
});

it("uses an external Placement when [placement] names one", async () => {
  const { placement } = await read(
    "[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:8778/\ntoken = t\n",
  );
  expect(await placement?.credentials()).toEqual({
    endpoint: "http://127.0.0.1:8778",
    headers: { "x-auth-token": "t" },
  });
});
