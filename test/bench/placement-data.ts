import { Connection } from "./placement-http.js";

/** The measured data: compute nodes with instances. The real Placement is filled by the same formulas. */
export interface World {
  readonly providers: number;
  readonly consumers: number;
}

const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
export const providerUuid = (n: number): string => `${hex(n, 8)}-1111-4111-8111-111111111111`;
export const consumerUuid = (n: number): string => `${hex(n, 8)}-2222-4222-8222-222222222222`;
export const aggregateUuid = (n: number): string => `${hex(n, 8)}-3333-4333-8333-333333333333`;
export const providerName = (n: number): string => `compute${n}.example.com`;

export function inventories(reserved: number) {
  return {
    VCPU: { total: 32, reserved: 0, min_unit: 1, max_unit: 32, step_size: 1, allocation_ratio: 16 },
    MEMORY_MB: { total: 131072, reserved: 512, min_unit: 1, max_unit: 131072, step_size: 1, allocation_ratio: 1 },
    DISK_GB: { total: 2000, reserved, min_unit: 1, max_unit: 2000, step_size: 1, allocation_ratio: 1 },
  };
}

const TRAITS = [
  "COMPUTE_NODE",
  "HW_CPU_X86_AVX",
  "HW_CPU_X86_AVX2",
  "HW_CPU_X86_SSE",
  "HW_CPU_X86_SSE2",
  "HW_NUMA_ROOT",
];

/** Returns the traits of provider n: all except every third one. */
export const traitsOf = (n: number): string[] => TRAITS.filter((_, index) => (n + index) % 3 !== 1);
export const aggregatesOf = (n: number): string[] => [aggregateUuid(n % 3), aggregateUuid(3 + (n % 10))];
/** Returns the number of a consumer's provider. */
const homeOf = (n: number, world: World): number => (n * 7) % world.providers;

export function allocation(n: number, world: World, generation: number | null, vcpus: number) {
  return {
    allocations: { [providerUuid(homeOf(n, world))]: { resources: { VCPU: vcpus, MEMORY_MB: 512, DISK_GB: 1 } } },
    project_id: `project${n % 20}`,
    user_id: `user${n % 40}`,
    consumer_generation: generation,
    consumer_type: "INSTANCE",
  };
}

/** Fills a server through its API. */
export async function populate(url: string, world: World): Promise<void> {
  const connection = new Connection(url);
  const need = async (method: string, path: string, body: unknown) => {
    const response = await connection.send(method, path, body);
    if (response.status >= 300) {
      throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
    }
  };
  for (let n = 0; n < world.providers; n += 1) {
    const path = `/resource_providers/${providerUuid(n)}`;
    await need("POST", "/resource_providers", { name: providerName(n), uuid: providerUuid(n) });
    await need("PUT", `${path}/inventories`, { resource_provider_generation: 0, inventories: inventories(0) });
    await need("PUT", `${path}/traits`, { resource_provider_generation: 1, traits: traitsOf(n) });
    await need("PUT", `${path}/aggregates`, { resource_provider_generation: 2, aggregates: aggregatesOf(n) });
  }
  for (let n = 0; n < world.consumers; n += 1) {
    await need("PUT", `/allocations/${consumerUuid(n)}`, allocation(n, world, null, 1));
  }
  connection.close();
}
