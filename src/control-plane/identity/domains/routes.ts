import { checkBody } from "../api/check-body.js";
import type { IdentityRoute } from "../api/identity-call.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { changeProject } from "../projects/project-rules.js";
import { CREATE_DOMAIN, UPDATE_DOMAIN } from "../projects/schemas.js";
import type { Project } from "../store/records.js";
import { DOMAIN_CONFIG_ROUTES } from "./domain-config.js";
import { createDomain, removeDomainRecord } from "./domain-rules.js";

export const DOMAIN_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Project>({
    plural: "domains",
    singular: "domain",
    filters: ["name", "enabled"],
    table: (store) => ({ get: (id) => store.domain(id) }),
    list: ({ store }) => store.projects.list().filter(({ is_domain }) => is_domain),
    create: (call, body) => createDomain(call, checkBody(CREATE_DOMAIN, body)),
    update: ({ store }, domain, body) => {
      const changes = checkBody(UPDATE_DOMAIN, body);
      return store.sql.transaction(() => changeProject(store, domain, { ...domain, ...changes }));
    },
    remove: ({ store }, domain) => removeDomainRecord(store, domain),
    view: (_, domain) => domainView(domain),
  }),
  ...DOMAIN_CONFIG_ROUTES,
];

export function domainView(domain: Project) {
  const { domain_id: _, parent_id: __, is_domain: ___, ...view } = domain;
  return view;
}
