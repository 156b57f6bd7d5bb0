import type { EffectiveValue } from "./compile-config.js";
import type { ConfigWarning } from "./raw-values.js";

/** Options of `[placement]` that say how to reach a Placement that runs elsewhere; `auth_type` switches all of them on. */
const ACCESS: ReadonlySet<string> = new Set([
  "endpoint",
  "endpoint_override",
  "token",
  "auth_url",
  "username",
  "user_id",
  "password",
  "application_credential_id",
  "application_credential_name",
  "application_credential_secret",
  "default_domain_id",
  "default_domain_name",
  "user_domain_id",
  "user_domain_name",
  "project_id",
  "project_name",
  "project_domain_id",
  "project_domain_name",
  "system_scope",
  "valid_interfaces",
  "region_name",
]);

/**
 * Options that the operator has set and that have no effect as long as another one is unset.
 * @param authType `[placement] auth_type`
 */
export function unusedOptions(authType: string | null, values: readonly EffectiveValue[]): ConfigWarning[] {
  if (authType !== null) {
    return [];
  }
  return values
    .filter(({ section, option, origin }) => section === "placement" && ACCESS.has(option) && origin !== "default")
    .map(({ option, origin }) => ({
      origin,
      message:
        `[placement] ${option} is ignored while auth_type is unset; set auth_type to none, admin_token or password for a ` +
        "Placement that runs elsewhere",
    }));
}
