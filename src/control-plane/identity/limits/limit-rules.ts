import type { Json } from "../../http/json.js";
import type { IdentityCall } from "../api/identity-call.js";
import { expecting, IdentityError } from "../api/identity-error.js";
import { ownServices } from "../catalog/catalog.js";
import { isSameName } from "../name-key.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { RegisteredLimit } from "../store/records.js";

/** By which a registered limit is known. */
export type LimitKey = Pick<RegisteredLimit, "service_id" | "region_id" | "resource_name">;

export function registeredLimit(store: IdentityStore, key: LimitKey): RegisteredLimit | undefined {
  return store.registeredLimits
    .list()
    .find(
      ({ service_id: service, region_id: region, resource_name: name }) =>
        service === key.service_id && isSameName(region, key.region_id) && isSameName(name, key.resource_name),
    );
}

/** @throws {IdentityError} 400 the service or the region does not exist */
export function requirePlace(
  call: IdentityCall,
  kind: string,
  { service_id: service, region_id: region = null }: Partial<Pick<LimitKey, "service_id" | "region_id">>,
): void {
  const { store, services } = call;
  const isOwn = ownServices(services.digests).some(({ id }) => id === service);
  if (service !== undefined && !isOwn && !store.services.get(service)) {
    throw expecting("service_id", kind);
  }
  if (region !== null && !store.regions.get(region)) {
    throw expecting("region_id", kind);
  }
}

export function limitNotFound(kind: string, id: string): IdentityError {
  return new IdentityError(404, `Could not find ${kind} for ${id}.`);
}

/** The bodies of a POST, of which there may be many. */
export function bodies(call: IdentityCall, member: string): unknown {
  return call.json()[member] ?? {};
}

export function collectionBody(call: IdentityCall, plural: string, records: readonly { readonly id: string }[]): Json {
  const withLinks = records.map((record) => ({ ...record, links: { self: `${call.root}/${plural}/${record.id}` } }));
  return { [plural]: withLinks as unknown as Json };
}

/** What a project may have, as a service asks; undefined: nobody has registered a limit. -1: any number. */
export function effectiveLimit(store: IdentityStore, key: LimitKey, projectId: string): number | undefined {
  const registered = registeredLimit(store, key) ?? registeredLimit(store, { ...key, region_id: null });
  const own = store.limits
    .list()
    .find(({ registered_limit_id: id, project_id: project }) => id === registered?.id && project === projectId);
  return own?.resource_limit ?? registered?.default_limit;
}
