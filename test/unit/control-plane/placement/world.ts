import type { PlacementOptions } from "../../../../src/control-plane/placement/options.js";
import type { ServiceResponse } from "../../../../src/runtime/http-server.js";
import type { Logger } from "../../../../src/runtime/runtime.js";
import { adminRequest } from "../../../fixtures/admin-request.js";
import { TestPlacement } from "../../../fixtures/world/placement.js";

export const uuid = (n: number): string => `0000000${n}-0000-4000-8000-000000000000`;
export const consumer = (n: number): string => `c000000${n}-0000-4000-8000-000000000000`;
export const aggregate = (n: number): string => `a000000${n}-0000-4000-8000-000000000000`;

/** Collects messages of level error. */
class ErrorLog implements Logger {
  readonly errors: string[] = [];
  trace(): void {}
  debug(): void {}
  info(): void {}
  warn(): void {}
  error(message: string): void {
    this.errors.push(message);
  }
  fatal(): void {}
  child(): Logger {
    return this;
  }
}

/** A Placement service with a settable clock, and shortcuts for requests. */
export class World {
  readonly placement: TestPlacement;
  readonly log = new ErrorLog();
  now = Date.UTC(2026, 10, 21, 12);
  #uuids = 0;

  constructor(options: Partial<PlacementOptions> = {}) {
    this.placement = new TestPlacement({
      clock: { now: () => this.now, monotonic: () => this.now },
      random: { next: () => 0, integer: (low) => low, uuid: () => `${++this.#uuids}`, hex: () => "" },
      logger: this.log,
      ...options,
    });
  }

  send(method: string, target: string, body?: unknown, headers: Record<string, string> = {}): ServiceResponse {
    const request = adminRequest(method, target, "1.39", body);
    const baseUrl = "http://cluster:8774/placement";
    return this.placement.handle({ ...request, headers: { ...request.headers, ...headers }, baseUrl });
  }

  /** Returns the body of a response; throws if it is not a success. */
  json<T = Record<string, unknown>>(method: string, target: string, body?: unknown): T {
    const response = this.send(method, target, body);
    if (response.status >= 300) {
      throw new Error(`${method} ${target}: ${response.status} ${response.body}`);
    }
    return (response.body === "" ? {} : JSON.parse(response.body)) as T;
  }

  provider(
    n: number,
    inventories: Readonly<Record<string, number>> = {},
    more: { parent?: number; traits?: string[]; aggregates?: string[] } = {},
  ): void {
    const { parent, traits, aggregates } = more;
    const parent_provider_uuid = parent === undefined ? null : uuid(parent);
    this.json("POST", "/resource_providers", { name: `p${n}`, uuid: uuid(n), parent_provider_uuid });
    const totals = Object.entries(inventories).map(([name, total]) => [name, { total }]);
    const path = `/resource_providers/${uuid(n)}`;
    const body = { resource_provider_generation: 0, inventories: Object.fromEntries(totals) };
    this.json("PUT", `${path}/inventories`, body);
    if (traits) {
      this.json("PUT", `${path}/traits`, { traits, resource_provider_generation: 1 });
    }
    const generation = traits ? 2 : 1;
    if (aggregates) {
      this.json("PUT", `${path}/aggregates`, { aggregates, resource_provider_generation: generation });
    }
  }

  allocate(n: number, generation: number | null, amounts: Readonly<Record<number, Record<string, number>>>): number {
    const allocations = Object.entries(amounts).map(([p, resources]) => [uuid(Number(p)), { resources }]);
    return this.send("PUT", `/allocations/${consumer(n)}`, {
      allocations: Object.fromEntries(allocations),
      project_id: "project",
      user_id: "user",
      consumer_generation: generation,
      consumer_type: "INSTANCE",
    }).status;
  }
}
