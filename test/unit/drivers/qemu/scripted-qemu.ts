import { join } from "node:path";
import { driver as definition } from "../../../../drivers/qemu/index.js";
import type { Stream } from "../../../../src/runtime/streams.js";
import type { ProgramHandle } from "../../../../src/simulation/virtual-machine.js";
import type { VirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { contextOf, virtualContext } from "../../virt/fixtures.js";

/** Deviations of a scripted QEMU from a real one. */
export interface Script {
  /** The uuid that its monitor reports; default: the guest's. */
  uuid?: string;
  /** It ignores SIGTERM. */
  stubborn?: boolean;
  /** It ends when the power button is pressed. */
  obeysButton?: boolean;
  /** States that successive `query-migrate` calls return for an arriving guest; after them it has arrived. */
  arrival?: string[];
  /** Overrides the state that `query-migrate` returns for a departing guest. */
  departure?: () => string;
}

/** A machine with scripted QEMU programs in virtual time. Records the commands that they receive. */
export class QemuHarness {
  readonly runtime: VirtualRuntime;
  readonly script: Script = {};
  /** Commands that monitors received, in order. */
  readonly commands: string[] = [];
  readonly running = new Set<ProgramHandle>();
  #begun = 0;

  constructor() {
    this.runtime = virtualContext().runtime;
    const { programs, disk } = this.runtime.machine;
    programs.install("qemu-img", (img) => {
      disk.write(img.argv.at(-2) ?? "", "", 0o644, 0, "write");
      img.print('{"virtual-size": 1073741824}');
      img.exit(0);
    });
    programs.install("stat", (stat) => {
      stat.print("4096 26214400 13107200\n");
      stat.exit(0);
    });
    programs.install("qemu-system-x86_64", (qemu) => this.#begin(qemu));
    disk.write("/proc/cpuinfo", "processor\t: 0\nprocessor\t: 1\nvendor_id\t: V\nflags\t: a b\n", 0o444, 0, "write");
    disk.write("/proc/meminfo", "MemTotal:        8388608 kB\n", 0o444, 0, "write");
  }

  /** Returns a host with a new agent's driver on this machine. */
  async connect(epoch: number | null = null): Promise<DriverHost> {
    const context = contextOf(this.runtime, { config: { folder: "/qemu" } });
    const host = await createDriverHost(definition, context, { epoch: () => epoch });
    await this.run(host.initHost());
    return host;
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.runtime.runUntil(work);
  }

  get started(): number {
    return this.#begun;
  }

  #begin(qemu: ProgramHandle): void {
    if (qemu.argv.includes("--version")) {
      qemu.print("QEMU emulator version 7.2.22 (Debian)\n");
      qemu.exit(0);
      return;
    }
    this.#begun += 1;
    const pidFile = qemu.argv[qemu.argv.indexOf("-pidfile") + 1] ?? "";
    this.runtime.machine.disk.write(pidFile, `${qemu.pid}\n`, 0o644, 0, "write");
    this.running.add(qemu);
    qemu.onEnd(() => this.running.delete(qemu));
    qemu.onSignal(() => {
      if (!this.script.stubborn) {
        qemu.exit(0);
      }
    });
    const guest = { status: qemu.argv.includes("-incoming") ? "inmigrate" : "running" };
    qemu.listen(join(qemu.cwd, "qmp"), (stream) => void this.#serve(stream, qemu, guest));
  }

  async #serve(stream: Stream, qemu: ProgramHandle, guest: { status: string }): Promise<void> {
    await stream.write('{"QMP": {}}\n');
    for (let line = await stream.readLine(); line !== null; line = await stream.readLine()) {
      const { execute } = JSON.parse(line) as { readonly execute: string };
      this.commands.push(execute);
      // The driver may have closed the connection.
      await stream.write(`${JSON.stringify(this.#handleCommand(execute, qemu, guest))}\n`).catch(() => {});
    }
  }

  #handleCommand(command: string, qemu: ProgramHandle, guest: { status: string }): unknown {
    switch (command) {
      case "query-uuid":
        return { return: { UUID: this.script.uuid ?? qemu.argv[qemu.argv.indexOf("-uuid") + 1] } };
      case "query-status":
        return { return: guest };
      case "query-migrate": {
        const status = this.script.departure?.() ?? this.script.arrival?.shift();
        guest.status = status === "completed" ? "running" : guest.status;
        return { return: { status: status ?? "none" } };
      }
      case "stop":
      case "cont":
        guest.status = command === "stop" ? "paused" : "running";
        return { return: {} };
      case "system_powerdown":
        if (this.script.obeysButton) {
          qemu.exit(0);
        }
        return { return: {} };
      case "qmp_capabilities":
      case "migrate_cancel":
        return { return: {} };
      default:
        return { error: { class: "CommandNotFound", desc: `the script has no ${command}` } };
    }
  }
}
