import type { StateDir } from "../../cluster/local/state-dir.js";
import type { SupervisorOptions } from "../../cluster/local/supervisor.js";
import type { Release } from "../../records/index.js";

export interface UpOptions {
  readonly hosts: number;
  readonly stateDir: string;
  readonly port?: number;
  readonly configFile: readonly string[];
  readonly releases?: readonly Release[];
  readonly allowResizeToSameHost?: true;
  readonly reclaimInstanceInterval?: string;
  readonly serviceDeletePolicy?: string;
  readonly ironic: number;
  readonly driver?: string;
}

/** The agent of the embedded Ironic's nodes. */
export const IRONIC_HOST = "ironic1";

/** A deployment of several releases: newer agents refuse it unless an option says that it is meant (spec 1.2). */
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];

/** Hosts `devstack1` to `devstackN`, one for each release where releases are asked for. */
export function hostsOf({ releases, hosts }: UpOptions): readonly string[] {
  return Array.from({ length: releases?.length ?? hosts }, (_, index) => `devstack${index + 1}`);
}

/** What every agent is started with. */
export function agentArguments(options: UpOptions): readonly string[] {
  const { configFile, driver, allowResizeToSameHost, reclaimInstanceInterval } = options;
  return [
    ...configFile.flatMap((file) => ["--config-file", file]),
    ...(driver === undefined ? [] : ["--compute-driver", driver, "--trace-driver"]),
    ...(allowResizeToSameHost ? ["-o", "allow_resize_to_same_host=true"] : []),
    ...flag("-o", reclaimInstanceInterval && `reclaim_instance_interval=${reclaimInstanceInterval}`),
  ];
}

/** Which processes there are, and what each is started with. */
export function upChildren(
  options: UpOptions,
  directory: StateDir,
): Pick<SupervisorOptions, "hosts" | "inOrder" | "hostArgs" | "agentArgs" | "controlPlaneArgs"> {
  const { releases, port, ironic } = options;
  const hosts = hostsOf(options);
  const mixed = releases === undefined ? [] : MIXED;
  return {
    hosts: [...hosts, ...(ironic > 0 ? [IRONIC_HOST] : [])],
    inOrder: releases !== undefined,
    hostArgs: new Map<string, readonly string[]>([
      ...hosts.map((host, index): [string, readonly string[]] => [
        host,
        [...flag("--release", releases?.[index]), ...mixed],
      ]),
      [IRONIC_HOST, ["--config-file", directory.ironicConfig, ...mixed]],
    ]),
    agentArgs: agentArguments(options),
    controlPlaneArgs: [
      ...options.configFile.flatMap((file) => ["--config-file", file]),
      ...flag("--port", port?.toString()),
      ...(options.allowResizeToSameHost ? ["--allow-resize-to-same-host"] : []),
      ...(releases === undefined ? [] : ["--disable-compute-service-check-for-ffu"]),
      ...flag("--reclaim-instance-interval", options.reclaimInstanceInterval),
      ...flag("--service-delete-policy", options.serviceDeletePolicy),
      ...(ironic > 0 ? ["--ironic", String(ironic)] : []),
    ],
  };
}

const flag = (name: string, value: string | undefined): readonly string[] => (value === undefined ? [] : [name, value]);
