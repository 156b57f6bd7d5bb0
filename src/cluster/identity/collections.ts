import type { Json } from "../http/json.js";
import type { Query } from "../http/query.js";
import { type CatalogService, REGION } from "./catalog.js";
import type { Directory, NamedEntity } from "./directory.js";

/** What can be listed and shown below /v3, each as the members of its view. */
export interface Collection {
  /** `users` */
  readonly plural: string;
  readonly singular: string;
  readonly members: readonly Member[];
}

type Member = Readonly<Record<string, Json>> & { readonly id: string };

export function collections(
  directory: Directory,
  catalog: readonly CatalogService[],
  identityUrl: string,
): readonly Collection[] {
  const domainId = directory.domain.id;
  const collection = (plural: string, singular: string, members: readonly Member[]): Collection => ({
    plural,
    singular,
    members: members.map((member) => ({ ...member, links: { self: `${identityUrl}/${plural}/${member.id}` } })),
  });
  const named = ({ id, name, description }: NamedEntity) => ({ id, name, description });
  return [
    collection(
      "users",
      "user",
      directory.users.map((user) => ({
        ...named(user),
        domain_id: domainId,
        enabled: true,
        password_expires_at: null,
        options: {},
      })),
    ),
    collection(
      "projects",
      "project",
      directory.projects.map((project) => ({
        ...named(project),
        domain_id: domainId,
        parent_id: domainId,
        enabled: true,
        is_domain: false,
        tags: [],
        options: {},
      })),
    ),
    collection("domains", "domain", [
      { ...directory.domain, description: "The default domain", enabled: true, tags: [], options: {} },
    ]),
    collection(
      "roles",
      "role",
      directory.roles.map((role) => ({ ...named(role), domain_id: null, options: {} })),
    ),
    collection(
      "services",
      "service",
      catalog.map(({ id, type, name }) => ({ id, type, name, enabled: true })),
    ),
    collection(
      "endpoints",
      "endpoint",
      catalog.flatMap((service) =>
        service.endpoints.map((endpoint) => ({ ...endpoint, service_id: service.id, enabled: true })),
      ),
    ),
    collection("regions", "region", [{ id: REGION, description: "", parent_region_id: null }]),
  ];
}

/** Members whose fields equal each query parameter of the same name. */
export function filterMembers(members: readonly Member[], query: Query): readonly Member[] {
  return members.filter((member) =>
    query.entries.every(([name, value]) => !Object.hasOwn(member, name) || String(member[name]) === value),
  );
}
