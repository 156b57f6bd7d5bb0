import { cpuRequest } from "./cpu-request.js";
import { type Flavor, type FlavorSizes, localDiskGb, type Resources } from "./flavor.js";
import { STANDARD_RESOURCE_CLASSES } from "./standard-resource-classes.js";

/** The part of a flavor that says what a server takes. */
export type FlavorNeed = FlavorSizes & Pick<Flavor, "extraSpecs">;

/** What a server takes beside its flavor. */
export interface ServerNeed {
  /** Its root disk is a volume. Default false. */
  readonly volumeBacked?: boolean;
  /** The properties of its image. Default none. */
  readonly imageProperties?: Readonly<Record<string, string>>;
}

/** A request group of Placement's `GET /allocation_candidates`. */
interface RequestGroup {
  /** Empty: several providers of a tree may serve the group together; else a single provider serves it. */
  readonly suffix: string;
  readonly resources: Resources;
  readonly requiredTraits: ReadonlySet<string>;
  readonly forbiddenTraits: ReadonlySet<string>;
}

/** What a server asks of Placement, as Nova's `ResourceRequest` has it. */
export interface ResourceRequest {
  /** None is empty; the one without a suffix comes first. */
  readonly groups: readonly RequestGroup[];
  /** Null: the flavor says nothing, or something else than these. */
  readonly groupPolicy: "none" | "isolate" | null;
}

/** `resources:RC`, `resources1:RC`, `trait_NET:TRAIT`. */
const GROUPED = /^(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)$/;
/** As Python reads a whole number. */
const AMOUNT = /^\s*\+?[0-9]+\s*$/;
const IMAGE_TRAIT = "trait:";

interface Draft {
  readonly resources: Map<string, number>;
  readonly requiredTraits: Set<string>;
  readonly forbiddenTraits: Set<string>;
}

/** The one place where a flavor, with its extra specs, and an image become resources and traits (spec 1.6). */
export function resourceRequest(flavor: FlavorNeed, need: ServerNeed = {}): ResourceRequest {
  const drafts = new Map<string, Draft>();
  draftOf(drafts, "");
  for (const [key, value] of Object.entries(flavor.extraSpecs)) {
    const [, kind, suffix = "", name = ""] = GROUPED.exec(key) ?? [];
    if (kind === "resources") {
      addResource(drafts, suffix, name, value);
    } else if (kind === "trait") {
      addTrait(drafts, suffix, name, value);
    }
  }
  const imageProperties = need.imageProperties ?? {};
  for (const [name, value] of Object.entries(imageProperties)) {
    // Images know no groups, and forbid nothing.
    if (name.startsWith(IMAGE_TRAIT) && value === "required") {
      addTrait(drafts, "", name.slice(IMAGE_TRAIT.length), value);
    }
  }
  const cpus = cpuRequest(flavor, imageProperties);
  for (const [name, amount] of Object.entries(cpus.resources)) {
    draftOf(drafts, "").resources.set(name, amount);
  }
  if (cpus.hyperthreading !== null) {
    addTrait(drafts, "", "HW_CPU_HYPERTHREADING", cpus.hyperthreading);
  }
  addFlavorsOwn(drafts, flavor, need.volumeBacked ?? false);
  const policy = flavor.extraSpecs.group_policy;
  return {
    groups: [...drafts].map(([suffix, draft]) => finish(suffix, draft)).filter(hasRequirements),
    groupPolicy: policy === "none" || policy === "isolate" ? policy : null,
  };
}

/** Amounts of the flavor's fields count unless an extra spec of any group names the class, zero amounts included. */
function addFlavorsOwn(drafts: Map<string, Draft>, flavor: FlavorNeed, volumeBacked: boolean): void {
  const named = new Set([...drafts.values()].flatMap(({ resources }) => [...resources.keys()]));
  const { resources } = draftOf(drafts, "");
  if (!named.has("VCPU") && !named.has("PCPU")) {
    resources.set("VCPU", flavor.vcpus);
  }
  if (!named.has("MEMORY_MB")) {
    resources.set("MEMORY_MB", flavor.memoryMb);
  }
  if (!named.has("DISK_GB")) {
    resources.set("DISK_GB", localDiskGb(flavor, volumeBacked));
  }
}

/** The amounts of all groups together, by class. */
function mergedResources({ groups }: ResourceRequest): Resources {
  const amounts: Record<string, number> = {};
  for (const { resources } of groups) {
    for (const [name, amount] of Object.entries(resources)) {
      amounts[name] = (amounts[name] ?? 0) + amount;
    }
  }
  return amounts;
}

/** What a server of this flavor holds in Placement, wherever in the tree: {@link resourceRequest} with all groups added up. */
export function flavorResources(flavor: FlavorNeed, need: ServerNeed = {}): Resources {
  return mergedResources(resourceRequest(flavor, need));
}

/** Nova warns of a class that cannot be and of an amount that is none, and goes on without them. */
function addResource(drafts: Map<string, Draft>, suffix: string, name: string, value: string): void {
  if (!name.startsWith("CUSTOM_") && !STANDARD_RESOURCE_CLASSES.includes(name)) {
    return;
  }
  if (AMOUNT.test(value)) {
    draftOf(drafts, suffix).resources.set(name, Number(value));
  }
}

function addTrait(drafts: Map<string, Draft>, suffix: string, name: string, value: string): void {
  if (value === "required") {
    draftOf(drafts, suffix).requiredTraits.add(name);
  } else if (value === "forbidden") {
    draftOf(drafts, suffix).forbiddenTraits.add(name);
  }
}

function draftOf(drafts: Map<string, Draft>, suffix: string): Draft {
  const known = drafts.get(suffix);
  if (known !== undefined) {
    return known;
  }
  const made: Draft = { resources: new Map(), requiredTraits: new Set(), forbiddenTraits: new Set() };
  drafts.set(suffix, made);
  return made;
}

function finish(suffix: string, { resources, requiredTraits, forbiddenTraits }: Draft): RequestGroup {
  const requested = [...resources].filter(([, amount]) => amount > 0);
  return { suffix, resources: Object.fromEntries(requested), requiredTraits, forbiddenTraits };
}

function hasRequirements({ resources, requiredTraits, forbiddenTraits }: RequestGroup): boolean {
  return Object.keys(resources).length > 0 || requiredTraits.size > 0 || forbiddenTraits.size > 0;
}
