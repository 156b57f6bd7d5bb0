import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import type { Processes } from "../processes.js";

export function nodeProcesses(): Processes {
  const name = hostname();
  return { pid: process.pid, hostname: name, machine: `${name}:${bootId()}:${pidNamespace()}`, isAlive };
}

/**
 * The kernel's id of this boot. Elsewhere than on Linux its network cards tell a machine from others of its name, and without
 * any no process takes another for one of its machine.
 */
function bootId(): string {
  return readIfThere("/proc/sys/kernel/random/boot_id")?.trim() ?? networkCards() ?? randomUUID();
}

/** Undefined: there are none. */
function networkCards(): string | undefined {
  const cards = Object.values(networkInterfaces())
    .flatMap((interfaces = []) => interfaces)
    .filter(({ internal, mac }) => !internal && !/^[0:]*$/.test(mac))
    .map(({ mac }) => mac);
  return cards.length === 0 ? undefined : [...new Set(cards)].sort().join("+");
}

/** The inode of the PID namespace, as `4026531836`; elsewhere than on Linux there is one only. */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "unknown-namespace";
  } catch {
    return "unknown-namespace";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Not ours to signal, but there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return !isZombie(pid);
}

/** A killed process stays until its parent reaps it, which the init of many containers never does. */
function isZombie(pid: number): boolean {
  const status = readIfThere(`/proc/${pid}/stat`);
  // The command stands in parentheses and may hold any character; the state follows the last one.
  const state = status?.slice(status.lastIndexOf(")") + 2, status.lastIndexOf(")") + 3);
  return state === "Z" || state === "X";
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
