import { expect } from "vitest";
import { type Cloud, eventually } from "../support/cloud.js";
import { Operator } from "../support/operator.js";
import { GoldenRun } from "./golden-run.js";

export const HOSTS = ["devstack1", "devstack2", "devstack3"] as const;

/** A cloud with exactly {@link HOSTS}, and the operations of the story that public APIs lack. */
export interface Stage {
  readonly cloud: Cloud;
  /** Kills a host's agent, as `kill -9` does. */
  kill(host: string): Promise<void>;
  /** Compares the output of `nova-manage placement …` with that recorded from the real one. */
  expectAsRecorded(name: string, ...args: readonly string[]): Promise<void>;
}

/** Returns `section.option=value` for each host's agent. */
export function optionsOf(host: string): readonly string[] {
  return [
    "allow_resize_to_same_host=true",
    "fake_libvirt.allow_disk_shrink=true",
    // The scheduler prefers the host with the most memory. Where it chose randomly in the recording, this fixes the choice.
    `fake_libvirt.memory_mb=${host === "devstack3" ? 16_384 : 32_768}`,
  ];
}

/** The operations on the recorded real Nova, with its state after each step. The methods must be called in this order. */
export class RecordedStory {
  readonly golden: GoldenRun;
  readonly #stage: Stage;
  readonly #cloud: Cloud;
  readonly #operator: Operator;
  #vm1 = "";

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#cloud = stage.cloud;
    this.#operator = new Operator(stage.cloud);
    this.golden = new GoldenRun(stage.cloud);
  }

  get vm1(): string {
    return this.#vm1;
  }

  async coldMovesAndResizes(): Promise<void> {
    const { golden } = this;
    await golden.begin("a01");
    const vm1 = await this.#operator.boot("vm1", { host: "devstack1" });
    this.#vm1 = vm1;
    await golden.reaches("a02");

    await this.#act(vm1, { migrate: { host: "devstack2" } }, 202, "2.56");
    await golden.reaches("a03");
    await this.#act(vm1, { confirmResize: null }, 204, "2.1");
    await golden.reaches("a04");
    await this.#act(vm1, { migrate: { host: "devstack3" } });
    await golden.reaches("a05");
    await this.#act(vm1, { revertResize: null }, 202, "2.1");
    await golden.reaches("a06");

    await this.#setStatus("devstack2", "disabled");
    await this.#act(vm1, { resize: { flavorRef: "2" } }, 202, "2.1");
    await golden.reaches("a07");
    await this.#act(vm1, { confirmResize: null }, 204, "2.1");
    await golden.reaches("a08");

    await this.#setStatus("devstack2", "enabled");
    await this.#setStatus("devstack2", "disabled");
    await this.#setStatus("devstack3", "disabled");
    await this.#act(vm1, { resize: { flavorRef: "1" } });
    await golden.reaches("a09");
    await this.#act(vm1, { revertResize: null }, 202, "2.1");
    await golden.reaches("a10");
    await this.#act(vm1, { resize: { flavorRef: "1" } });
    await golden.reaches("a11");
    await this.#act(vm1, { confirmResize: null }, 204);
    await golden.reaches("a12");
    await this.#act(vm1, { migrate: null });
    await golden.reaches("a13");
    for (const host of HOSTS) {
      await this.#setStatus(host, "enabled");
    }
  }

  async liveMigrations(): Promise<void> {
    const vm1 = this.#vm1;
    await this.#act(vm1, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } }, 202, "2.56");
    await this.golden.reaches("a14");
    await this.golden.reaches("a15");
    await this.#act(vm1, { "os-migrateLive": { host: "devstack3", block_migration: "auto" } });
    const aborted = await this.#liveMigrationOf(vm1);
    const abort = await this.#cloud.compute("DELETE", `/servers/${vm1}/migrations/${aborted}`, undefined, "2.90");
    expect(abort.status).toBe(202);
    await this.golden.reaches("a16");
    await this.#act(vm1, { "os-migrateLive": { host: "devstack1", block_migration: "auto" } });
    await this.#liveMigrationOf(vm1);
    await this.#operator.serverIn(vm1, "ACTIVE");
  }

  async rejectServiceDeletes(): Promise<void> {
    const operator = this.#operator;
    const vm2 = await operator.boot("vm2", { host: "devstack2" });
    await operator.serverIn(vm2, "ACTIVE");
    expect(await this.#expectDeleteRejected("devstack2")).toBe(
      "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
    );
    await this.golden.reaches("a17");
    await this.#act(vm2, { migrate: { host: "devstack3" } });
    await operator.serverIn(vm2, "VERIFY_RESIZE");
    expect(await this.#expectDeleteRejected("devstack2")).toBe(
      "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
    );
    expect(await this.#expectDeleteRejected("devstack3")).toBe(
      "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
    );
    await this.golden.reaches("a18");
    await this.#act(vm2, { confirmResize: null }, 204);
    await operator.serverIn(vm2, "ACTIVE");
    expect((await this.#cloud.compute("DELETE", `/servers/${vm2}`)).status).toBe(204);
    await this.golden.reaches("a19");
  }

  async evacuation(): Promise<void> {
    await this.#stage.kill("devstack1");
    await this.#act(this.#vm1, { evacuate: { host: "devstack2" } }, 400);
    await this.golden.reaches("a20");
    expect(await this.#operator.forceDown("devstack1", true)).toBe(200);
    await this.#act(this.#vm1, { evacuate: { host: "devstack2" } }, 200, "2.29");
    await this.golden.reaches("a21");
  }

  /** Deletes the service of the evacuated host, and repairs allocations by hand and by nova-manage. */
  async orphanedAllocations(): Promise<void> {
    const [cloud, vm1, golden, stage] = [this.#cloud, this.#vm1, this.golden, this.#stage];
    const { uuid: devstack1 } = await this.#operator.provider("devstack1");
    const { uuid: devstack2 } = await this.#operator.provider("devstack2");
    const { project_id, user_id } = (await cloud.placement("GET", `/allocations/${vm1}`)).body;
    expect(await this.#operator.deleteService("devstack1")).toBe(204);
    await golden.reaches("a22");
    await stage.expectAsRecorded("audit-residual", "audit");
    const allocations = { [devstack2]: { resources: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } } };
    const set = { allocations, project_id, user_id };
    expect((await cloud.placement("PUT", `/allocations/${vm1}`, set, "1.12")).status).toBe(204);
    await golden.reaches("a23");
    expect((await cloud.placement("DELETE", `/resource_providers/${devstack1}`)).status).toBe(404);
    await golden.reaches("a24");
    expect((await this.#operator.service("devstack1")).id).toBeUndefined();
    await golden.reaches("a25");
    expect((await cloud.placement("DELETE", `/allocations/${vm1}`)).status).toBe(204);
    await golden.reaches("a26");
    await stage.expectAsRecorded("heal-dry-run", "heal_allocations", "--instance", vm1, "--dry-run");
    await stage.expectAsRecorded("heal-verbose", "heal_allocations", "--instance", vm1);
    await golden.reaches("a27");
    await stage.expectAsRecorded("heal-all", "heal_allocations");
  }

  async #act(id: string, body: object, status = 202, version = "2.90"): Promise<void> {
    const response = await this.#cloud.compute("POST", `/servers/${id}/action`, body, version);
    expect(response.status, JSON.stringify(response.body)).toBe(status);
  }

  async #setStatus(host: string, status: "enabled" | "disabled"): Promise<void> {
    const { id } = await this.#operator.service(host);
    const response = await this.#cloud.compute("PUT", `/os-services/${id}`, { status }, "2.90");
    expect(response.status).toBe(200);
  }

  async #expectDeleteRejected(host: string): Promise<unknown> {
    const { id } = await this.#operator.service(host);
    const response = await this.#cloud.compute("DELETE", `/os-services/${id}`, undefined, "2.90");
    expect(response.status).toBe(409);
    return response.body.conflictingRequest?.message;
  }

  async #liveMigrationOf(id: string): Promise<number> {
    const response = await eventually(
      () => this.#cloud.compute("GET", `/servers/${id}/migrations`, undefined, "2.90"),
      ({ body }) => body.migrations?.[0]?.status === ("running" as unknown),
    );
    return Number(response.body.migrations?.[0]?.id);
  }
}
