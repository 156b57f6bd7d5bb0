import { InvalidArgumentError, Option } from "commander";
import { SERVICE_DELETE_POLICIES } from "../../control-plane/conductor/service-delete.js";

/** Logging options of all programs that serve requests. */
export const logOptions = {
  requests: () =>
    new Option("--log-requests", "log a line for each request: method, path, status, ms, request id, who asked"),
  format: (what: string) => new Option("--log-format <format>", what).choices(["pretty", "json"]),
};

const MAX_NODES = 100_000;

/** Parses the value of `--ironic`. */
export function nodeCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > MAX_NODES) {
    throw new InvalidArgumentError(`expected 0 to ${MAX_NODES}.`);
  }
  return value;
}

/** Returns the option for all commands that start a control plane. */
export function serviceDeletePolicy(): Option {
  return new Option(
    "--service-delete-policy <policy>",
    "when allocations would keep a deleted service's provider (default: strict)",
  ).choices(SERVICE_DELETE_POLICIES);
}
