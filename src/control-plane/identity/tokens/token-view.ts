import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { CatalogService } from "../catalog/catalog.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { LiveToken } from "./live-tokens.js";

/** The body of a token's answer. @param catalog left out when undefined, and for tokens without scope */
export function tokenView(store: IdentityStore, live: LiveToken, catalog: readonly CatalogService[] | undefined): Json {
  const { record, user, domain, scope, roles } = live;
  const credential =
    record.applicationCredentialId === null
      ? undefined
      : store.applicationCredentials.get(record.applicationCredentialId);
  return {
    token: {
      methods: [...record.methods],
      user: { domain: named(domain), ...named(user), password_expires_at: null },
      audit_ids: [...record.auditIds],
      expires_at: `${isoMicroseconds(record.expiresAt)}Z`,
      issued_at: `${isoMicroseconds(record.issuedAt)}Z`,
      ...scopeView(live),
      ...(scope ? { roles: roles.map(named) } : {}),
      ...(scope && catalog ? { catalog: catalog as unknown as Json } : {}),
      ...(credential ? { application_credential: { ...named(credential), restricted: !credential.unrestricted } } : {}),
    },
  };
}

function scopeView({ record, target, targetDomain }: LiveToken): Readonly<Record<string, Json>> {
  if (record.system) {
    return { system: { all: true } };
  }
  if (!target) {
    return {};
  }
  if (record.domainId !== null) {
    return { domain: named(target) };
  }
  return { project: { domain: named(targetDomain ?? target), ...named(target) }, is_domain: target.is_domain };
}

function named({ id, name }: { readonly id: string; readonly name: string }) {
  return { id, name };
}
