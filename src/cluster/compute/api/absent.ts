import type { ComputeRoute } from "./call.js";
import { requireReader } from "./policy.js";

/** Resources of Nova that this project has none of: lists that clients read on their way are empty. */
export const ABSENT_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/os-server-groups",
    answer: (_deps, call) => {
      requireReader(call, "os_compute_api:os-server-groups:index");
      return { body: { server_groups: [] } };
    },
  },
];
