import { readdir, readFile } from "node:fs/promises";

/** Ticks a second of the kernel's clock, in which it counts what processes took. */
const TICKS = 100;

/** What some processes took until now, and have. */
export interface Usage {
  /** Seconds of processor time. */
  readonly cpu: number;
  /** Megabytes, what several of them share counted once. */
  readonly memory: number;
}

/** Seconds of processor time until now: of the agents, which are in this process, and of a control plane. */
export interface Cpu {
  readonly agents: number;
  readonly controlPlane: number;
}

/** The processes of these groups that live; a service that starts others is the leader of its group. */
export async function groupMembers(leaders: readonly number[]): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const group = Number((await statOf(pid))[2]);
      return leaders.includes(group) ? [pid] : [];
    }),
  );
  return found.flat();
}

/** The parent of a process, and all that it has started. */
export async function familyOf(pid: number): Promise<readonly number[]> {
  const parent = Number((await statOf(pid))[1]);
  const pids = (await readdir("/proc")).map(Number).filter((each) => each > 0);
  const children = await Promise.all(
    pids.map(async (each) => (Number((await statOf(each))[1]) === parent ? [each] : [])),
  );
  return [parent, ...children.flat()];
}

export async function usageOf(pids: readonly number[]): Promise<Usage> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const stat = await statOf(pid);
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
      const cpu = (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / TICKS;
      return { cpu, memory: Number(rollup.match(/^Pss:\s+(\d+) kB/m)?.[1] ?? 0) / 1024 };
    }),
  );
  return {
    cpu: each.reduce((total, { cpu }) => total + cpu, 0),
    memory: each.reduce((total, { memory }) => total + memory, 0),
  };
}

export async function cpuOf(controlPlane: number): Promise<Cpu> {
  const { user, system } = process.cpuUsage();
  return { agents: (user + system) / 1e6, controlPlane: (await usageOf([controlPlane])).cpu };
}

export function cpuSince(now: Cpu, before: Cpu): Cpu {
  return { agents: now.agents - before.agents, controlPlane: now.controlPlane - before.controlPlane };
}

/** The fields of `/proc/pid/stat` after the name, which may have spaces; empty: it has ended. */
async function statOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
