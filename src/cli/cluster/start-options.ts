import { Option } from "commander";
import { SERVICE_DELETE_POLICIES } from "../../control-plane/conductor/service-delete.js";
import { integerIn } from "../ui/command-line.js";

/** Logging options of all programs that serve requests. */
export const logOptions = {
  requests: () =>
    new Option("--log-requests", "log each request: method, path, status, duration in ms, request id, user"),
  format: (what: string) => new Option("--log-format <format>", what).choices(["pretty", "json"]),
};

/** Parses the value of `--ironic`. */
export const nodeCount = integerIn(0, 100_000);

/** Returns the option for all commands that start a control plane. */
export function serviceDeletePolicy(): Option {
  return new Option(
    "--service-delete-policy <policy>",
    "policy for deleting a compute service whose provider has allocations, by default strict",
  ).choices(SERVICE_DELETE_POLICIES);
}
