import type { Json } from "../../http/json.js";
import type { IdentityCall } from "../api/identity-call.js";
import { expecting, IdentityError } from "../api/identity-error.js";
import { ownServices } from "../catalog/catalog.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { RegisteredLimit } from "../store/records.js";

/** By which a registered limit is known. */
export type LimitKey = Pick<RegisteredLimit, "service_id" | "region_id" | "resource_name">;

export function registeredLimit(store: IdentityStore, key: LimitKey): RegisteredLimit | undefined {
  return store.registeredLimits
    .list()
    .find(
      ({ service_id: service, region_id: region, resource_name: name }) =>
        service === key.service_id && region === key.region_id && name === key.resource_name,
    );
}

/** @throws {IdentityError} 400 the service or the region is not there */
export function requirePlace(
  call: IdentityCall,
  kind: string,
  { service_id: service, region_id: region }: LimitKey,
): void {
  const { store, services } = call;
  const isOwn = ownServices(services.digests).some(({ id }) => id === service);
  if (!isOwn && !store.services.get(service)) {
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

export function shown(call: IdentityCall, plural: string, records: readonly { readonly id: string }[]): Json {
  const withLinks = records.map((record) => ({ ...record, links: { self: `${call.root}/${plural}/${record.id}` } }));
  return { [plural]: withLinks as unknown as Json };
}

/** A service that is gone gives nothing that could be limited. */
export function forgetLimits(store: IdentityStore, serviceId: string): void {
  for (const registered of store.registeredLimits.list().filter(({ service_id: id }) => id === serviceId)) {
    for (const limit of store.limits.list().filter(({ registered_limit_id: id }) => id === registered.id)) {
      store.limits.delete(limit.id);
    }
    store.registeredLimits.delete(registered.id);
  }
}

/** What a project may have, as a service asks; undefined: nobody has registered a limit. -1: any number. */
export function effectiveLimit(store: IdentityStore, key: LimitKey, projectId: string): number | undefined {
  const registered = registeredLimit(store, key) ?? registeredLimit(store, { ...key, region_id: null });
  const own = store.limits
    .list()
    .find(({ registered_limit_id: id, project_id: project }) => id === registered?.id && project === projectId);
  return own?.resource_limit ?? registered?.default_limit;
}
