import type { Cloud } from "../../process/support/cloud.js";
import type { RealIronic } from "../ironic/real-ironic.js";

/** Passes and heartbeats every second, to shorten waits. */
const AGENT_OPTIONS = [
  "DEFAULT.compute_driver=ironic",
  "DEFAULT.update_resources_interval=1",
  "DEFAULT.report_interval=1",
  "DEFAULT.service_down_time=10",
  "DEFAULT.periodic_fuzzy_delay=0",
  "DEFAULT.max_concurrent_builds=0",
  "ironic.api_retry_interval=1",
];

/** Id of the flavor whose servers take a complete node. */
export const FLAVOR = "bm";
const SIZE = { id: FLAVOR, name: "bm", vcpus: 48, ram: 196_608, disk: 960 };
const EXTRA_SPECS = {
  "resources:CUSTOM_BAREMETAL": "1",
  "resources:VCPU": "0",
  "resources:MEMORY_MB": "0",
  "resources:DISK_GB": "0",
};

/** Returns `section.option=value` settings of an agent that manages this Ironic's nodes. */
export function agentOptions({ root }: RealIronic): readonly string[] {
  return [...AGENT_OPTIONS, `ironic.endpoint_override=${root}`];
}

export async function makeFlavor(cloud: Cloud): Promise<void> {
  await cloud.compute("POST", "/flavors", { flavor: SIZE });
  await cloud.compute("POST", `/flavors/${FLAVOR}/os-extra_specs`, { extra_specs: EXTRA_SPECS });
}
