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
      "How clients prove who they are: noauth2 believes any token, keystone asks Identity, which the service has not when it " +
        "runs alone; unset makes a token at each start.",
    ),
  },
  placement_database: {
    connection: unset(text, "sqlite:///PATH keeps the state in a file; unset keeps it in memory."),
  },
  placement: {
    incomplete_consumer_project_id: option(text, NO_ID, "Project of consumers that were written without one."),
    incomplete_consumer_user_id: option(text, NO_ID, "User of consumers that were written without one."),
    randomize_allocation_candidates: option(boolean, false, "Whether candidates come in random order."),
    max_allocation_candidates: option(integer({ min: -1 }), -1, "Candidates that are made at most; -1 for any number."),
    allocation_candidates_generation_strategy: option(
      choice(["depth-first", "breadth-first"]),
      "depth-first",
      "Whether all candidates of one tree come before those of the next, or one of each tree in turn.",
    ),
  },
  oslo_policy: {
    policy_file: unset(text, "Policy rules in YAML; relative to this file."),
    enforce_scope: option(boolean, true, "Whether the scope of a token is checked."),
    enforce_new_defaults: option(boolean, false, "Whether deprecated rules are left out."),
  },
  cors: {
    allowed_origin: option(list, [], "Origins that browsers may send requests from."),
    allow_credentials: option(boolean, true, "Whether they may send credentials."),
    expose_headers: option(list, [], "Headers of an answer that they may read."),
    max_age: option(integer({ min: 0 }), 3600, "Seconds for which a browser may keep this."),
    allow_methods: option(
      list,
      ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH"],
      "Methods that they may use.",
    ),
    allow_headers: option(list, [], "Headers that they may send."),
  },
} as const satisfies SectionTable;
