import type { Credentials } from "../credentials.js";
import type { Json } from "../http/json.js";
import { isoMicroseconds } from "../http/times.js";
import type { CatalogService } from "./catalog.js";
import type { Directory, NamedEntity } from "./directory.js";
import type { TokenRecord } from "./token-store.js";

/** The body of a token's answer. @param catalog left out when undefined, and for tokens without scope */
export function tokenView(
  directory: Directory,
  record: TokenRecord,
  catalog: readonly CatalogService[] | undefined,
): Json {
  const domain = { ...directory.domain };
  const project = findById(directory.projects, record.projectId);
  const scoped = project !== undefined || record.system;
  return {
    token: {
      methods: [...record.methods],
      user: {
        domain,
        id: record.userId,
        name: findById(directory.users, record.userId)?.name ?? "",
        password_expires_at: null,
      },
      audit_ids: [...record.auditIds],
      expires_at: `${isoMicroseconds(record.expiresAt)}Z`,
      issued_at: `${isoMicroseconds(record.issuedAt)}Z`,
      ...(project ? { project: { domain, id: project.id, name: project.name }, is_domain: false } : {}),
      ...(record.system ? { system: { all: true } } : {}),
      ...(scoped ? { roles: tokenRoles(directory, record).map(({ id, name }) => ({ id, name })) } : {}),
      ...(scoped && catalog ? { catalog: catalog as unknown as Json } : {}),
    },
  };
}

export function tokenRoles(directory: Directory, record: TokenRecord): readonly NamedEntity[] {
  if (record.system) {
    return directory.rolesInSystem(record.userId);
  }
  return record.projectId === null ? [] : directory.rolesInProject(record.userId, record.projectId);
}

export function toCredentials(directory: Directory, record: TokenRecord): Credentials {
  return {
    userId: record.userId,
    userName: findById(directory.users, record.userId)?.name ?? "",
    projectId: record.projectId,
    projectName: findById(directory.projects, record.projectId)?.name ?? null,
    domainId: directory.domain.id,
    roles: tokenRoles(directory, record).map(({ name }) => name),
    systemScope: record.system ? "all" : null,
    expiresAt: record.expiresAt,
  };
}

function findById(entities: readonly NamedEntity[], id: string | null): NamedEntity | undefined {
  return entities.find((entity) => entity.id === id);
}
