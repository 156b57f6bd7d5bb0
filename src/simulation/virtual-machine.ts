import { VirtualDisk } from "./virtual-disk.js";

/** A simulated machine: a host name, a disk that outlives processes, and the pids of those that live. */
export class VirtualMachine {
  readonly hostname: string;
  readonly disk: VirtualDisk;
  readonly #pidNamespace: string;
  readonly #alive = new Set<number>();
  #lastPid = 1000;
  #boots = 1;

  /** @param pidNamespace another one for what runs in a container. */
  constructor(hostname: string, disk: VirtualDisk = new VirtualDisk(), pidNamespace = "1") {
    this.hostname = hostname;
    this.disk = disk;
    this.#pidNamespace = pidNamespace;
  }

  /** Changes with each {@link reboot}. */
  get identity(): string {
    return `${this.hostname}:boot-${this.#boots}:${this.#pidNamespace}`;
  }

  startProcess(): number {
    this.#lastPid += 1;
    this.#alive.add(this.#lastPid);
    return this.#lastPid;
  }

  endProcess(pid: number): void {
    this.#alive.delete(pid);
  }

  isAlive(pid: number): boolean {
    return this.#alive.has(pid);
  }

  /** Makes a pid look alive or dead, whatever process it belongs to: a pid taken over by another program. */
  setLiveness(pid: number, alive: boolean): void {
    if (alive) {
      this.#alive.add(pid);
    } else {
      this.#alive.delete(pid);
    }
  }

  /** A new boot: pids start again, so that an old pid may belong to another program. Kill the processes first. */
  reboot(): void {
    this.#boots += 1;
    this.#alive.clear();
    this.#lastPid = 1000;
  }
}
