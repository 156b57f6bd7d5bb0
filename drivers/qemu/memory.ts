import { type Instance, InstanceNotRunning } from "../../src/virt/index.js";
import { quoted } from "./command-line.js";
import { guestName } from "./definition.js";
import { stateOf } from "./guest-state.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { migrated } from "./migration-status.js";
import type { GuestProcess } from "./monitor.js";

/** Milliseconds between two looks at a guest whose memory is being read. */
const LOOK = 50;

/** Suspending: the guest's memory lies in a file while nothing of it runs. As long as the file is there, it has not run since. */
export class Memory {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} */
  async suspend(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { runs, lease, layout, context } = this.#parts;
    const { uuid } = instance;
    if ((await this.#guests.state(instance)) === "suspended") {
      await runs.end(uuid, signal);
      return;
    }
    const qemu = await this.#guests.active(instance);
    await lease.assertCurrentEpoch();
    const part = `${layout.memory(uuid)}.part`;
    try {
      await this.#guests.use(qemu, (execute) => execute("stop"), signal);
      const uri = `exec:cat > ${quoted(part)}`;
      await this.#guests.use(qemu, (execute) => execute("migrate", { uri }), signal);
      await migrated(qemu, this.#parts, signal);
    } catch (error) {
      await this.#goOn(qemu);
      throw error;
    }
    await context.files.rename(part, layout.memory(uuid));
    await runs.end(uuid, signal);
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} it is neither suspended nor running. */
  async resume(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { runs, definitions, layout, context, lease } = this.#parts;
    const { uuid } = instance;
    const state = await this.#guests.state(instance);
    if (state === "running") {
      return;
    }
    const definition = await definitions.get(uuid);
    if (state !== "suspended" || !definition) {
      throw new InstanceNotRunning(`guest ${guestName(instance)} (${uuid}) is ${state}, expected suspended`);
    }
    // What a broken-off suspend or resume has left runs from the same memory, and has not gone on.
    const qemu = await runs.start(definition, signal, `exec:cat ${quoted(layout.memory(uuid))}`);
    await this.#read(qemu, signal);
    await lease.assertCurrentEpoch();
    // Before the guest goes on: memory of the past must never meet a disk that was written since.
    await context.files.remove(layout.memory(uuid));
    await this.#guests.use(qemu, (execute) => execute("cont"), signal);
  }

  async #read(qemu: GuestProcess, signal: AbortSignal | undefined): Promise<void> {
    const { timers } = this.#parts.context;
    const status = () => this.#guests.use(qemu, (execute) => execute("query-status"), signal);
    while (stateOf(await status()) === "arriving") {
      await timers.sleep(LOOK, signal);
    }
  }

  /** A guest whose memory could not be saved runs on. */
  async #goOn(qemu: GuestProcess): Promise<void> {
    try {
      await this.#guests.use(qemu, async (execute) => {
        await execute("migrate_cancel");
        await execute("cont");
      });
    } catch (error) {
      const { logger } = this.#parts.context;
      logger.warn("a guest whose memory could not be saved does not go on", { instance: qemu.uuid, err: error });
    }
  }
}
