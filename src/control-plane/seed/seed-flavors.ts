import { type Flavor, sizesForApi, sizesFromApi } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import { ClusterError } from "../cluster-error.js";
import type { Store } from "../store/store.js";
import { fieldChanges, type SeedStep, withoutDefaults } from "./change.js";
import type { FlavorText } from "./seed-schema.js";
import type { ProjectNames } from "./seed-users.js";

const DEFAULTS = {
  disk: 0,
  ephemeral: 0,
  swap: 0,
  rxtx_factor: 1,
  is_public: true,
  access: [],
  description: "",
  extra_specs: {},
} as const satisfies Partial<FlavorText>;

/**
 * The fields of a flavor that cannot be changed: the flavor is deleted and recreated. Existing servers are not
 * affected.
 */
const SIZES = ["id", "vcpus", "ram", "disk", "ephemeral", "swap", "rxtx_factor", "is_public"];

/** The flavor of the embedded Ironic's nodes, which is created with them. */
const BAREMETAL = "baremetal";

type Full = Required<FlavorText>;

export interface FlavorParts {
  readonly store: Store;
  readonly random: Pick<Random, "uuid">;
  readonly projects: ProjectNames;
}

export function exportFlavors({ store, projects }: FlavorParts): FlavorText[] {
  return store.flavors.list().map((flavor) => ({
    ...(withoutDefaults(fullOf(flavor, store.flavors.projects(flavor.flavorid), projects), DEFAULTS) as FlavorText),
  }));
}

/**
 * Returns the changes after which exactly the desired flavors exist.
 * @param ironic whether there are bare-metal nodes, and hence their flavor
 */
export function flavorSteps(parts: FlavorParts, desired: readonly FlavorText[], ironic: boolean): readonly SeedStep[] {
  const { store, projects, random } = parts;
  const before = new Map(store.flavors.list().map((flavor) => [flavor.name, flavor]));
  const byId = new Map([...before.values()].map((flavor) => [flavor.flavorid, flavor]));
  const create = (text: Full) => {
    store.flavors.create({
      flavorid: text.id,
      name: text.name,
      ...sizesFromApi((name) => text[name]),
      rxtxFactor: text.rxtx_factor,
      isPublic: text.is_public,
      description: text.description === "" ? null : text.description,
      extraSpecs: { ...text.extra_specs },
    });
    for (const name of text.access) {
      store.flavors.addProject(text.id, projects.idOf(name));
    }
  };
  const names = new Set(desired.map(({ name }) => name));
  const gone = [...before.values()].filter(({ name }) => !names.has(name) && !(ironic && name === BAREMETAL));
  // Removed first, because new flavors may use their ids.
  const removed = gone.map(({ name, flavorid }): SeedStep => {
    return { sign: "-", text: `flavor ${name}`, destroys: true, apply: () => store.flavors.destroy(flavorid) };
  });
  const others = desired.flatMap((text): SeedStep[] => {
    const found = before.get(text.name);
    if (found === undefined) {
      const full: Full = { ...DEFAULTS, ...text, id: text.id ?? random.uuid() };
      return [{ sign: "+", text: `flavor ${text.name}`, destroys: false, apply: () => create(full) }];
    }
    const now = fullOf(found, store.flavors.projects(found.flavorid), projects);
    const full: Full = { ...DEFAULTS, ...text, id: text.id ?? found.flavorid, access: [...(text.access ?? [])].sort() };
    const what = fieldChanges({ ...now }, { ...full });
    if (what.length === 0) {
      return [];
    }
    const isOther = what.some((change) => SIZES.includes(change.split(" ", 1)[0] ?? ""));
    const apply = () => {
      if (isOther) {
        store.flavors.destroy(found.flavorid);
        create(full);
        return;
      }
      const { flavorid } = found;
      store.flavors.update(flavorid, { description: full.description === "" ? null : full.description });
      store.flavors.setExtraSpecs(flavorid, full.extra_specs);
      for (const name of now.access) {
        store.flavors.removeProject(flavorid, projects.idOf(name));
      }
      for (const name of full.access) {
        store.flavors.addProject(flavorid, projects.idOf(name));
      }
    };
    return [{ sign: "~", text: `flavor ${text.name}: ${what.join(", ")}`, destroys: isOther, apply }];
  });
  // An id that belongs to another flavor.
  const clash = desired.find(({ id, name }) => {
    const owner = id === undefined ? undefined : byId.get(id);
    return owner !== undefined && owner.name !== name && names.has(owner.name);
  });
  if (clash !== undefined) {
    throw new ClusterError(
      "SeedRefused",
      `flavor ${clash.name} cannot have id ${clash.id}: flavor ${byId.get(clash.id ?? "")?.name} has it`,
    );
  }
  return [...removed, ...others];
}

function fullOf(flavor: Flavor, access: readonly string[], projects: ProjectNames): Full {
  return {
    name: flavor.name,
    id: flavor.flavorid,
    ...sizesForApi(flavor),
    rxtx_factor: flavor.rxtxFactor,
    is_public: flavor.isPublic,
    access: access.map((id) => projects.nameOf(id)).sort(),
    description: flavor.description ?? "",
    extra_specs: { ...flavor.extraSpecs },
  };
}
