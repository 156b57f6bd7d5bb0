import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { GoldenRun } from "./golden/golden-run.js";
import { expectAsRecorded } from "./golden/manage.js";
import { filesBelow } from "./support/files-below.js";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import type { Program } from "./support/program.js";

const HOSTS = ["devstack1", "devstack2", "devstack3"] as const;

let cloud: LocalCloud;
let operator: Operator;
beforeEach(async () => {
  cloud = await LocalCloud.start("--allow-resize-to-same-host");
  operator = new Operator(cloud);
});
afterEach(() => cloud.dispose());

function startAgent(host: string): Promise<Program> {
  return cloud.startAgent(host, {
    args: [
      ...["-o", "fake_libvirt.delay_live_migration=2"],
      ...["-o", "allow_resize_to_same_host=true"],
      ...["-o", "fake_libvirt.allow_disk_shrink=true"],
      // The scheduler prefers the host with most memory: where it chose by lot in the recording, it has no choice here.
      ...["-o", `fake_libvirt.memory_mb=${host === "devstack3" ? 16_384 : 32_768}`],
    ],
  });
}

async function act(id: string, body: object, status = 202, version = "2.90"): Promise<void> {
  const answer = await cloud.compute("POST", `/servers/${id}/action`, body, version);
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
}

async function setStatus(host: string, status: "enabled" | "disabled"): Promise<void> {
  const { id } = await operator.service(host);
  const answer = await cloud.compute("PUT", `/os-services/${id}`, { status }, "2.90");
  expect(answer.status).toBe(200);
}

async function deleteService(host: string): Promise<unknown> {
  const { id } = await operator.service(host);
  const answer = await cloud.compute("DELETE", `/os-services/${id}`, undefined, "2.90");
  expect(answer.status).toBe(409);
  return answer.body.conflictingRequest?.message;
}

async function liveMigrationOf(id: string): Promise<number> {
  const answer = await cloud.eventually(
    () => cloud.compute("GET", `/servers/${id}/migrations`, undefined, "2.90"),
    ({ body }) => body.migrations?.[0]?.status === ("running" as unknown),
  );
  return Number(answer.body.migrations?.[0]?.id);
}

it("moves, is cleaned up and healed as the real Nova was recorded to be, a01 to a28", async () => {
  const agents = new Map(await Promise.all(HOSTS.map(async (host) => [host, await startAgent(host)] as const)));
  const golden = new GoldenRun(cloud);
  await golden.begin("a01");
  const vm1 = await operator.boot("vm1", { host: "devstack1" });
  await golden.reaches("a02");

  await act(vm1, { migrate: { host: "devstack2" } }, 202, "2.56");
  await golden.reaches("a03");
  await act(vm1, { confirmResize: null }, 204, "2.1");
  await golden.reaches("a04");
  await act(vm1, { migrate: { host: "devstack3" } });
  await golden.reaches("a05");
  await act(vm1, { revertResize: null }, 202, "2.1");
  await golden.reaches("a06");

  await setStatus("devstack2", "disabled");
  await act(vm1, { resize: { flavorRef: "2" } }, 202, "2.1");
  await golden.reaches("a07");
  await act(vm1, { confirmResize: null }, 204, "2.1");
  await golden.reaches("a08");

  await setStatus("devstack2", "enabled");
  await setStatus("devstack2", "disabled");
  await setStatus("devstack3", "disabled");
  await act(vm1, { resize: { flavorRef: "1" } });
  await golden.reaches("a09");
  await act(vm1, { revertResize: null }, 202, "2.1");
  await golden.reaches("a10");
  await act(vm1, { resize: { flavorRef: "1" } });
  await golden.reaches("a11");
  await act(vm1, { confirmResize: null }, 204);
  await golden.reaches("a12");
  await act(vm1, { migrate: null });
  await golden.reaches("a13");

  for (const host of HOSTS) {
    await setStatus(host, "enabled");
  }
  await act(vm1, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } }, 202, "2.56");
  await golden.reaches("a14");
  await golden.reaches("a15");
  await act(vm1, { "os-migrateLive": { host: "devstack3", block_migration: "auto" } });
  const aborted = await liveMigrationOf(vm1);
  expect((await cloud.compute("DELETE", `/servers/${vm1}/migrations/${aborted}`, undefined, "2.90")).status).toBe(202);
  await golden.reaches("a16");

  await act(vm1, { "os-migrateLive": { host: "devstack1", block_migration: "auto" } });
  await liveMigrationOf(vm1);
  await operator.serverIn(vm1, "ACTIVE");
  const vm2 = await operator.boot("vm2", { host: "devstack2" });
  await operator.serverIn(vm2, "ACTIVE");
  expect(await deleteService("devstack2")).toBe(
    "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
  );
  await golden.reaches("a17");
  await act(vm2, { migrate: { host: "devstack3" } });
  await operator.serverIn(vm2, "VERIFY_RESIZE");
  expect(await deleteService("devstack2")).toBe(
    "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
  );
  expect(await deleteService("devstack3")).toBe(
    "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
  );
  await golden.reaches("a18");
  await act(vm2, { confirmResize: null }, 204);
  await operator.serverIn(vm2, "ACTIVE");
  expect((await cloud.compute("DELETE", `/servers/${vm2}`)).status).toBe(204);
  await golden.reaches("a19");

  await agents.get("devstack1")?.kill();
  await act(vm1, { evacuate: { host: "devstack2" } }, 400);
  await golden.reaches("a20");
  expect(await operator.forceDown("devstack1", true)).toBe(200);
  await act(vm1, { evacuate: { host: "devstack2" } }, 200, "2.29");
  await golden.reaches("a21");

  const { uuid: devstack1 } = await operator.provider("devstack1");
  const { uuid: devstack2 } = await operator.provider("devstack2");
  const { project_id, user_id } = (await cloud.placement("GET", `/allocations/${vm1}`)).body;
  expect(await operator.deleteService("devstack1")).toBe(204);
  await golden.reaches("a22");
  await expectAsRecorded(cloud, "audit-residual", "audit");
  const allocations = { [devstack2]: { resources: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } } };
  const set = { allocations, project_id, user_id };
  expect((await cloud.placement("PUT", `/allocations/${vm1}`, set, "1.12")).status).toBe(204);
  await golden.reaches("a23");
  expect((await cloud.placement("DELETE", `/resource_providers/${devstack1}`)).status).toBe(404);
  await golden.reaches("a24");
  expect((await operator.service("devstack1")).id).toBeUndefined();
  await golden.reaches("a25");
  expect((await cloud.placement("DELETE", `/allocations/${vm1}`)).status).toBe(204);
  await golden.reaches("a26");
  await expectAsRecorded(cloud, "heal-dry-run", "heal_allocations", "--instance", vm1, "--dry-run");
  await expectAsRecorded(cloud, "heal-verbose", "heal_allocations", "--instance", vm1);
  await golden.reaches("a27");
  await expectAsRecorded(cloud, "heal-all", "heal_allocations");

  // Nova destroyed the guest of a host whose service was deleted (a28); here it is nobody's to destroy (2.4 G10).
  const hypervisor = join(cloud.stateDir, "hypervisors", "devstack1");
  const guests = await filesBelow(hypervisor);
  const back = await cloud.startAgent("devstack1", { wait: false });
  expect((await back.exited).code).toBe(3);
  expect(back.stdout + back.stderr).toContain(vm1);
  await golden.reaches("a27");
  expect(await filesBelow(hypervisor)).toEqual(guests);
  await expectAsRecorded(cloud, "audit-after-return", "audit");
});
