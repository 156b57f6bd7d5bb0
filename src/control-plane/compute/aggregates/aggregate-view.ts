import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { Aggregate } from "../../store/aggregates.js";

type View = { readonly [key: string]: Json };

/** As it is shown when it has just been made: without what it cannot have yet. */
export function newAggregateView(aggregate: Aggregate, version: number): View {
  return {
    id: aggregate.id,
    ...(version >= 41 ? { uuid: aggregate.uuid } : {}),
    name: aggregate.name,
    availability_zone: aggregate.metadata.availability_zone ?? null,
    created_at: isoMicroseconds(aggregate.createdAt),
    updated_at: aggregate.updatedAt === null ? null : isoMicroseconds(aggregate.updatedAt),
    deleted: false,
    deleted_at: null,
  };
}

export function aggregateView(aggregate: Aggregate, version: number): View {
  return {
    ...newAggregateView(aggregate, version),
    hosts: aggregate.hosts,
    metadata: aggregate.metadata,
  };
}
