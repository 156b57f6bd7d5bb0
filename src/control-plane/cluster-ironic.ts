import { FaultFile } from "../faults/fault-file.js";
import type { Files } from "../runtime/files.js";
import type { Runtime } from "../runtime/runtime.js";
import { createIronic } from "./bare-metal/ironic.js";
import { IRONIC_FAULTS } from "./bare-metal/provision-states.js";
import { ensureBaremetalFlavor } from "./default-flavors.js";
import { readPasswords } from "./identity/clouds-yaml.js";
import type { Identity } from "./identity/identity.js";
import { REGION } from "./identity/store/bootstrap.js";
import type { StateDir } from "./local/state-dir.js";
import type { Store } from "./store/store.js";

/**
 * Opens the embedded Ironic, which reads fault rules from its folder of the state directory.
 * @param options.nodes min number of nodes
 */
export async function openClusterIronic(options: {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly identity: Identity;
  readonly directory: StateDir;
  readonly nodes: number;
}) {
  const { runtime, store, identity, directory, nodes } = options;
  const logger = runtime.logger.child({ service: "ironic" });
  const faults = new FaultFile(directory.ironic, IRONIC_FAULTS, { ...runtime, logger });
  await faults.open();
  const ironic = createIronic({
    ...runtime,
    logger,
    sql: store.database,
    validate: identity.validate,
    faults: faults.faults,
  });
  if (nodes > 0) {
    ironic.enrol(nodes);
    ensureBaremetalFlavor(store);
  }
  return {
    /** Mount it at `/baremetal`. */
    handle: ironic.handle,
    start: ironic.start,
    stop: async (): Promise<void> => {
      ironic.stop();
      await faults.close();
    },
  };
}

/**
 * Writes the nova.conf of agents that use the embedded Ironic.
 * @param authUrl `http://host:port/identity/v3`
 */
export async function writeIronicConfig(files: Files, directory: StateDir, authUrl: string): Promise<void> {
  const passwords = await readPasswords(files, directory.cloudsFile);
  const lines = [
    "[DEFAULT]",
    "compute_driver = ironic",
    "[ironic]",
    "auth_type = password",
    `auth_url = ${authUrl}`,
    "username = admin",
    `password = ${passwords.get("admin") ?? ""}`,
    "project_name = admin",
    "user_domain_name = Default",
    "project_domain_name = Default",
    `region_name = ${REGION}`,
  ];
  await files.write(directory.ironicConfig, `${lines.join("\n")}\n`, { mode: 0o600 });
}
