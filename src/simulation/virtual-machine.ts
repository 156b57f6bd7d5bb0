import { ProgramTable } from "./program-table.js";
import { VirtualDisk } from "./virtual-disk.js";

/** A simulated machine: a host name, a disk that outlives processes, a clock, and the pids of those that live. */
export class VirtualMachine {
  readonly hostname: string;
  readonly disk: VirtualDisk;
  /** What it can run besides the simulated processes. */
  readonly programs = new ProgramTable();
  readonly #pidNamespace: string;
  readonly #alive = new Set<number>();
  readonly #onPowerLoss = new Set<() => void>();
  #lastPid = 1000;
  #boots = 1;
  /** Milliseconds that its clock is ahead, and gains in each millisecond since a moment of the world's. */
  #ahead = 0;
  #drift = 0;
  #driftsSince = 0;

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

  /** Its processes end as by `kill -9`, what they wrote and did not sync is torn, and it is as after a {@link reboot}. */
  losePower(): void {
    for (const action of [...this.#onPowerLoss]) {
      action();
    }
    this.programs.endAll();
    this.disk.tear(this);
    this.reboot();
  }

  /** Calls `action` when it loses its power; returns what forgets it. */
  onPowerLoss(action: () => void): () => void {
    this.#onPowerLoss.add(action);
    return () => this.#onPowerLoss.delete(action);
  }

  /** What its clock says. @param now the world's time of day @param passed milliseconds that have passed in the world */
  timeOfDay(now: number, passed: number): number {
    return now + Math.trunc(this.#aheadAt(passed));
  }

  /** Sets its clock forward, or back. */
  jumpClock(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Its clock gains so much in each millisecond from now on; below 0: it loses. */
  driftClock(share: number, passed: number): void {
    this.#ahead = this.#aheadAt(passed);
    this.#drift = share;
    this.#driftsSince = passed;
  }

  #aheadAt(passed: number): number {
    return this.#ahead + this.#drift * (passed - this.#driftsSince);
  }
}
