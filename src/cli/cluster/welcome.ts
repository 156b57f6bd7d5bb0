import { quoted } from "../../cluster/identity/openrc.js";
import type { ComponentStatus } from "../../cluster/local/component.js";
import { DEFAULT_STATE_DIR, type StateDir } from "../../cluster/local/state-dir.js";
import { wrapWords } from "../ui/table.js";
import type { Terminal } from "../ui/terminal.js";

export interface Welcome {
  readonly url: string;
  /** `--state-dir` as it was given. */
  readonly given: string;
  readonly directory: StateDir;
  /** The working directory's `clouds.yaml` is the cluster's. */
  readonly here: boolean;
  readonly hosts: number;
  /** Components that are not ready, with why. */
  readonly missing: readonly ComponentStatus[];
}

/** What `up` prints once everything that comes up is up. */
export function welcome({ url, given, directory, here, hosts, missing }: Welcome, terminal: Terminal): string {
  const { bold, red } = terminal.colors;
  const where = given === DEFAULT_STATE_DIR ? "" : ` --state-dir ${given}`;
  return [
    "",
    `${bold("Identity")}   ${url}/identity/v3`,
    `${bold("Compute")}    ${url}/compute/v2.1`,
    `${bold("Placement")}  ${url}/placement`,
    `${bold("Image")}      ${url}/image`,
    `${bold("Ironic")}     ${url}/baremetal`,
    "",
    ...(here
      ? ["Point a client at it (in this folder; elsewhere by `compute-cluster env`):", "  export OS_CLOUD=devstack"]
      : ["Point a client at it:", `  export OS_CLIENT_CONFIG_FILE=${quoted(directory.cloudsFile)} OS_CLOUD=devstack`]),
    "  openstack --os-compute-api-version 2.37 server create --flavor m1.tiny --image cirros --nic none --wait vm1",
    "",
    `Another host:   npx compute-agent --host devstack${hosts + 1}${where}`,
    `What is where:  npx compute-cluster status${where}`,
    ...(missing.length === 0 ? [] : ["", `Not everything is up; the logs are in ${directory.logs}.`]),
    ...missing.map(({ name, state, detail }) => red(wrapWords(`${name} ${state}: ${detail}`, terminal.columns))),
    "Ctrl-C stops all of it.",
  ].join("\n");
}
