import { isObject } from "../../runtime/collections.js";
import { forbidden, type HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { requireRecord, resourceRoutes } from "./api/resource-routes.js";
import { changeProject, createDomain, removeDomainRecord } from "./project-rules.js";
import { DOMAINS, type DomainConfig, type Project } from "./store/records.js";

type Config = DomainConfig["config"];

/** Keystone's domain options with their defaults. They are stored and returned, but have no effect. */
const DEFAULTS: Config = {
  identity: { driver: "sql", list_limit: null },
  ldap: {
    url: "ldap://localhost",
    user: null,
    suffix: "cn=example,cn=com",
    query_scope: "one",
    page_size: 0,
    user_tree_dn: null,
    user_filter: null,
    user_objectclass: "inetOrgPerson",
    user_id_attribute: "cn",
    user_name_attribute: "sn",
    user_mail_attribute: "mail",
    user_enabled_attribute: "enabled",
    group_tree_dn: null,
    group_filter: null,
    group_objectclass: "groupOfNames",
    group_id_attribute: "cn",
    group_name_attribute: "ou",
    group_member_attribute: "member",
    use_tls: false,
    use_pool: true,
  },
};

/** Creates the routes of a configuration, of a group in it, or of an option in a group. */
function configRoutes(level: string): readonly IdentityRoute[] {
  return routes<IdentityRoute>(
    {
      "GET /": (call) => {
        call.enforce("identity:get_domain_config");
        return { body: { config: part(call, configOf(call)) } };
      },
      "PATCH /": (call) => {
        call.enforce("identity:update_domain_config");
        const before = configOf(call);
        part(call, before);
        return { body: { config: storeConfig(call, merged(before, requestedConfig(call))) } };
      },
      "DELETE /": (call) => {
        call.enforce("identity:delete_domain_config");
        const before = configOf(call);
        part(call, before);
        storeConfig(call, without(before, call.param("group"), call.param("option")));
        return { status: 204 };
      },
    },
    { prefix: `/v3/domains/:id/config${level}` },
  );
}

function showDefaultConfig(call: IdentityCall): RouteResponse {
  call.enforce("identity:get_domain_config_default");
  return { body: { config: part(call, DEFAULTS) } };
}

export const DOMAIN_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(DOMAINS, {
    table: (store) => store.projects,
    find: (store, id) => store.domain(id),
    list: ({ store }) => store.projects.findBy({ is_domain: true }),
    create: createDomain,
    update: ({ store }, domain, changes) =>
      store.sql.transaction(() => changeProject(store, domain, { ...domain, ...changes })),
    remove: ({ store }, domain) => removeDomainRecord(store, domain),
    view: (_, domain) => domainView(domain),
  }),
  ...["", "/:group", "/:group/:option"].flatMap(configRoutes),
  ...routes<IdentityRoute>({
    "GET /v3/domains/config/default": showDefaultConfig,
    "GET /v3/domains/config/:group/default": showDefaultConfig,
    "GET /v3/domains/config/:group/:option/default": showDefaultConfig,
    "PUT /v3/domains/:id/config": (call) => {
      call.enforce("identity:create_domain_config");
      requireDomain(call);
      const status = call.store.domainConfigs.get(call.param("id")) ? 200 : 201;
      return { status, body: { config: storeConfig(call, requestedConfig(call)) } };
    },
  }),
];

export function domainView(domain: Project) {
  const { domain_id: _, parent_id: __, is_domain: ___, ...view } = domain;
  return view;
}

function requireDomain(call: IdentityCall): void {
  const id = call.param("id");
  requireRecord("domain", id, call.store.domain(id));
}

function configOf(call: IdentityCall): Config {
  requireDomain(call);
  const config = call.store.domainConfigs.get(call.param("id"))?.config ?? {};
  if (Object.keys(config).length === 0) {
    throw missing(call, "any options");
  }
  return config;
}

/** Returns the group or option of a configuration that the path names. @throws {HttpError} 403, 404 */
function part(call: IdentityCall, config: Config): Json {
  const [group, option] = [call.param("group"), call.param("option")];
  if (group === "") {
    return config;
  }
  assertKnownOption(group, option);
  const options = config[group];
  if (options === undefined) {
    throw missing(call, `group ${group}`);
  }
  if (option === "") {
    return { [group]: options };
  }
  const value = options[option];
  if (value === undefined) {
    throw missing(call, `option ${option} in group ${group}`);
  }
  return { [option]: value };
}

function requestedConfig(call: IdentityCall): Config {
  const body = call.body("config");
  const [group, option] = [call.param("group"), call.param("option")];
  const config = option === "" ? body : { [group]: body };
  if (!isObject(config) || Object.keys(config).length === 0) {
    throw invalid("No options specified");
  }
  for (const [name, options] of Object.entries(config)) {
    if (!isObject(options)) {
      throw invalid(`The value of group ${name} specified in the config should be a dictionary of options`);
    }
    assertKnownOption(name, "");
    for (const key of Object.keys(options)) {
      assertKnownOption(name, key);
    }
  }
  return config as Config;
}

function merged(before: Config, changes: Config): Config {
  const groups = Object.entries(changes).map(([group, options]) => [group, { ...before[group], ...options }]);
  return { ...before, ...Object.fromEntries(groups) };
}

function without(before: Config, group: string, option: string): Config {
  const { [group]: options = {}, ...rest } = before;
  const { [option]: _, ...others } = options;
  if (group === "") {
    return {};
  }
  return option === "" ? rest : { ...rest, [group]: others };
}

function storeConfig(call: IdentityCall, config: Config): Json {
  const record = { id: call.param("id"), config };
  const table = call.store.domainConfigs;
  return (table.get(record.id) ? table.update(record) : table.insert(record)).config;
}

function assertKnownOption(group: string, option: string): void {
  const options = Object.hasOwn(DEFAULTS, group) ? DEFAULTS[group] : undefined;
  if (options === undefined) {
    throw invalid(`Group ${group} is not supported for domain specific configurations`);
  }
  if (option !== "" && !Object.hasOwn(options, option)) {
    throw invalid(`Option ${option} in group ${group} is not supported for domain specific configurations`);
  }
}

function invalid(reason: string): HttpError {
  return forbidden(`Invalid domain specific configuration: ${reason}.`);
}

function missing(call: IdentityCall, what: string): HttpError {
  const domain = call.param("id");
  return notFound(`Could not find ${what} in domain configuration for domain ${domain}.`);
}
