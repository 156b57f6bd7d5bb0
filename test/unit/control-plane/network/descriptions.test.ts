import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { type NetworkResource, NOT_SPECIFIED } from "../../../../src/control-plane/network/engine/network-resource.js";
import { TAG_FILTERS } from "../../../../src/control-plane/network/engine/tags.js";
import { NETWORK_RESOURCES } from "../../../../src/control-plane/network/network-resources.js";

/** An attribute as Neutron's attribute maps have it; absent flags are false. */
interface NeutronAttribute {
  readonly allow_post?: boolean;
  readonly allow_put?: boolean;
  readonly default?: unknown;
  readonly validate?: Readonly<Record<string, unknown>>;
  readonly convert_to?: string;
  readonly convert_list_to?: string;
  readonly visible?: boolean;
  readonly enforce_policy?: boolean;
  readonly required_by_policy?: boolean;
  readonly filter?: boolean;
  readonly sort_key?: boolean;
}

interface NeutronResource {
  readonly singular: string;
  readonly paths: Readonly<Record<string, readonly string[]>>;
  readonly attributes: Readonly<Record<string, NeutronAttribute>>;
}

interface NeutronResources {
  readonly quotas: Readonly<Record<string, number>>;
  readonly resources: Readonly<Record<string, NeutronResource>>;
}

const GOLDEN = new URL("../../../fixtures/golden/neutron/resources.json", import.meta.url);

/** The attribute maps of Neutron 21 with all plugins that need no other service. */
const NEUTRON = JSON.parse(readFileSync(GOLDEN, "utf8")) as NeutronResources;

const RESOURCES = NETWORK_RESOURCES.map(({ resource }) => resource);

/** Differences on purpose, by their subject, with the reason. */
const MEANT: Readonly<Record<string, string>> = {
  "ports mac_address validate": "null requests a generated address; Neutron's converter generates it before the check",
  "floatingips/port_forwardings protocol validate": "the file has no members of Python's dict_keys",
  "routers/conntrack_helpers protocol validate": "the file has no members of Python's dict_keys",
};

/** Paths of Neutron's that are not served: the extension declares them without a controller. */
const UNSERVED_PATHS: Readonly<Record<string, string>> = {
  "/v2.0/qos/networks": "the extension repeats the collection of the core",
  "/v2.0/qos/ports": "the extension repeats the collection of the core",
};

const pathOf = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

function findOurs({ paths }: NeutronResource, key: string): NetworkResource | undefined {
  const known = new Set(Object.keys(paths).map(pathOf));
  return (
    RESOURCES.find(({ path }) => known.has(path)) ??
    RESOURCES.find(({ collection }) => collection === key.split("/").at(-1))
  );
}

interface Difference {
  /** `networks status filter`: collection, attribute and member. */
  readonly subject: string;
  readonly neutron: unknown;
  readonly ours: unknown;
}

function differencesOf(key: string, neutron: NeutronResource): readonly Difference[] {
  const resource = findOurs(neutron, key);
  const described = resource ? describeOurs(resource) : {};
  return Object.entries(neutron.attributes)
    .filter(([name]) => name !== "tenant_id" && !(resource?.tagged && Object.hasOwn(TAG_FILTERS, name)))
    .flatMap(([name, attribute]): readonly Difference[] => {
      const expected = summarize(attribute);
      const found = described[name];
      if (found === undefined) {
        return [{ subject: `${key} ${name}`, neutron: expected, ours: undefined }];
      }
      const members = new Set([...Object.keys(expected), ...Object.keys(found)]);
      return [...members].flatMap((member) => {
        const [theirs, ours]: readonly unknown[] = [Reflect.get(expected, member), Reflect.get(found, member)];
        return isDeepStrictEqual(theirs, ours) ? [] : [{ subject: `${key} ${name} ${member}`, neutron: theirs, ours }];
      });
    });
}

/** Returns what requests and lists can do with an attribute; rules of values only where requests may have it. */
function summarize(attribute: NeutronAttribute) {
  const isInput = attribute.allow_post || attribute.allow_put;
  return {
    post: attribute.allow_post === true,
    put: attribute.allow_put === true,
    visible: attribute.visible === true,
    policy: attribute.enforce_policy === true,
    requiredByPolicy: attribute.required_by_policy === true,
    filter: attribute.filter === true,
    sort: attribute.sort_key === true,
    ...(attribute.allow_post && {
      default: attribute.default ?? (Object.hasOwn(attribute, "default") ? null : "none"),
    }),
    ...(isInput && { validate: attribute.validate ?? {} }),
    ...((isInput || attribute.filter) && {
      converter: attribute.convert_to ?? null,
      listConverter: attribute.convert_list_to ?? null,
    }),
  };
}

function describeOurs({ attributes }: NetworkResource): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => {
      const { post, put, type } = attribute;
      const isInput = post || put;
      return [
        name,
        {
          post: post === true,
          put: put === true,
          visible: attribute.visible !== false,
          policy: attribute.policy === true,
          requiredByPolicy: attribute.requiredByPolicy === true,
          filter: attribute.filter === true,
          sort: attribute.sort === true,
          ...(post && { default: defaultOf(name, attribute.default) }),
          ...(isInput && {
            validate: type.validator === undefined ? {} : { [type.validator]: type.parameter ?? null },
          }),
          ...((isInput || attribute.filter) && {
            converter: type.converter ?? null,
            listConverter: type.listConverter ?? null,
          }),
        },
      ];
    }),
  );
}

function defaultOf(name: string, value: unknown): unknown {
  if (value === undefined) {
    return "none";
  }
  if (value !== NOT_SPECIFIED) {
    return value;
  }
  return name === "project_id" ? "(the project of the request)" : "ATTR_NOT_SPECIFIED";
}

/** Sub-resources that are no records: routes of their own show the schedules of agents. */
const SCHEDULES: readonly string[] = ["agents/dhcp-networks", "networks/dhcp-agents"];

const DESCRIBED = Object.entries(NEUTRON.resources).filter(([key]) => !SCHEDULES.includes(key));

describe.each(DESCRIBED)("the description of %s", (key, neutron) => {
  test("has the paths and member actions of Neutron", () => {
    const ours = findOurs(neutron, key);
    for (const [path, actions] of Object.entries(neutron.paths)) {
      if (path in UNSERVED_PATHS) {
        continue;
      }
      const served = RESOURCES.filter((resource) => resource.path === pathOf(path));
      expect(
        served.map(({ path }) => path),
        path,
      ).toContain(pathOf(path));
      const ourActions = Object.entries(ours?.actions ?? {}).map(([name, method]) => `${method} ${name}`);
      expect(ourActions.sort(), path).toEqual(expect.arrayContaining([...actions].sort()));
    }
    expect(ours?.singular).toBe(neutron.singular);
  });

  test("has the attributes that requests may have in Neutron's order", () => {
    const ours = Object.entries(findOurs(neutron, key)?.attributes ?? {});
    const order = Object.keys(neutron.attributes).filter((name) => name !== "project_id");
    const names = ours.filter(([, { post, put }]) => post || put).map(([name]) => name);
    const expected = order.filter((name) => names.includes(name));
    expect(names.filter((name) => order.includes(name))).toEqual(expected);
  });

  test("has each attribute with Neutron's flags, default, validator and converter", () => {
    const unexplained = differencesOf(key, neutron).filter(({ subject }) => !(subject in MEANT));
    expect(unexplained.map((difference) => JSON.stringify(difference))).toEqual([]);
  });
});

test("each quota of Neutron has its default", () => {
  const ours = Object.fromEntries(RESOURCES.flatMap(({ quota }) => (quota ? [[quota.name, quota.default]] : [])));
  expect(ours).toMatchObject(NEUTRON.quotas);
});

test("each difference on purpose is one", () => {
  const subjects = Object.entries(NEUTRON.resources).flatMap(([key, neutron]) =>
    differencesOf(key, neutron).map(({ subject }) => subject),
  );
  expect(Object.keys(MEANT).filter((subject) => !subjects.includes(subject))).toEqual([]);
});
