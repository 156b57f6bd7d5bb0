import fc from "fast-check";
import { allocations, postInventory, putInventories, putInventory, reshape } from "./bodies.js";
import { type Json, type Mutation, mutate } from "./json-text.js";
import {
  aggregateUuid,
  CONSUMERS,
  classInPath,
  className,
  consumerUuid,
  generation,
  junk,
  minor,
  PROVIDERS,
  providerInPath,
  providerName,
  providerUuid,
  traitInPath,
  traitName,
} from "./pools.js";
import { candidateFilters, providerFilters, traitFilters, usageFilters } from "./queries.js";
import { newest, put } from "./requests.js";
import type { Step } from "./step.js";

interface Draft {
  readonly method: string;
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: Json;
}

const parent = fc.option(
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom<Json>(...PROVIDERS) },
    { weight: 1, arbitrary: fc.constant<Json>(null) },
  ),
);

function withParent(body: { readonly [key: string]: Json }, minorVersion: number, uuid: Json | null): Json {
  return minorVersion < 14 || uuid === null ? body : { ...body, parent_provider_uuid: uuid };
}

function drafts(at: number): fc.Arbitrary<Draft> {
  const provider = providerInPath.map((uuid) => `/resource_providers/${uuid}`);
  const read = fc.oneof(
    fc
      .tuple(provider, fc.constantFrom("", "/inventories", "/usages", "/aggregates", "/traits", "/allocations"))
      .map(([base, sub]) => base + sub),
    consumerUuid.map((uuid) => `/allocations/${uuid}`),
    fc.constantFrom("/", "/resource_classes", "/traits", "/resource_providers"),
    classInPath.map((name) => `/resource_classes/${name}`),
    traitInPath.map((name) => `/traits/${name}`),
    fc.tuple(provider, classInPath).map(([base, name]) => `${base}/inventories/${name}`),
  );
  const gets: fc.Arbitrary<Draft> = read.map((path) => ({ method: "GET", path }));
  const lists: fc.Arbitrary<Draft> = fc.oneof(
    providerFilters.map((query) => ({ method: "GET", path: "/resource_providers", query })),
    traitFilters.map((query) => ({ method: "GET", path: "/traits", query })),
    usageFilters.map((query) => ({ method: "GET", path: "/usages", query })),
  );
  const candidates: fc.Arbitrary<Draft> = candidateFilters(at).map((query) => ({
    method: "GET",
    path: "/allocation_candidates",
    query,
  }));
  const deletes: fc.Arbitrary<Draft> = read.map((path) => ({ method: "DELETE", path }));
  const providers: fc.Arbitrary<Draft> = fc.oneof(
    fc.tuple(providerName, providerUuid, parent).map(([name, uuid, up]) => ({
      method: "POST",
      path: "/resource_providers",
      body: withParent({ name, uuid }, at, up),
    })),
    fc.tuple(provider, providerName, parent).map(([path, name, up]) => ({
      method: "PUT",
      path,
      body: withParent({ name }, at, up),
    })),
  );
  const inventory: fc.Arbitrary<Draft> = providerInPath.chain((uuid) => {
    const base = `/resource_providers/${uuid}/inventories`;
    return fc.oneof(
      putInventories(uuid).map((body) => ({ method: "PUT", path: base, body })),
      postInventory(uuid).map((body) => ({ method: "POST", path: base, body })),
      fc
        .tuple(classInPath, putInventory(uuid))
        .map(([name, body]) => ({ method: "PUT", path: `${base}/${name}`, body })),
    );
  });
  const memberships: fc.Arbitrary<Draft> = providerInPath.chain((uuid) => {
    const base = `/resource_providers/${uuid}`;
    return fc.oneof(
      fc.tuple(fc.array(traitName, { maxLength: 3 }), generation(uuid)).map(([traits, current]) => ({
        method: "PUT",
        path: `${base}/traits`,
        body: { traits, resource_provider_generation: current },
      })),
      fc.tuple(fc.array(aggregateUuid, { maxLength: 2 }), generation(uuid)).map(([aggregates, current]) => ({
        method: "PUT",
        path: `${base}/aggregates`,
        body: at < 19 ? aggregates : { aggregates, resource_provider_generation: current },
      })),
    );
  });
  const names: fc.Arbitrary<Draft> = fc.oneof(
    traitInPath.map((name) => ({ method: "PUT", path: `/traits/${name}` })),
    fc.tuple(classInPath, className).map(([name, other]) => ({
      method: "PUT",
      path: `/resource_classes/${name}`,
      ...(at < 7 ? { body: { name: other } } : {}),
    })),
    className.map((name) => ({ method: "POST", path: "/resource_classes", body: { name } })),
  );
  const allocation: fc.Arbitrary<Draft> = fc.oneof(
    consumerUuid.chain((uuid) =>
      allocations(uuid, at).map((body) => ({ method: "PUT", path: `/allocations/${uuid}`, body })),
    ),
    consumerUuid.chain((uuid) =>
      allocations(uuid, at).map((body) => ({ method: "PUT", path: `/allocations/${uuid}`, body })),
    ),
    fc
      .subarray(CONSUMERS, { minLength: 1, maxLength: 2 })
      .chain((uuids) =>
        fc
          .record(Object.fromEntries(uuids.map((uuid) => [uuid, allocations(uuid, Math.max(at, 13))])))
          .map((body) => ({ method: "POST", path: "/allocations", body })),
      ),
  );
  const reshaper: fc.Arbitrary<Draft> = fc
    .tuple(fc.subarray(CONSUMERS, { maxLength: 2 }), fc.subarray(PROVIDERS, { minLength: 1, maxLength: 2 }))
    .chain(([consumers, moved]) =>
      reshape(consumers, moved, at).map((body) => ({ method: "POST", path: "/reshaper", body })),
    );
  const odd: fc.Arbitrary<Draft> = fc
    .tuple(
      fc.constantFrom("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD"),
      fc.oneof(
        read,
        fc.constantFrom(
          "/nothing",
          "/traits/",
          "/resource_providers//",
          "/allocations",
          "/usages",
          "/reshaper",
          "/traits/a/b",
        ),
      ),
      fc.option(junk),
    )
    .map(([method, path, body]) => ({ method, path, ...(body === null || method === "HEAD" ? {} : { body }) }));
  return fc.oneof(
    { weight: 4, arbitrary: gets },
    { weight: 4, arbitrary: lists },
    { weight: 10, arbitrary: candidates },
    { weight: 2, arbitrary: deletes },
    { weight: 4, arbitrary: providers },
    { weight: 7, arbitrary: inventory },
    { weight: 5, arbitrary: memberships },
    { weight: 2, arbitrary: names },
    { weight: 10, arbitrary: allocation },
    { weight: 3, arbitrary: reshaper },
    { weight: 1, arbitrary: odd },
  );
}

const ODD_VERSIONS = [
  "latest",
  "placement",
  "placement 1",
  "placement 1.x",
  "placement 1.40",
  "compute 2.1",
  "Placement  1.07",
  "placement 1.5, compute 2.1",
  "placement 1.10.1",
  "placement LATEST",
  "placement 0.9",
  "placement -1.0",
];

const headerChange: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 60, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_VERSIONS).map((text) => ({ "openstack-api-version": text })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        "text/html",
        "text/plain",
        "garbage",
        "application/json;q=0, text/plain",
        "*/*",
        "application/*",
        "text/*, application/json;q=0.5",
      )
      .map((accept) => ({ accept })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("", "text/plain", "application/json; charset=utf-8", "APPLICATION/JSON")
      .map((type) => ({ "content-type": type })),
  },
  { weight: 1, arbitrary: fc.constantFrom("", "user", "user:project").map((token) => ({ "x-auth-token": token })) },
);

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constantFrom("replace" as const, "add" as const), junk }),
  fc.record({ kind: fc.constant("remove" as const) }),
);

function step(minorVersion: fc.Arbitrary<number>): fc.Arbitrary<Step> {
  return minorVersion.chain((at) =>
    fc
      .record({
        draft: drafts(at),
        change: headerChange,
        mutation: fc.option(fc.tuple(fc.nat(60), mutation), { freq: 8 }).map((each) => each),
        mutated: fc.integer({ min: 0, max: 9 }),
        broken: fc.oneof(
          { weight: 60, arbitrary: fc.constant(null) },
          { weight: 1, arbitrary: fc.constantFrom("cut" as const, "comma" as const, "tail" as const) },
        ),
      })
      .map(({ draft, change, mutation: altered, mutated, broken }) => {
        const headers = { "x-auth-token": "admin", "openstack-api-version": `placement 1.${at}`, ...change };
        const { method, path, query = [], body } = draft;
        if (body === undefined) {
          return { method, path, query, headers };
        }
        const sent = altered !== null && mutated === 0 ? mutate(body, altered[0], altered[1]) : body;
        return { method, path, query, headers, body: sent, ...(broken === null ? {} : { broken }) };
      }),
  );
}

const worldStock: fc.Arbitrary<Json> = fc
  .subarray(["VCPU", "DISK_GB", "MEMORY_MB", "CUSTOM_GOLD"], { minLength: 1 })
  .chain((names) => fc.tuple(fc.constant(names), fc.integer({ min: 2, max: 16 })))
  .map(([names, total]) => Object.fromEntries(names.map((name) => [name, { total }])));

/** Generates an initial state: some providers with parents, inventories, traits and aggregates. */
function worldOf(fewest: number): fc.Arbitrary<Step[]> {
  return fc.integer({ min: fewest, max: PROVIDERS.length }).chain((count) =>
    fc
      .tuple(
        ...PROVIDERS.slice(0, count).map((uuid, index) =>
          fc
            .record({
              up:
                index === 0 ? fc.constant(null) : fc.option(fc.constantFrom(...PROVIDERS.slice(0, index)), { freq: 2 }),
              stock: worldStock,
              traits: fc.subarray(["HW_CPU_X86_AVX", "CUSTOM_FAST", "COMPUTE_NODE", "CUSTOM_QUIET"]),
              shares: fc.integer({ min: 0, max: 3 }),
              aggregates: fc.subarray([1, 2].map((n) => `a000000${n}-3333-4333-8333-33333333333${n}`)),
            })
            .map(({ up, stock, traits, shares, aggregates }): Step[] => {
              const base = `/resource_providers/${uuid}`;
              const name = `world ${index}`;
              const all = shares === 0 ? [...traits, "MISC_SHARES_VIA_AGGREGATE"] : traits;
              return [
                { ...put("/resource_providers", { name, uuid, parent_provider_uuid: up }), method: "POST" },
                put(`${base}/inventories`, { resource_provider_generation: 0, inventories: stock }),
                {
                  ...put(`${base}/aggregates`, aggregates),
                  headers: { ...newest, "openstack-api-version": "placement 1.1" },
                },
                put(`${base}/traits`, { traits: all, resource_provider_generation: 1 }),
              ];
            }),
        ),
      )
      .map((parts) => [
        put("/traits/CUSTOM_FAST"),
        put("/traits/CUSTOM_QUIET"),
        put("/resource_classes/CUSTOM_GOLD"),
        ...parts.flat(),
      ]),
  );
}

/** Random requests after a random initial state. */
export const sequence: fc.Arbitrary<Step[]> = fc
  .tuple(worldOf(0), fc.array(step(minor), { minLength: 1, maxLength: 25, size: "max" }))
  .map(([start, steps]) => [...start, ...steps]);

/** Only searches, after a random initial state with allocations. */
export const searches: fc.Arbitrary<Step[]> = fc
  .tuple(
    worldOf(3),
    fc.array(
      fc
        .constantFrom(...CONSUMERS)
        .chain((uuid) => allocations(uuid, 39).map((body) => put(`/allocations/${uuid}`, body))),
      { maxLength: 3 },
    ),
    fc.array(
      fc.integer({ min: 16, max: 39 }).chain((at) =>
        candidateFilters(at).map((query): Step => {
          const headers = { ...newest, "openstack-api-version": `placement 1.${at}` };
          return { method: "GET", path: "/allocation_candidates", query, headers };
        }),
      ),
      { minLength: 1, maxLength: 40, size: "max" },
    ),
  )
  .map(([start, changes, queries]) => [...start, ...changes, ...queries]);
