import type { HostProcess } from "../../conductor-client/methods/hosts.js";
import { quoted } from "../../control-plane/identity/openrc.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { wrapWords } from "../ui/table.js";
import type { Terminal } from "../ui/terminal.js";

export interface Welcome {
  readonly url: string;
  /** Where other machines find it; undefined: nowhere. */
  readonly externalUrl: string | undefined;
  /** ` --name ci-7`: what has a further command find the cluster. */
  readonly where: string;
  /** A terminal is held by it. */
  readonly attached: boolean;
  readonly directory: StateDir;
  /** The working directory's `clouds.yaml` is the cluster's. */
  readonly here: boolean;
  /** Names of a flavor and an image that there are, for a first server; undefined: there are none. */
  readonly sample: { readonly flavor: string; readonly image: string } | undefined;
  /** Arguments that add a host to those that run; undefined: a file names them. */
  readonly another: readonly string[] | undefined;
  /** Hosts that do not serve, with why. */
  readonly missing: readonly HostProcess[];
  /** Hosts that were not started, since the restored state has them down. */
  readonly leftDown: readonly HostProcess[];
}

/** Hosts that are named with why they do not serve. */
const NAMED = 10;

/** What `up` prints once everything that comes up is up. */
export function welcome(
  { url, externalUrl, where, attached, directory, here, sample, another, missing, leftDown }: Welcome,
  terminal: Terminal,
): string {
  const { bold, red } = terminal.colors;
  return [
    "",
    `${bold("Identity")}   ${url}/identity/v3`,
    `${bold("Compute")}    ${url}/compute/v2.1`,
    `${bold("Placement")}  ${url}/placement`,
    `${bold("Image")}      ${url}/image`,
    `${bold("Network")}    ${url}/network`,
    `${bold("Ironic")}     ${url}/baremetal`,
    "",
    ...(here
      ? ["Point a client at it (in this folder; elsewhere by `compute-cluster env`):", "  export OS_CLOUD=devstack"]
      : ["Point a client at it:", `  export OS_CLIENT_CONFIG_FILE=${quoted(directory.cloudsFile)} OS_CLOUD=devstack`]),
    ...(sample === undefined
      ? []
      : [`  openstack server create --flavor ${quoted(sample.flavor)} --image ${quoted(sample.image)} --wait vm1`]),
    "",
    ...(another === undefined
      ? []
      : [`Another host:   npx compute-cluster host add ${another.map(quoted).join(" ")}${where}`]),
    ...(externalUrl === undefined
      ? []
      : [`Other machines: ${externalUrl}; they join by  npx compute-cluster join${where}`]),
    `In a browser:   ${url}/ by  npx compute-cluster open${where}`,
    `What is where:  npx compute-cluster status${where}`,
    ...(leftDown.length === 0 ? [] : [leftDownText(leftDown, where)]),
    ...(missing.length === 0 ? [] : ["", `Not everything is up; the logs are in ${directory.logs}.`]),
    ...missing
      .slice(0, NAMED)
      .map(({ host, state, reason }) => red(wrapWords(`${host} ${state}: ${reason}`, terminal.columns))),
    ...(missing.length > NAMED ? [red(`and ${missing.length - NAMED} more: compute-cluster host list${where}`)] : []),
    attached ? "Ctrl-C stops all of it." : `To stop it:     npx compute-cluster down${where}`,
  ].join("\n");
}

function leftDownText(hosts: readonly HostProcess[], where: string): string {
  const names = hostsInShort(hosts.map(({ host }) => host));
  return `Left down, as in the restored state: ${names}; they start by  npx compute-cluster host start HOST...${where}`;
}
