import { dirname, resolve } from "node:path";
import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/fault-points.js";
import { stateDir } from "../../../control-plane/local/state-dir.js";
import { keyOfImage } from "../../../control-plane/seed/seed-images.js";
import { InvalidFault, parseFaultRule } from "../../../faults/fault-rules.js";
import type { Digests } from "../../../runtime/digests.js";
import type { Files } from "../../../runtime/files.js";
import { isPath, type UpOptions } from "../up-children.js";
import { checkSeed } from "./check-seed.js";
import { CLUSTER_FILE, type ClusterFile } from "./cluster-file.js";
import type { Problem, TextPart } from "./file-text.js";
import { UP_FLAGS, valueOfFlag } from "./flag-keys.js";
import { type HostsOfGroup, inOneLine, readGroups } from "./host-groups.js";
import { assertNoProblems, readFileText } from "./read-file-text.js";
import { checkSchema } from "./schema-problems.js";

/** A cluster file and the flags beside it: all that `up` is to make. */
export interface ClusterDescription {
  readonly path: string;
  /** As if all of it had been said by flags. */
  readonly options: UpOptions;
  /** Undefined: the file says nothing of hosts. */
  readonly groups: readonly HostsOfGroup[] | undefined;
  readonly file: ClusterFile;
  /** Absolute paths of the images' bytes, by {@link keyOfImage}. */
  readonly imageFiles: ReadonlyMap<string, string>;
}

/**
 * @param given flags of `up` that stand on the command line: the file may not say the same
 * @throws {FileInvalid}
 */
export async function readClusterFile(
  path: string,
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  { files, digests, cwd }: { readonly files: Files; readonly digests: Pick<Digests, "sha256">; readonly cwd: string },
): Promise<ClusterDescription> {
  const absolute = resolve(cwd, path);
  const text = await readFileText(path, absolute, files, "compute-cluster file writes that of a cluster");
  const problems: Problem[] = [];
  const description = await describe({ path, folder: dirname(absolute), text }, flags, { digests, cwd }, problems);
  assertNoProblems(path, problems);
  return description;
}

/**
 * What a text says of a cluster, the whole of a file or a part of one. Problems are added to the list; the description is none
 * then.
 */
export async function describe(
  { path, folder, text }: { readonly path: string; readonly folder: string; readonly text: TextPart },
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  { digests, cwd }: { readonly digests: Pick<Digests, "sha256">; readonly cwd: string },
  problems: Problem[],
): Promise<ClusterDescription> {
  const checked = checkSchema(CLUSTER_FILE, text, problems);
  const options = merged(checked, text, { ...flags, folder, cwd }, problems);
  const groups = await readGroups(
    checked,
    text,
    {
      folder,
      root: stateDir(options.stateDir, cwd).root,
      digests,
      driver: options.driver,
      configFiles: options.configFile,
    },
    problems,
  );
  checkIronic(checked, text, problems);
  checkSeed(checked, text, problems);
  const images = (checked.images ?? []).flatMap((image) =>
    image.file === undefined ? [] : [[keyOfImage(image), resolve(folder, image.file)] as const],
  );
  const named =
    groups && new Map(groups.flatMap(({ hosts, setting }) => hosts.map((host) => [host, setting] as const)));
  return {
    path,
    options: { ...options, ...(named === undefined ? {} : { named }) },
    groups,
    file: checked,
    imageFiles: new Map(images),
  };
}

function merged(
  file: ClusterFile,
  text: TextPart,
  place: {
    readonly options: UpOptions;
    readonly providedOptions: ReadonlySet<string>;
    readonly folder: string;
    readonly cwd: string;
  },
  problems: Problem[],
): UpOptions {
  const { options, providedOptions, folder, cwd } = place;
  const fileOptions: Record<string, unknown> = {};
  for (const { key, attribute, flag } of UP_FLAGS) {
    if (file[key] === undefined) {
      continue;
    }
    if (providedOptions.has(attribute)) {
      problems.push({ ...text.place([key], true), text: `${key} is said by ${flag}, too; leave one of the two out` });
    }
    const value = valueOfFlag(file, key, folder);
    if (typeof value === "object" && "problem" in value) {
      problems.push({ ...text.place([key]), text: value.problem });
    } else {
      fileOptions[attribute] = value.value;
    }
  }
  if (file.processes !== undefined && file.hosts_per_process !== undefined) {
    problems.push({
      ...text.place(["hosts_per_process"], true),
      text: "found processes, too, expected one of the two",
    });
  }
  for (const flag of file.hosts === undefined ? [] : ["releases"]) {
    if (providedOptions.has(flag)) {
      problems.push({ ...text.place(["hosts"], true), text: `hosts have their own release; leave --${flag} out` });
    }
  }
  const driver = options.driver !== undefined && isPath(options.driver) ? resolve(cwd, options.driver) : options.driver;
  return {
    ...options,
    ...(driver === undefined ? {} : { driver }),
    configFile: options.configFile.map((one) => resolve(cwd, one)),
    ...fileOptions,
  };
}

function checkIronic({ ironic }: ClusterFile, text: TextPart, problems: Problem[]): void {
  (ironic?.faults ?? []).forEach((faultRule, at) => {
    try {
      parseFaultRule(faultRule, IRONIC_FAULTS);
    } catch (error) {
      if (!(error instanceof InvalidFault)) {
        throw error;
      }
      problems.push({ ...text.place(["ironic", "faults", at]), text: inOneLine(error.message) });
    }
  });
}
