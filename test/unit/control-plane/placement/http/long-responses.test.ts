import { beforeAll, describe, expect, it } from "vitest";
import { createPlacement } from "../../../../../src/control-plane/placement/service.js";
import { joined, type ServiceResponse } from "../../../../../src/runtime/http-server.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { adminRequest } from "../../../../fixtures/admin-request.js";

const PROVIDERS = 300;
const uuidOf = (n: number) => `${String(n).padStart(8, "0")}-0000-4000-8000-000000000000`;
const CANDIDATES = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:5";

describe("long responses", () => {
  const service = createPlacement(createVirtualRuntime());

  function send(method: string, target: string, body?: unknown): ServiceResponse {
    const response = service.handle(adminRequest(method, target, "1.39", body));
    if (response instanceof Promise || response.status >= 300) {
      throw new Error(`${method} ${target} failed`);
    }
    return response;
  }

  const text = (target: string) => joined(send("GET", target)).body;
  const rename = (name: string) =>
    send("PUT", `/resource_providers/${uuidOf(0)}`, { name, parent_provider_uuid: null });

  beforeAll(() => {
    for (let n = 0; n < PROVIDERS; n += 1) {
      const path = `/resource_providers/${uuidOf(n)}`;
      // Includes characters that are not ASCII or that JSON escapes.
      send("POST", "/resource_providers", { name: `compüte "${n}" \u2028`, uuid: uuidOf(n) });
      const inventories = { VCPU: { total: 4 + n }, MEMORY_MB: { total: 64 } };
      send("PUT", `${path}/inventories`, { resource_provider_generation: 0, inventories });
    }
  });

  it("are sent in pieces, short ones as one string", () => {
    expect(send("GET", "/resource_providers").pieces?.length).toBeGreaterThan(PROVIDERS);
    expect(send("GET", CANDIDATES).pieces?.length).toBeGreaterThan(2 * PROVIDERS);
    expect(send("GET", `${CANDIDATES}&limit=2`).pieces).toBeUndefined();
    expect(Math.max(...(send("GET", CANDIDATES).pieces ?? []).map(({ length }) => length))).toBeLessThan(2_000);
  });

  it("equal the concatenation of their members, byte for byte", () => {
    const all = Array.from({ length: PROVIDERS }, (_, n) => n);
    const providerBodies = all.map((n) => text(`/resource_providers/${uuidOf(n)}`));
    expect(text("/resource_providers") === `{"resource_providers":[${providerBodies.join(",")}]}`).toBe(true);
    const [requests, summaries]: [string[], string[]] = [[], []];
    for (const n of all) {
      const [, request = "", summary = ""] =
        /^\{"allocation_requests":\[(.+)\],"provider_summaries":\{(.+)\}\}$/.exec(
          text(`${CANDIDATES}&in_tree=${uuidOf(n)}`),
        ) ?? [];
      requests.push(request);
      summaries.push(summary);
    }
    const expectedBody = `{"allocation_requests":[${requests.join(",")}],"provider_summaries":{${summaries.join(",")}}}`;
    expect(text(CANDIDATES) === expectedBody).toBe(true);
  });

  it("contain the state at the time of the request, however slowly they are read", () => {
    const responses = [send("GET", "/resource_providers"), send("GET", CANDIDATES)];
    const before = responses.map((response) => joined(response).body);
    rename("another");
    send("PUT", `/resource_providers/${uuidOf(1)}/inventories`, { resource_provider_generation: 1, inventories: {} });
    expect(responses.map((response, index) => joined(response).body === before[index])).toEqual([true, true]);
    expect(text("/resource_providers") === before[0]).toBe(false);
    expect(text(CANDIDATES) === before[1]).toBe(false);
  });

  it("contain summaries of the providers of the selected candidates only", () => {
    const candidates = JSON.parse(text(`${CANDIDATES}&limit=200`)) as {
      allocation_requests: { allocations: Record<string, unknown> }[];
      provider_summaries: Record<string, unknown>;
    };
    expect(candidates.allocation_requests).toHaveLength(200);
    expect(Object.keys(candidates.provider_summaries)).toEqual(
      candidates.allocation_requests.flatMap(({ allocations }) => Object.keys(allocations)),
    );
  });
});
