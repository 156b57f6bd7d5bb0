import { InvalidConfiguration } from "../../../src/virt/index.js";
import { IronicError, isRecord } from "./ironic-error.js";

/** What this client was written for. */
const NEWEST = "1.82";
/** Without it there are no traits, resource classes or rescue in one form. */
const OLDEST = "1.46";
/** `shard` of nodes. */
const SHARDS = "1.82";
/** Config drives as an object that Ironic makes an image of. */
export const CONFIG_DRIVE_OBJECTS = "1.56";

const minor = (version: string): number => Number(/^1\.(\d+)$/.exec(version)?.[1] ?? Number.NaN);

export const atLeast = (version: string, minimum: string): boolean => minor(version) >= minor(minimum);

/**
 * The version to speak, from what `GET /` says.
 * @throws {InvalidConfiguration} there is none that both know, or one without the option that needs it.
 */
export function chooseVersion(root: unknown, needs: { readonly shard: boolean }): string {
  const { oldest, newest } = offered(root);
  const chosen = atLeast(NEWEST, newest) ? newest : NEWEST;
  if (!atLeast(chosen, OLDEST) || !atLeast(chosen, oldest)) {
    throw new InvalidConfiguration(
      `Ironic offers API versions ${oldest} to ${newest}, but this driver needs one of ${OLDEST} to ${NEWEST}`,
    );
  }
  if (needs.shard && !atLeast(chosen, SHARDS)) {
    throw new InvalidConfiguration(
      `[ironic] shard is set, which needs Ironic's API version ${SHARDS}, but Ironic offers ${newest} at most: unset shard, or upgrade Ironic`,
    );
  }
  return chosen;
}

function offered(root: unknown): { readonly oldest: string; readonly newest: string } {
  const candidates = isRecord(root)
    ? [root.default_version, ...(Array.isArray(root.versions) ? (root.versions as unknown[]) : [])]
    : [];
  for (const candidate of candidates) {
    if (!isRecord(candidate) || candidate.id !== "v1") {
      continue;
    }
    const { min_version: oldest, version: newest } = candidate;
    if (typeof oldest === "string" && typeof newest === "string") {
      return { oldest, newest };
    }
  }
  throw new IronicError("malformed", 200, "what answers GET / is no Ironic: it names no range of API versions of v1");
}
