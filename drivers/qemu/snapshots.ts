import { type Instance, InstanceNotRunning, type SnapshotOptions } from "../../src/virt/index.js";
import { blockNode, guestName, nodeOf } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { jobsReach } from "./jobs.js";
import type { GuestProcess } from "./monitor.js";

const COPY = "snapshot";

/** Copies root disks at one moment as images, from which guests can be created. */
export class Snapshots {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {InstanceNotRunning} there is no guest. */
  async take(instance: Instance, { updateTaskState, upload, signal }: SnapshotOptions): Promise<void> {
    const { disks, lease, context, layout, runs } = this.#parts;
    const { uuid } = instance;
    if ((await this.#guests.find(uuid)) === undefined || !(await disks.hasRoot(uuid))) {
      throw new InstanceNotRunning(
        `guest ${guestName(instance)} (${uuid}) has no disk on hypervisor ${layout.root} that could be copied`,
      );
    }
    await updateTaskState("image_pending_upload");
    await lease.assertCurrentEpoch();
    const copy = layout.disk(uuid, "snapshot");
    await context.files.remove(copy);
    try {
      const qemu = await runs.find(uuid);
      if (qemu) {
        await this.#copyLive(qemu, copy, await this.#rootNode(uuid), signal);
      } else {
        await disks.copy(layout.disk(uuid, "disk"), copy, "qcow2", signal);
      }
      await updateTaskState("image_uploading");
      await upload(await context.files.readBytes(copy), { diskFormat: "qcow2" });
    } finally {
      await context.files.remove(copy);
    }
  }

  /** Returns the node of the root disk: a rescued guest has another disk before it. */
  async #rootNode(uuid: string): Promise<string> {
    return nodeOf((await this.#parts.definitions.get(uuid))?.rescued ? 1 : 0);
  }

  async #copyLive(qemu: GuestProcess, path: string, device: string, signal: AbortSignal | undefined): Promise<void> {
    const { disks, layout } = this.#parts;
    const use = this.#guests.use.bind(this.#guests);
    await this.#forget(qemu);
    await disks.makeOne(path, await disks.virtualSize(layout.disk(qemu.uuid, "disk")), undefined, signal);
    try {
      await use(
        qemu,
        async (execute) => {
          await execute("blockdev-add", blockNode(COPY, path));
          const job = { "job-id": COPY, device, target: COPY, sync: "full", "auto-dismiss": false };
          await execute("blockdev-backup", job);
        },
        signal,
      );
      await jobsReach("concluded", [COPY], qemu, this.#parts, signal);
    } finally {
      await this.#forget(qemu);
    }
  }

  /** Cancels the copy, including that of a killed agent. Succeeds if there is none. */
  async #forget(qemu: GuestProcess): Promise<void> {
    await this.#guests.use(qemu, async (execute) => {
      await execute("block-job-cancel", { device: COPY, force: true }).catch(() => {});
      await execute("job-dismiss", { id: COPY }).catch(() => {});
      await execute("blockdev-del", { "node-name": COPY }).catch(() => {});
    });
  }
}
