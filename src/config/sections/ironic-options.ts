import { option, unset } from "../option.js";
import { choice, float, integer, list, text } from "../value-type.js";

/** `[ironic]` */
export const IRONIC_OPTIONS = {
  endpoint_override: unset(text, "Address of Ironic, instead of the one in Identity's catalog."),
  auth_type: unset(choice(["password", "none"]), "How the agent authenticates; unset as none."),
  auth_url: unset(text, "Address of Identity, for auth_type = password."),
  username: unset(text, "User, for auth_type = password."),
  password: unset(text, "Password, for auth_type = password.", { secret: true }),
  project_name: unset(text, "Project that the token is for."),
  user_domain_name: unset(text, "Domain of the user; often Default."),
  project_domain_name: unset(text, "Domain of the project; often Default."),
  region_name: unset(text, "Region whose endpoint is taken from the catalog."),
  valid_interfaces: option(list, ["internal", "public"], "Interfaces of endpoints, the first that is there is taken."),
  shard: unset(text, "Manage the nodes of this shard, alone."),
  conductor_group: unset(text, "Manage only nodes of this conductor group."),
  peer_list: option(list, [], "Hosts that share the nodes of the conductor group."),
  api_max_retries: option(integer({ min: 0 }), 60, "Polls of a node after the first before an operation has failed."),
  api_retry_interval: option(integer({ min: 0 }), 2, "Seconds between two polls."),
  status_code_retries: option(
    integer({ min: 0 }),
    5,
    "Further tries of a request that Ironic answers with 409 or 503.",
  ),
  status_code_retry_delay: option(float({ min: 0 }), 0.5, "Seconds before the first of them; doubled each time."),
};
