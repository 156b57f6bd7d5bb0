import type { LiveMigrationProgress } from "../../src/virt/index.js";
import type { HypervisorParts } from "./guests.js";
import type { GuestProcess } from "./monitor.js";
import { QemuError } from "./qemu-error.js";

/** A QEMU job that copies a disk. */
export interface DiskJob {
  readonly id: string;
  readonly status: string;
  /** Bytes, approximately. */
  readonly processed: number;
  readonly total: number;
  readonly error: string | undefined;
}

const MAX_POLL_DELAY_MS = 500;

async function jobsOf(
  qemu: GuestProcess,
  { monitors }: Pick<HypervisorParts, "monitors">,
  signal?: AbortSignal,
): Promise<readonly DiskJob[]> {
  const found = await monitors.use(qemu, (execute) => execute("query-jobs"), signal);
  return (Array.isArray(found) ? (found as Record<string, unknown>[]) : []).map((job) => ({
    id: String(job.id),
    status: String(job.status),
    processed: Number(job["current-progress"] ?? 0),
    total: Number(job["total-progress"] ?? 0),
    error: typeof job.error === "string" ? job.error : undefined,
  }));
}

/** Waits until all of these jobs are in that state. @throws {QemuError} one ended before, or with an error. */
export async function jobsReach(
  expectedStatus: "ready" | "concluded",
  ids: readonly string[],
  qemu: GuestProcess,
  parts: HypervisorParts,
  signal: AbortSignal | undefined,
  look: (jobs: readonly DiskJob[]) => void = () => {},
): Promise<void> {
  for (let wait = 20; ; wait = Math.min(MAX_POLL_DELAY_MS, wait * 2)) {
    const jobs = (await jobsOf(qemu, parts, signal)).filter(({ id }) => ids.includes(id));
    const failed = jobs.find(
      ({ error, status }) => error !== undefined || (status === "concluded" && expectedStatus === "ready"),
    );
    if (failed || jobs.length < ids.length) {
      throw new QemuError(
        "JobFailed",
        `copying a disk of guest ${qemu.uuid} failed: ${failed?.error ?? "the job is gone"}`,
      );
    }
    look(jobs);
    if (jobs.every(({ status }) => status === expectedStatus)) {
      return;
    }
    await parts.context.timers.sleep(wait, signal);
  }
}

const MAX_MIGRATION_POLL_DELAY_MS = 500;

/** QEMU's report of its migration. */
export interface MigrationStatus {
  /** `none`, `setup`, `active`, `pre-switchover`, `completed`, `failed`, `cancelled` … */
  readonly status: string;
  /**
   * Whether the guest has left this QEMU. A QEMU that received a guest also reports `completed`, until it sends the
   * guest away.
   */
  readonly hasLeft: boolean;
  readonly error: string;
  readonly memory: Pick<LiveMigrationProgress, "memoryTotal" | "memoryProcessed" | "memoryRemaining">;
}

export async function migrationStatus(
  qemu: GuestProcess,
  { monitors }: Pick<HypervisorParts, "monitors">,
  signal?: AbortSignal,
): Promise<MigrationStatus> {
  const found = (await monitors.use(qemu, (execute) => execute("query-migrate"), signal)) as Record<string, unknown>;
  const ram = (found.ram ?? {}) as Record<string, unknown>;
  const [total, remaining] = [Number(ram.total ?? 0), Number(ram.remaining ?? 0)];
  return {
    status: String(found.status ?? "none"),
    hasLeft: found.status === "completed" && found.ram !== undefined,
    error: String(found["error-desc"] ?? "QEMU reported no reason"),
    memory: {
      memoryTotal: total,
      memoryProcessed: Math.max(0, total - remaining),
      memoryRemaining: Math.min(remaining, total),
    },
  };
}

/**
 * Waits until the memory is sent, or until `look` returns true.
 * @throws {QemuError} {@link StreamFailure} QEMU has ended.
 */
export async function migrated(
  qemu: GuestProcess,
  parts: HypervisorParts,
  signal: AbortSignal | undefined,
  look: (status: MigrationStatus) => Promise<boolean> = async () => false,
): Promise<void> {
  for (let wait = 20; ; wait = Math.min(MAX_MIGRATION_POLL_DELAY_MS, wait * 2)) {
    const now = await migrationStatus(qemu, parts, signal);
    if (now.hasLeft || (await look(now))) {
      return;
    }
    if (now.status === "failed" || now.status === "cancelled") {
      throw new QemuError(
        "MemoryNotSent",
        `the memory of guest ${qemu.uuid} was not sent (${now.status}): ${now.error}`,
      );
    }
    await parts.context.timers.sleep(wait, signal);
  }
}
