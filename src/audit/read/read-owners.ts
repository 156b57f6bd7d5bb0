import { mapConcurrently } from "../../runtime/task-queue.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { asRecord } from "./fields.js";
import { CONCURRENCY, readConsumer } from "./read-placement.js";
import type { Amounts, Consumer, ConsumerRecord, OnProgress, Snapshot } from "./records.js";

/** The project and user that each consumer should belong to. */
interface Owner {
  readonly projectId: string;
  readonly userId: string;
  readonly consumers: Consumer[];
}

/**
 * The consumers whose project or user has to be asked for: those that Nova does not know, and those of every project and
 * user whose sum of usages is not what its servers hold. With `thorough` all: two servers that have swapped their owners
 * change no sum.
 */
export async function readOwners(
  placement: ServiceClient,
  snapshot: Pick<Snapshot, "servers" | "migrations" | "consumers">,
  { thorough, onProgress }: { readonly thorough: boolean; readonly onProgress: OnProgress },
): Promise<Map<string, ConsumerRecord>> {
  const { owners, unknownConsumers } = groupByOwner(snapshot);
  const records = new Map<string, ConsumerRecord>();
  const read = async (consumers: readonly Consumer[]): Promise<void> => {
    let done = 0;
    for (const record of await mapConcurrently(consumers, CONCURRENCY, async ({ uuid }) => {
      const found = await readConsumer(placement, uuid);
      done += 1;
      onProgress("owners of consumers", done, consumers.length);
      return found;
    })) {
      records.set(record.uuid, record);
    }
  };
  await read(unknownConsumers);
  const checked = await mapConcurrently(owners, CONCURRENCY, async (owner) => {
    const same = !thorough && (await addsUp(placement, owner, [...records.values()]));
    return same ? [] : owner.consumers;
  });
  await read(checked.flat());
  return records;
}

function groupByOwner({ servers, migrations, consumers }: Pick<Snapshot, "servers" | "migrations" | "consumers">) {
  const serverOf = new Map(migrations.flatMap(({ uuid, server }) => (uuid === null ? [] : [[uuid, server] as const])));
  const owners = new Map<string, Owner>();
  const unknownConsumers: Consumer[] = [];
  for (const consumer of consumers.values()) {
    const server = servers.get(consumer.uuid) ?? servers.get(serverOf.get(consumer.uuid) ?? "");
    if (server === undefined) {
      unknownConsumers.push(consumer);
    } else if (server.userId !== null) {
      const { projectId, userId } = server;
      const key = `${projectId}/${userId}`;
      const owner = owners.get(key) ?? { projectId, userId, consumers: [] };
      owner.consumers.push(consumer);
      owners.set(key, owner);
    }
  }
  return { owners: [...owners.values()], unknownConsumers: unknownConsumers };
}

/** Whether Placement's usages of the project and user are the sum of what these consumers hold. */
async function addsUp(
  placement: ServiceClient,
  { projectId, userId, consumers }: Owner,
  known: readonly ConsumerRecord[],
): Promise<boolean> {
  const query = `project_id=${encodeURIComponent(projectId)}&user_id=${encodeURIComponent(userId)}`;
  const { usages } = await placement.get(`/usages?${query}`);
  const theirs = known.filter((record) => record.projectId === projectId && record.userId === userId);
  const expected = [...consumers, ...theirs].flatMap(({ held }) => Object.values(held));
  return sameSums(sum(expected), sum(amountsIn(asRecord(usages))));
}

/** By consumer type from 1.38 on, each with a count of consumers. */
function amountsIn(usages: Readonly<Record<string, unknown>>): Amounts[] {
  const groups = Object.values(usages).every((value) => typeof value === "number") ? [usages] : Object.values(usages);
  return groups.map((group) => {
    const { consumer_count, ...amounts } = asRecord(group);
    return amounts as Amounts;
  });
}

function sum(parts: readonly Amounts[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const part of parts) {
    for (const [name, amount] of Object.entries(part)) {
      sums.set(name, (sums.get(name) ?? 0) + amount);
    }
  }
  return sums;
}

function sameSums(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  return [...new Set([...one.keys(), ...other.keys()])].every(
    (name) => (one.get(name) ?? 0) === (other.get(name) ?? 0),
  );
}
