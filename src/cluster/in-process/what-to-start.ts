import { resolve } from "node:path";
import { type ControlPlaneCommandOptions, controlPlaneCommand } from "../../cli/cluster/control-plane.js";
import { prepareCluster } from "../../cli/cluster/file/prepare-cluster.js";
import { type ClusterDescription, readClusterFile } from "../../cli/cluster/file/read-cluster-file.js";
import { type HostSettings, HostSettingsStore } from "../../cli/cluster/host-settings.js";
import { settingsOf, type UpOptions, upChildren } from "../../cli/cluster/up-children.js";
import { parsedOptions } from "../../cli/ui/parsed-options.js";
import { quietTerminal } from "../../cli/ui/terminal.js";
import type { AgentPlan } from "../../control-plane/local/agent-process.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import { nodeDigests } from "../../runtime/node/node-cryptography.js";
import type { StartClusterOptions } from "../cluster.js";
import { writeNovaConf } from "../nova-conf.js";

/** The parts of a cluster, as `compute-cluster up` would start them. */
export interface WhatToStart {
  readonly controlPlane: ControlPlaneCommandOptions;
  readonly agents: readonly AgentPlan[];
  /** One after the other, the oldest release first. */
  readonly inOrder: boolean;
  readonly described: ClusterDescription | undefined;
}

/** Where all hosts share a process there is nothing to gain from several. */
const CORES = 1;

/** Reads the cluster file, if there is one, and does what has to be done before a start with it. @throws {ClusterFileInvalid} */
export async function whatToStart(
  startOptions: StartClusterOptions,
  directory: StateDir,
  files: Files,
): Promise<WhatToStart> {
  const { options, described } = await upOptions(startOptions, directory, files);
  const settingsStore = new HostSettingsStore(files, directory);
  const before: HostSettings = await settingsStore.read();
  const settings = settingsOf(options, before, (path) => resolve(path));
  const { agents, inOrder, controlPlaneArgs } = upChildren(options, directory, settings, CORES);
  if (described !== undefined) {
    const interrupt = new AbortController().signal;
    await prepareCluster(described, {
      directory,
      before,
      check: undefined,
      yes: true,
      terminal: quietTerminal,
      interrupt,
    });
  }
  await Promise.all([...settings].map(([host, setting]) => settingsStore.keep(host, setting)));
  const controlPlane = await parsedOptions(controlPlaneCommand, ["--state-dir", directory.root, ...controlPlaneArgs]);
  return { controlPlane, agents, inOrder: inOrder === true, described };
}

async function upOptions(startOptions: StartClusterOptions, directory: StateDir, files: Files) {
  const options: UpOptions = {
    ...(startOptions.hosts === undefined ? {} : { hosts: startOptions.hosts }),
    stateDir: directory.root,
    port: startOptions.port ?? 0,
    configFile: startOptions.config === undefined ? [] : [await writeNovaConf(startOptions.config, directory, files)],
  };
  if (startOptions.file === undefined) {
    return { options, described: undefined };
  }
  const providedOptions = new Set([
    "stateDir",
    ...(startOptions.hosts === undefined ? [] : ["hosts"]),
    ...(startOptions.port === undefined ? [] : ["port"]),
  ]);
  const described = await readClusterFile(
    startOptions.file,
    { options, providedOptions: providedOptions },
    { files, digests: nodeDigests, cwd: resolve() },
  );
  return { options: described.options, described };
}
