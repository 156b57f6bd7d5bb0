import { option, type SectionTable, unset } from "../option.js";
import { boolean, choice, integer, list, text } from "../value-type.js";

const NO_ID = "00000000-0000-0000-0000-000000000000";

/**
 * placement.conf: the options of the embedded Placement service when it runs standalone. Names and defaults are
 * Placement's.
 */
export const PLACEMENT_SERVICE_OPTIONS = {
  api: {
    auth_strategy: unset(
      choice(["noauth2", "keystone"]),
      "Authentication of clients. noauth2 accepts any token. keystone uses Identity, which is not available if Placement runs " +
        "alone. Unset: a token is generated at each start.",
    ),
  },
  placement_database: {
    connection: unset(text, "Database. sqlite:///PATH stores the state in a file. Unset: the state is only in memory."),
  },
  placement: {
    incomplete_consumer_project_id: option(text, NO_ID, "Project of consumers that were created without a project."),
    incomplete_consumer_user_id: option(text, NO_ID, "User of consumers that were created without a user."),
    randomize_allocation_candidates: option(
      boolean,
      false,
      "Whether allocation candidates are returned in random order.",
    ),
    max_allocation_candidates: option(
      integer({ min: -1 }),
      -1,
      "Maximum number of allocation candidates that are generated. -1 means no limit.",
    ),
    allocation_candidates_generation_strategy: option(
      choice(["depth-first", "breadth-first"]),
      "depth-first",
      "Order of allocation candidates. depth-first: all candidates of one provider tree, then those of the next. " +
        "breadth-first: one candidate of each tree in turn.",
    ),
  },
  oslo_policy: {
    policy_file: unset(text, "YAML file with policy rules. A relative path is relative to this configuration file."),
    enforce_scope: option(boolean, true, "Whether the scope of tokens is enforced."),
    enforce_new_defaults: option(boolean, false, "Whether deprecated policy rules are ignored."),
  },
  cors: {
    allowed_origin: option(list, [], "Origins from which browsers can send requests."),
    allow_credentials: option(boolean, true, "Whether browsers can send credentials."),
    expose_headers: option(list, [], "Response headers that browsers can read."),
    max_age: option(integer({ min: 0 }), 3600, "Seconds for which browsers can cache these permissions."),
    allow_methods: option(
      list,
      ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH"],
      "HTTP methods that browsers can use.",
    ),
    allow_headers: option(list, [], "Request headers that browsers can send."),
  },
} as const satisfies SectionTable;
