import { dirname, resolve } from "node:path";
import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/provision-states.js";
import { isSameName, nameKey } from "../../../control-plane/identity/store/record-tables.js";
import { BASE_IMAGES } from "../../../control-plane/image/image.js";
import { stateDir } from "../../../control-plane/local/state-dir.js";
import { keyOfImage } from "../../../control-plane/seed/seed-images.js";
import { InvalidFault, parseFaultRule } from "../../../faults/faults.js";
import type { Digests } from "../../../runtime/cryptography.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import { isPath, type UpOptions } from "../up-children.js";
import { checkNetworks } from "./check-networks.js";
import { CLUSTER_FILE, type ClusterFile } from "./cluster-file.js";
import { type HostsOfGroup, inOneLine, readGroups } from "./host-groups.js";
import { UP_FLAGS, valueOfFlag } from "./up-flags.js";
import { assertNoProblems, checkSchema, type Problem, readFileText, type TextPart } from "./yaml-file.js";

/** Projects and users of every cluster. */
const OWN_PROJECTS = ["admin", "demo", "service"];

const OWN_USERS = ["admin", "demo", "nova", "placement", "system-admin"];

/** A cluster file with its flags: everything that `up` creates. */
export interface ClusterDescription {
  readonly path: string;
  /** The file's flags and those of the command line. */
  readonly options: UpOptions;
  /** Undefined if the file has no `hosts`. */
  readonly groups: readonly HostsOfGroup[] | undefined;
  readonly file: ClusterFile;
  /** Absolute paths of the image files, by {@link keyOfImage}. */
  readonly imageFiles: ReadonlyMap<string, string>;
}

/**
 * @param flags of the command line; the file must not set the same ones
 * @throws {CommandError}
 */
export async function readClusterFile(
  path: string,
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  { files, digests, cwd }: { readonly files: Files; readonly digests: Pick<Digests, "sha256">; readonly cwd: string },
): Promise<ClusterDescription> {
  const absolute = resolve(cwd, path);
  const text = await readFileText(path, absolute, files, "compute-agent file writes that of a cluster");
  const problems: Problem[] = [];
  const description = await describe({ path, folder: dirname(absolute), text }, flags, { digests, cwd }, problems);
  assertNoProblems(path, problems);
  return description;
}

/**
 * Parses the description of a cluster, from a complete file or a part of one. Adds problems to the list; if there are any,
 * the result is unusable.
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
  checkNetworks(checked, text, problems);
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
      problems.push({ ...text.place([key], true), text: `${key} is also set by ${flag}; remove one of the two` });
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
      text: "found both processes and hosts_per_process, expected one of the two",
    });
  }
  for (const flag of file.hosts === undefined ? [] : ["releases"]) {
    if (providedOptions.has(flag)) {
      problems.push({
        ...text.place(["hosts"], true),
        text: `the hosts in the file set their releases; remove --${flag}`,
      });
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

/** Reports duplicate names and references to names that do not exist. */
function checkSeed(file: ClusterFile, text: TextPart, problems: Problem[]): void {
  const complain = (path: readonly (string | number)[], message: string, ofKey = false) => {
    problems.push({ ...text.place(path, ofKey), text: message });
  };
  for (const key of ["flavors", "images", "aggregates", "projects", "users", "volume_types"] as const) {
    for (const field of ["name", "id"] as const) {
      const known = new Set<string>();
      (file[key] ?? []).forEach((one, at) => {
        const value = field in one ? (one as { readonly [name: string]: unknown })[field] : undefined;
        // Images of the same name differ by their ids.
        const isOther = key === "images" && field === "name" && "id" in one;
        if (typeof value !== "string" || isOther) {
          return;
        }
        // Identity compares names case-insensitively.
        const same = key === "projects" || key === "users" ? nameKey(value) : value;
        if (known.has(same)) {
          complain([key, at, field], `${field} ${value} is used twice, expected unique values`);
        }
        known.add(same);
      });
    }
  }
  const projects = [...OWN_PROJECTS, ...(file.projects ?? []).map(({ name }) => name)];
  const projectAt = (name: string, path: readonly (string | number)[], ofKey = false) => {
    if (!projects.includes(name)) {
      const near = didYouMean(name, projects);
      complain(
        path,
        `there is no project ${name}; ${near === undefined ? "add it to projects" : `did you mean ${near}?`}`,
        ofKey,
      );
    }
  };
  (file.projects ?? []).forEach(({ name }, at) => {
    if (OWN_PROJECTS.some((own) => isSameName(own, name))) {
      complain(["projects", at, "name"], `project ${name} exists in every cluster; remove it`);
    }
  });
  (file.users ?? []).forEach(({ name, roles }, at) => {
    if (OWN_USERS.some((own) => isSameName(own, name))) {
      complain(["users", at, "name"], `user ${name} exists in every cluster; remove it, or choose another name`);
    }
    for (const project of Object.keys(roles)) {
      projectAt(project, ["users", at, "roles", project], true);
    }
  });
  for (const [key, kind] of [
    ["flavors", "flavor"],
    ["volume_types", "volume type"],
  ] as const) {
    for (const [at, { access = [], is_public: isPublic = true }] of (file[key] ?? []).entries()) {
      if (isPublic && access.length > 0) {
        complain(
          [key, at, "access"],
          `a public ${kind} is visible to all projects: set is_public: false, or remove access`,
          true,
        );
      }
      access.forEach((name, index) => {
        projectAt(name, [key, at, "access", index]);
      });
    }
  }
  for (const key of ["networks", "routers", "security_groups", "floating_ips", "volumes"] as const) {
    for (const [at, { project }] of (file[key] ?? []).entries()) {
      if (project !== undefined) {
        projectAt(project, [key, at, "project"]);
      }
    }
  }
  (file.images ?? []).forEach(({ owner, name, id }, at) => {
    if (BASE_IMAGES.some((base) => base.name === name) && id === undefined) {
      complain(["images", at, "name"], `image ${name} exists in every cluster; remove it, or choose another name`);
    }
    if (owner !== undefined) {
      projectAt(owner, ["images", at, "owner"]);
    }
  });
}
