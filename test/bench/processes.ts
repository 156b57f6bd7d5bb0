import { readdir, readFile } from "node:fs/promises";

/** Ticks per second in the kernel's process statistics. */
const TICKS = 100;

/** Resources of several processes. */
export interface Usage {
  /** Seconds of processor time. */
  readonly cpu: number;
  /** Megabytes; shared memory is counted once. */
  readonly memory: number;
}

/** Seconds of processor time so far: of the agents, which run in this process, and of a control plane. */
export interface Cpu {
  readonly agents: number;
  readonly controlPlane: number;
}

/** Returns the living processes of these groups; a service that starts others is its group's leader. */
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

/** Returns a process's parent and all processes that the parent started. */
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

/** Returns the fields of `/proc/pid/stat` after the name, which may contain spaces; empty if the process has ended. */
async function statOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
