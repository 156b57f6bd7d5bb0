import type { Gauge, Registry } from "prom-client";
import type { Sql } from "./database/sql.js";

interface ResourceMetricsSources {
  readonly Gauge: typeof Gauge;
  readonly registers: Registry[];
  readonly sql: Sql;
}

const PREFIX = "compute_cluster_";

const PORT_STATUSES = ["ACTIVE", "BUILD", "DOWN", "ERROR", "N/A"];
const FLOATING_IP_STATUSES = ["ACTIVE", "DOWN", "ERROR"];
const VOLUME_STATUSES = ["available", "in-use", "reserved", "attaching", "detaching", "error"];
const ATTACHMENT_STATUSES = ["reserved", "attaching", "attached"];

/** Registers the metrics of the embedded Network and Block Storage services. Each reads an index or counts a table at a scrape. */
export function registerResourceMetrics({ Gauge, registers, sql }: ResourceMetricsSources): void {
  const byStatus = (name: string, help: string, table: string, statuses: readonly string[], column = "status") =>
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames: ["status"],
      registers,
      collect() {
        const counts = new Map(statuses.map((status) => [status, 0]));
        for (const [status, count] of sql.all(`SELECT ${column}, count(*) FROM ${table} GROUP BY ${column}`)) {
          counts.set(String(status), Number(count));
        }
        for (const [status, count] of counts) {
          this.set({ status }, count);
        }
      },
    });
  const count = (name: string, help: string, query: string) =>
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      collect() {
        this.set(sql.number(query));
      },
    });
  count("networks", "Networks", "SELECT count(*) FROM network_networks");
  byStatus("ports", "Ports, by status", "network_ports", PORT_STATUSES);
  byStatus("floating_ips", "Floating IPs, by status", "network_floatingips", FLOATING_IP_STATUSES);
  count(
    "port_bindings_failed",
    "Port bindings whose vif_type is binding_failed",
    "SELECT count(*) FROM network_port_bindings WHERE vif_type = 'binding_failed'",
  );
  byStatus("volumes", "Volumes, by status", "block_storage_volumes", VOLUME_STATUSES);
  byStatus(
    "volume_attachments",
    "Attachments of volumes, by status",
    "block_storage_attachments",
    ATTACHMENT_STATUSES,
    "attach_status",
  );
  count(
    "volumes_bytes",
    "Size of all volumes",
    "SELECT coalesce(sum(size), 0) * 1073741824 FROM block_storage_volumes",
  );
}
