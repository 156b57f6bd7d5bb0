import { Option } from "commander";
import { SERVICE_DELETE_POLICIES } from "../../control-plane/conductor/service-delete.js";

/** The option of all that start a control plane. */
export function serviceDeletePolicy(): Option {
  return new Option(
    "--service-delete-policy <policy>",
    "when allocations would keep a deleted service's provider (default: strict)",
  ).choices(SERVICE_DELETE_POLICIES);
}
