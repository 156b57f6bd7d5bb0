import { at, PlacementClient, type PlacementResponse } from "./placement-server.js";

export const WRITERS = 16;
export const PROVIDERS = [1, 2, 3, 4].map((n) => `0000000${n}-1111-4111-8111-111111111111`);
export const CONSUMERS = Array.from({ length: 12 }, (_, n) => `c00000${10 + n}-2222-4222-8222-222222222222`);
/** The inventory of each provider; less than the consumers request. */
export const CAPACITY = 24;

/** Amounts of VCPU by provider. */
export type Amounts = Readonly<Record<string, number>>;

/** A request: its base generation, the requested amounts, and whether it was acknowledged. */
interface Write {
  readonly consumer: string;
  readonly generation: number | null;
  readonly amounts: Amounts;
  acknowledged: boolean;
}

/** Records the requests of all writers, and their results. */
export class Ledger {
  readonly writes: Write[] = [];
  /** Acknowledged changes of inventories, by provider. */
  readonly inventories = new Map<string, number>();
  readonly rejections = new Map<string, number>();
  /** Responses that must not occur. */
  readonly surprises: PlacementResponse[] = [];

  get acknowledged(): number {
    return this.writes.filter((write) => write.acknowledged).length;
  }

  recordRejection(response: PlacementResponse): void {
    const code = String(at(response.body, "errors", 0, "code"));
    const detail = String(at(response.body, "errors", 0, "detail"));
    const fits =
      response.status === 409 &&
      (code === "placement.concurrent_update" ||
        (code === "placement.undefined_code" && detail.includes("would exceed the capacity")));
    if (!fits) {
      this.surprises.push(response);
    }
    this.rejections.set(code, (this.rejections.get(code) ?? 0) + 1);
  }
}

const INVENTORY = { total: CAPACITY, min_unit: 1, max_unit: CAPACITY };

export async function populate(client: PlacementClient): Promise<void> {
  for (const uuid of PROVIDERS) {
    await client.send("POST", "/resource_providers", { name: uuid, uuid });
    const body = { resource_provider_generation: 0, inventories: { VCPU: INVENTORY } };
    await client.send("PUT", `/resource_providers/${uuid}/inventories`, body);
  }
}

/** Writes until `iterations` are done, or the server has ended. The writer's number seeds its choices. */
export async function write(url: string, ledger: Ledger, writer: number, iterations: number): Promise<void> {
  const client = new PlacementClient(url);
  let state = writer * 7919 + 1;
  const choose = <T>(items: readonly T[]): T => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return items[Math.floor((state / 2147483648) * items.length)] as T;
  };
  try {
    for (let turn = 0; turn < iterations; turn += 1) {
      if (choose([0, 1, 2, 3, 4]) === 0) {
        await changeInventory(client, ledger, choose(PROVIDERS), 1 + choose([19, 23]));
      } else {
        await allocate(client, ledger, choose(CONSUMERS), choose(PROVIDERS), choose(PROVIDERS), choose([1, 2, 5]));
      }
    }
  } finally {
    client.close();
  }
}

async function allocate(
  client: PlacementClient,
  ledger: Ledger,
  consumer: string,
  one: string,
  other: string,
  amount: number,
): Promise<void> {
  const known = await client.send("GET", `/allocations/${consumer}`);
  const generation = (at(known.body, "consumer_generation") as number | undefined) ?? null;
  const entry: Write = { consumer, generation, amounts: { [one]: amount, [other]: amount + 1 }, acknowledged: false };
  ledger.writes.push(entry);
  const allocations = Object.entries(entry.amounts).map(([uuid, used]) => [uuid, { resources: { VCPU: used } }]);
  const response = await client.send("PUT", `/allocations/${consumer}`, {
    allocations: Object.fromEntries(allocations),
    project_id: "project",
    user_id: "user",
    consumer_generation: generation,
    consumer_type: "INSTANCE",
  });
  if (response.status === 204) {
    entry.acknowledged = true;
  } else {
    ledger.recordRejection(response);
  }
}

async function changeInventory(client: PlacementClient, ledger: Ledger, uuid: string, maxUnit: number): Promise<void> {
  const known = await client.send("GET", `/resource_providers/${uuid}`);
  const response = await client.send("PUT", `/resource_providers/${uuid}/inventories`, {
    resource_provider_generation: at(known.body, "generation"),
    inventories: { VCPU: { ...INVENTORY, max_unit: maxUnit } },
  });
  if (response.status === 200) {
    ledger.inventories.set(uuid, (ledger.inventories.get(uuid) ?? 0) + 1);
  } else {
    ledger.recordRejection(response);
  }
}

/** Returns the allocations of a consumer, and its generation; null if it is unknown. */
export async function held(
  client: PlacementClient,
  consumer: string,
): Promise<{ readonly generation: number | null; readonly amounts: Amounts }> {
  const { body } = await client.send("GET", `/allocations/${consumer}`);
  const entries = Object.entries((at(body, "allocations") ?? {}) as Record<string, unknown>);
  return {
    generation: (at(body, "consumer_generation") as number | undefined) ?? null,
    amounts: Object.fromEntries(entries.map(([uuid, each]) => [uuid, Number(at(each, "resources", "VCPU"))])),
  };
}

/** Returns the used VCPUs of a provider. */
export async function usage(client: PlacementClient, uuid: string): Promise<number> {
  const { body } = await client.send("GET", `/resource_providers/${uuid}/usages`);
  return Number(at(body, "usages", "VCPU"));
}
