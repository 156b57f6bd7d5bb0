import { RELEASES, type Release } from "../../records/index.js";
import { ZED_OBJECTS } from "./zed-objects.js";

/** What a control plane of one release understands, and what it expects of a nova-compute. */
export interface ReleaseProfile {
  readonly release: Release;
  /** SERVICE_VERSION of the release: what an agent under it says it is. */
  readonly serviceVersion: number;
  /** Services of the release do not start beside an older nova-compute. */
  readonly oldestServiceVersion: number;
  /** Minor version of compute RPC 6. */
  readonly computeRpcMinor: number;
  /** The newest version of each object that it can read. */
  readonly objects: ReadonlyMap<string, string>;
}

interface Step {
  readonly release: Release;
  readonly oldest: number;
  readonly computeRpcMinor: number;
  /** Objects that the release has newer than the one before. */
  readonly newer: Readonly<Record<string, string>>;
}

/** From Nova's own test of object hashes (nova/tests/unit/objects/test_objects.py) at the tags 26.2.2 to 34.0.0. */
const STEPS: readonly Step[] = [
  { release: "zed", oldest: 61, computeRpcMinor: 1, newer: ZED_OBJECTS },
  { release: "antelope", oldest: 61, computeRpcMinor: 2, newer: {} },
  { release: "bobcat", oldest: 66, computeRpcMinor: 2, newer: { Instance: "2.8", Migration: "1.8" } },
  {
    release: "caracal",
    oldest: 66,
    computeRpcMinor: 3,
    newer: {
      ConsoleAuthToken: "1.2",
      ImageMetaProps: "1.37",
      LibvirtLiveMigrateData: "1.11",
      RequestSpec: "1.15",
      ShareMapping: "1.0",
      ShareMappingList: "1.0",
    },
  },
  {
    release: "dalmatian",
    oldest: 66,
    computeRpcMinor: 3,
    newer: { ImageMetaProps: "1.38", LibvirtLiveMigrateData: "1.12" },
  },
  {
    release: "epoxy",
    oldest: 66,
    computeRpcMinor: 4,
    newer: {
      ConsoleAuthToken: "1.3",
      HyperVLiveMigrateData: "1.5",
      ImageMetaProps: "1.39",
      LibvirtLiveMigrateData: "1.13",
      ShareMapping: "1.2",
      ShareMetadata: "1.0",
      VMwareLiveMigrateData: "1.1",
    },
  },
  { release: "flamingo", oldest: 68, computeRpcMinor: 4, newer: { ImageMetaProps: "1.42" } },
  { release: "gazpacho", oldest: 68, computeRpcMinor: 5, newer: { LibvirtLiveMigrateData: "1.14" } },
  { release: "hibiscus", oldest: 72, computeRpcMinor: 5, newer: { ImageMetaProps: "1.44", ShareMappingList: "1.1" } },
];

/**
 * Oldest first.
 * @internal for tests
 */
export const PROFILES: readonly ReleaseProfile[] = STEPS.map(({ release, oldest, computeRpcMinor }, at) => ({
  release,
  serviceVersion: RELEASES[release],
  oldestServiceVersion: oldest,
  computeRpcMinor,
  objects: new Map(STEPS.slice(0, at + 1).flatMap(({ newer }) => Object.entries(newer))),
}));

/** What every conductor understands; in use until one has said what it is. */
export const OLDEST_PROFILE: ReleaseProfile = profileOf(0);

/** The newest release that is known. */
export const NEWEST_PROFILE: ReleaseProfile = profileOf(Number.MAX_SAFE_INTEGER);

/**
 * The newest release whose services are not newer than `serviceVersion`. Two releases have 66, two have 67: the older one is taken, of
 * which the newer one understands everything. Nothing older than the first is known, which is then taken all the same.
 */
export function profileOf(serviceVersion: number): ReleaseProfile {
  const reached = PROFILES.filter((profile) => profile.serviceVersion <= serviceVersion);
  const newest = Math.max(...reached.map((profile) => profile.serviceVersion));
  const found = reached.find((profile) => profile.serviceVersion === newest) ?? PROFILES[0];
  if (found === undefined) {
    throw new Error("there is no profile");
  }
  return found;
}
