import { batch, signal } from "@preact/signals";
import type { RequestRow } from "../../wire/request-rows.js";
import type { DashboardHello, DashboardMessage, Kind, Rows } from "../../wire/stream.js";
import { Table } from "./table.js";

/** Requests that are kept for looking back. */
const MAX_REQUESTS = 2_000;

const listed = (value: string | null): readonly string[] => (value === null ? [] : [value]);

/** What the page knows of the cluster, as it was told. */
export class Cluster {
  readonly hello = signal<DashboardHello | null>(null);
  /** All of the first snapshot is here. */
  readonly ready = signal(false);

  readonly tables: { readonly [K in Exclude<Kind, "request">]: Table<Rows[K]> } = {
    host: new Table(),
    heartbeat: new Table(),
    server: new Table(),
    migration: new Table(),
    provider: new Table(),
    traits: new Table(),
    consumer: new Table(),
    guests: new Table(),
    finding: new Table(),
    action: new Table(),
    flavor: new Table(),
    edit: new Table(),
    snapshot: new Table(),
    scenario: new Table(),
  };
  /** Newest first. */
  readonly requests = signal<readonly RequestRow[]>([]);

  readonly serversOfHost = this.tables.server.groupBy(({ host }) => listed(host));
  readonly migrationsOfServer = this.tables.migration.groupBy(({ server }) => [server]);
  readonly consumersOfServer = this.tables.consumer.groupBy(({ server }) => listed(server));
  readonly consumersOfProvider = this.tables.consumer.groupBy(({ held }) => Object.keys(held));
  readonly providersOfRoot = this.tables.provider.groupBy(({ root }) => [root]);
  readonly providersOfHost = this.tables.provider.groupBy(({ host }) => listed(host));
  readonly findingsOfHost = this.tables.finding.groupBy(({ host }) => listed(host));
  readonly findingsOfServer = this.tables.finding.groupBy(({ server }) => listed(server));
  readonly findingsOfConsumer = this.tables.finding.groupBy(({ consumer }) => listed(consumer));
  readonly findingsOfProvider = this.tables.finding.groupBy(({ provider }) => listed(provider));

  greet(hello: DashboardHello): void {
    this.hello.value = hello;
    if (hello.reset) {
      for (const table of Object.values(this.tables)) {
        table.doubt();
      }
    }
  }

  settle(): void {
    batch(() => {
      for (const table of Object.values(this.tables)) {
        table.settle();
      }
      this.ready.value = true;
    });
  }

  /** All of them, before anybody is told: one drawing for many changes. */
  apply(messages: readonly DashboardMessage[]): void {
    batch(() => {
      const requests: RequestRow[] = [];
      for (const { set, gone } of messages) {
        for (const row of set) {
          if (row.kind === "request") {
            requests.push(row.value);
          } else {
            this.#set(row.kind, row.key, row.value);
          }
        }
        for (const { kind, key } of gone) {
          if (kind !== "request") {
            this.tables[kind]?.delete(key);
          }
        }
      }
      this.#add(requests);
    });
  }

  /** Kinds that a newer server tells of are left out. */
  #set(kind: Exclude<Kind, "request">, key: string, value: unknown): void {
    (this.tables[kind] as Table<unknown> | undefined)?.set(key, value);
  }

  #add(requests: readonly RequestRow[]): void {
    if (requests.length > 0) {
      const known = new Map(this.requests.value.map((request) => [request.id, request]));
      for (const request of requests) {
        known.set(request.id, request);
      }
      this.requests.value = [...known.values()].sort((a, b) => b.at - a.at).slice(0, MAX_REQUESTS);
    }
  }
}
