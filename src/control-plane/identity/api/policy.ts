import { Policy } from "../../policy/policy.js";
import type { LiveToken } from "../tokens/live-tokens.js";

/** Matches every token. */
const ANYBODY = "@";

const ADMIN = "rule:admin_required";

const SYSTEM_READER = "(role:reader and system_scope:all)";

const READ = `rule:admin_required or ${SYSTEM_READER}`;

const readIn = (target: string): string => `${READ} or (role:reader and domain_id:%(${target})s)`;

const manageIn = (target: string): string => `rule:admin_required or (role:manager and domain_id:%(${target})s)`;

const PROJECT_READ = `${readIn("target.project.domain_id")} or project_id:%(target.project.id)s`;

const PROJECT_WRITE = manageIn("target.project.domain_id");

const GROUP_READ = readIn("target.group.domain_id");

const GROUP_WRITE = manageIn("target.group.domain_id");

const OWN_CREDENTIAL = "user_id:%(target.credential.user_id)s";

const SUBJECT = "user_id:%(target.token.user_id)s";

/** A grant whose user or group and whose target are in the token's domain. */
const GRANT_IN_DOMAIN = "domain_id:%(target.actor.domain_id)s and domain_id:%(target.scope.domain_id)s";

const OWN_OR_GLOBAL_ROLE = "(domain_id:%(target.role.domain_id)s or None:%(target.role.domain_id)s)";

const MANAGED_ROLE =
  "('manager':%(target.role.name)s or 'member':%(target.role.name)s or 'reader':%(target.role.name)s)";

const GRANT_READ = `${READ} or (role:reader and ${GRANT_IN_DOMAIN})`;

const GRANT_WRITE = `rule:admin_required or (role:admin and ${GRANT_IN_DOMAIN} and ${OWN_OR_GLOBAL_ROLE}) or (role:manager and ${GRANT_IN_DOMAIN} and ${MANAGED_ROLE})`;

/** The owner of the record. The rules of administrators are left out where Keystone has none. */
const OWN = "user_id:%(target.user.id)s";

/** Keystone's default rules by action, deprecated rules included. Actions that are not listed require an administrator. */
const DEFAULT_RULES: Readonly<Record<string, string>> = {
  admin_required: "role:admin",
  "identity:get_application_credential": `${READ} or ${OWN}`,
  "identity:list_application_credentials": `${READ} or ${OWN}`,
  "identity:create_application_credential": OWN,
  "identity:delete_application_credential": `${ADMIN} or ${OWN}`,
  "identity:get_access_rule": `${SYSTEM_READER} or ${OWN}`,
  "identity:list_access_rules": `${SYSTEM_READER} or ${OWN}`,
  "identity:delete_access_rule": `(role:admin and system_scope:all) or ${OWN}`,
  "identity:get_auth_catalog": ANYBODY,
  "identity:get_auth_projects": ANYBODY,
  "identity:get_auth_domains": ANYBODY,
  "identity:get_auth_system": ANYBODY,
  "identity:get_credential": `${READ} or ${OWN_CREDENTIAL}`,
  "identity:list_credentials": `${READ} or ${OWN_CREDENTIAL}`,
  "identity:create_credential": `${ADMIN} or ${OWN_CREDENTIAL}`,
  "identity:update_credential": `${ADMIN} or ${OWN_CREDENTIAL}`,
  "identity:delete_credential": `${ADMIN} or ${OWN_CREDENTIAL}`,
  "identity:ec2_get_credential": `${READ} or ${OWN_CREDENTIAL}`,
  "identity:ec2_list_credentials": `${READ} or ${OWN}`,
  "identity:ec2_create_credential": `${ADMIN} or ${OWN}`,
  "identity:ec2_delete_credential": `${ADMIN} or ${OWN_CREDENTIAL}`,
  "identity:get_domain": `${READ} or domain_id:%(target.domain.id)s or token.project.domain.id:%(target.domain.id)s`,
  "identity:list_domains": readIn("target.domain.id"),
  "identity:get_endpoint": READ,
  "identity:list_endpoints": READ,
  "identity:get_endpoint_group": READ,
  "identity:list_endpoint_groups": READ,
  "identity:check_grant": GRANT_READ,
  "identity:list_grants": GRANT_READ,
  "identity:create_grant": GRANT_WRITE,
  "identity:revoke_grant": GRANT_WRITE,
  "identity:list_system_grants_for_user": READ,
  "identity:check_system_grant_for_user": READ,
  "identity:list_system_grants_for_group": READ,
  "identity:check_system_grant_for_group": READ,
  "identity:get_group": GROUP_READ,
  "identity:list_groups": GROUP_READ,
  "identity:list_groups_for_user": `${readIn("target.user.domain_id")} or ${OWN}`,
  "identity:create_group": GROUP_WRITE,
  "identity:update_group": GROUP_WRITE,
  "identity:delete_group": GROUP_WRITE,
  "identity:list_users_in_group": GROUP_READ,
  "identity:check_user_in_group": `${READ} or (role:reader and domain_id:%(target.group.domain_id)s and domain_id:%(target.user.domain_id)s)`,
  "identity:add_user_to_group": `${ADMIN} or (role:manager and domain_id:%(target.group.domain_id)s and domain_id:%(target.user.domain_id)s)`,
  "identity:remove_user_from_group": `${ADMIN} or (role:manager and domain_id:%(target.group.domain_id)s and domain_id:%(target.user.domain_id)s)`,
  "identity:get_implied_role": READ,
  "identity:list_implied_roles": READ,
  "identity:check_implied_role": READ,
  "identity:list_role_inference_rules": READ,
  "identity:get_limit_model": ANYBODY,
  "identity:list_limits": ANYBODY,
  "identity:get_limit": `${READ} or domain_id:%(target.limit.domain_id)s or domain_id:%(target.project.domain_id)s or (project_id:%(target.limit.project_id)s and not None:%(target.limit.project_id)s)`,
  "identity:list_registered_limits": ANYBODY,
  "identity:get_registered_limit": ANYBODY,
  "identity:get_policy": READ,
  "identity:list_policies": READ,
  "identity:get_project": PROJECT_READ,
  "identity:list_projects": readIn("target.domain_id"),
  "identity:list_user_projects": `${readIn("target.user.domain_id")} or ${OWN}`,
  "identity:create_project": PROJECT_WRITE,
  "identity:update_project": PROJECT_WRITE,
  "identity:delete_project": PROJECT_WRITE,
  "identity:list_project_tags": PROJECT_READ,
  "identity:get_project_tag": PROJECT_READ,
  "identity:update_project_tags": PROJECT_WRITE,
  "identity:create_project_tag": PROJECT_WRITE,
  "identity:delete_project_tags": PROJECT_WRITE,
  "identity:delete_project_tag": PROJECT_WRITE,
  "identity:get_region": ANYBODY,
  "identity:list_regions": ANYBODY,
  "identity:get_role": `${READ} or (role:manager and ${MANAGED_ROLE})`,
  "identity:list_roles": `${READ} or (role:manager and not domain_id:None)`,
  "identity:get_domain_role": READ,
  "identity:list_domain_roles": READ,
  "identity:list_role_assignments": readIn("target.domain_id"),
  "identity:list_role_assignments_for_tree": readIn("target.domain_id"),
  "identity:get_service": READ,
  "identity:list_services": READ,
  "identity:get_consumer": READ,
  "identity:list_consumers": READ,
  "identity:get_domain_config": READ,
  "identity:get_domain_config_default": READ,
  "identity:check_token": `${READ} or ${SUBJECT}`,
  "identity:validate_token": `${READ} or role:service or ${SUBJECT}`,
  "identity:revoke_token": `${ADMIN} or ${SUBJECT}`,
  "identity:get_user": `${readIn("target.user.domain_id")} or ${OWN}`,
  "identity:list_users": readIn("target.domain_id"),
  "identity:create_user": manageIn("target.user.domain_id"),
  "identity:update_user": manageIn("target.user.domain_id"),
  "identity:delete_user": manageIn("target.user.domain_id"),
};

/** Attributes of the target that a rule can use, such as `target.user.domain_id`. Null counts as a value. */
export type PolicyTarget = Readonly<Record<string, string | null | undefined>>;

const POLICY = new Policy((name) => DEFAULT_RULES[name] ?? DEFAULT_RULES.admin_required);

/** Returns true if Keystone's default rule of the action permits it for this token. */
export function allows(
  action: string,
  { record, user, roles, targetDomain }: LiveToken,
  target: PolicyTarget,
): boolean {
  return POLICY.allows(action, {
    // Missing attributes are left out instead of null, so that nothing is equal to them.
    credentials: defined({
      user_id: user.id,
      project_id: record.projectId,
      domain_id: record.domainId,
      system_scope: record.system ? "all" : null,
      token: targetDomain ? { project: { domain: { id: targetDomain.id } } } : null,
    }),
    roles: new Set(roles.map(({ name }) => name.toLowerCase())),
    target: Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined)),
  });
}

function defined(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
