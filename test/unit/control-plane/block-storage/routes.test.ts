import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BLOCK_STORAGE_ROUTES } from "../../../../src/control-plane/block-storage/block-storage-routes.js";
import { BLOCK_STORAGE_POLICIES } from "../../../../src/control-plane/block-storage/policies.js";
import type { SchemaVersions } from "../../../../src/control-plane/http/schemas.js";

interface GoldenMethod {
  /** `3.27`; null: all. */
  readonly min: string | null;
  readonly bodies?: readonly { readonly min: string | null; readonly schema: unknown }[];
}

interface GoldenRoute {
  readonly method: string;
  readonly path: string;
  /** The action of a route that dispatches by its body. */
  readonly action?: string;
  readonly methods: readonly GoldenMethod[];
}

interface GoldenPolicy {
  readonly name: string;
  readonly check: string;
}

const GOLDEN = new URL("../../../fixtures/golden/cinder/routes.json", import.meta.url);

const { routes, policies } = JSON.parse(readFileSync(GOLDEN, "utf8")) as {
  readonly routes: readonly GoldenRoute[];
  readonly policies: readonly GoldenPolicy[];
};

/** Routes of Cinder that the service lacks, with the reason. */
const MISSING: Readonly<Record<string, string>> = {
  "DELETE /groups/*": "groups are deleted by an action; the route has no microversion that serves it",
  "PUT /os-hosts": "not implemented by Cinder, either",
  "PUT /os-hosts/*": "not implemented by Cinder, either",
};

/** Routes whose first microversion differs from the recorded one, with the reason. */
const OTHER_VERSION: Readonly<Record<string, string>> = {
  "GET /manageable_volumes": "the recorded list has no minimum, but clients may not send older versions",
  "GET /manageable_volumes/detail": "as above",
  "POST /manageable_volumes": "as above",
  "GET /manageable_snapshots": "as above",
  "GET /manageable_snapshots/detail": "as above",
  "POST /manageable_snapshots": "as above",
};

/** Replaces names of parameters. */
const keyOf = (method: string, path: string): string => `${method} ${path.replace(/:\w+|\{\w+\}/g, "*")}`;

const minorOf = (version: string | null): number => Number(version?.split(".")[1] ?? 0);

const OURS = new Map(BLOCK_STORAGE_ROUTES.map((route) => [keyOf(route.method, route.path), route]));

const THEIRS = new Map(routes.map((route) => [keyOf(route.method, route.path), route]));

test("the service has the routes of a real Cinder", () => {
  const missing = [...THEIRS.keys()].filter((key) => !OURS.has(key));
  expect(missing.sort()).toEqual(Object.keys(MISSING).sort());
  // Default types have paths without a project, which the recorded ones lack.
  const more = [...OURS.keys()].filter((key) => !THEIRS.has(key) && !key.includes("/default-types"));
  expect(more).toEqual([]);
});

test("each route has the first microversion of a real Cinder", () => {
  const other = [...THEIRS].filter(([key, { action, methods }]) => {
    const ours = OURS.get(key);
    return action === undefined && ours !== undefined && (ours.from ?? 0) !== minorOf(methods[0]?.min ?? null);
  });
  expect(other.map(([key]) => key).sort()).toEqual(Object.keys(OTHER_VERSION).sort());
});

test("each action of a real Cinder exists from the same microversion", () => {
  // The recorded table crosses the actions of both paths of groups: those of a group are at its own path.
  const recorded = routes
    .filter(
      ({ path, action }) => action !== undefined && (path === "/groups/action") === (action === "create-from-src"),
    )
    .filter(({ path, action }) => !(path === "/groups/{id}/action" && action === "create-from-src"));
  const missing = recorded.filter(({ method, path, action = "", methods }) => {
    const { from = 0, actions = {} } = OURS.get(keyOf(method, path)) ?? {};
    const ours = actions[action];
    return ours === undefined || (ours.from ?? from) !== Math.max(minorOf(methods[0]?.min ?? null), from);
  });
  expect(missing.map(({ path, action }) => `${path} ${action}`)).toEqual([]);
  expect(recorded).toHaveLength(40);
});

test("each body has the schemas of a real Cinder at each microversion", () => {
  const compared = [...THEIRS].flatMap(([key, { action, methods }]) => {
    const bodies = methods[0]?.bodies ?? [];
    const ours = OURS.get(key);
    return action !== undefined || ours === undefined || bodies.length === 0 ? [] : [{ key, ours, bodies }];
  });
  for (const { key, ours, bodies } of compared) {
    const { versions } = ours.body as SchemaVersions<unknown>;
    const [firstVersion = 0] = versions[0] ?? [];
    expect([key, versions.map(([from, schema]) => [from, comparable(schema)])]).toEqual([
      key,
      bodies.map(({ min, schema }, index) => [index === 0 ? firstVersion : minorOf(min), comparable(schema)]),
    ]);
  }
  expect(compared.length).toBeGreaterThan(30);
});

/**
 * Returns a schema without what cannot matter: patterns of printable characters, which Python writes as ranges, and a
 * property `type` with a text instead of a schema, a slip of Cinder's.
 */
function comparable(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    return schema.map(comparable);
  }
  if (typeof schema !== "object" || schema === null) {
    return typeof schema === "string" && schema.includes(String.raw`\p{C}`) ? "PRINTABLE" : schema;
  }
  const members = Object.entries(schema).filter(
    ([name, value]) => !(name === "type" && value === "object" && !("type" in schema && isSchema(schema))),
  );
  return Object.fromEntries(members.map(([name, value]) => [name, comparable(value)]));
}

/** Whether an object is a schema, and no map of properties that happens to have a member `type`. */
function isSchema(value: object): boolean {
  return ["properties", "patternProperties", "additionalProperties", "minProperties"].some((name) => name in value);
}

test("each rule is that of a real Cinder", () => {
  expect(Object.keys(BLOCK_STORAGE_POLICIES).sort()).toEqual(policies.map(({ name }) => name).sort());
  const other = policies.filter(({ name, check }) => BLOCK_STORAGE_POLICIES[name] !== check).map(({ name }) => name);
  // Former rules are joined with the new ones, unless a cloud enforces these.
  expect(other.sort()).toEqual(["xena_system_admin_or_project_member", "xena_system_admin_or_project_reader"]);
});
