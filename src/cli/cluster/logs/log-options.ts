import { Option } from "commander";

/** The flags about what is logged, and how, of all that serves requests. */
export const logOptions = {
  requests: () =>
    new Option("--log-requests", "log a line for each request: method, path, status, ms, request id, who asked"),
  format: (what: string) => new Option("--log-format <format>", what).choices(["pretty", "json"]),
};
