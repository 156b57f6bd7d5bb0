import type { StoreContext } from "./store-context.js";

/** Table `network_tags`: words that users give to networks, subnets, ports and security groups. */
export class NetworkTags {
  readonly #sql: StoreContext["sql"];

  constructor(context: StoreContext) {
    this.#sql = context.sql;
  }

  /** In the order in which they were given. */
  of(uuid: string): readonly string[] {
    const rows = this.#sql.all("SELECT tag FROM network_tags WHERE resource_uuid = ? ORDER BY rowid", uuid);
    return rows.map(([tag]) => String(tag));
  }

  add(uuid: string, tag: string): void {
    this.#sql.run("INSERT OR IGNORE INTO network_tags VALUES (?, ?)", uuid, tag);
  }

  replace(uuid: string, tags: readonly string[]): void {
    this.#sql.transaction(() => {
      this.#sql.run("DELETE FROM network_tags WHERE resource_uuid = ?", uuid);
      for (const tag of tags) {
        this.add(uuid, tag);
      }
    });
  }

  remove(uuid: string, tag: string): void {
    this.#sql.run("DELETE FROM network_tags WHERE resource_uuid = ? AND tag = ?", uuid, tag);
  }
}

/** Table `network_quotas`: limits of projects that somebody has set; -1 is no limit. */
export class NetworkQuotas {
  readonly #sql: StoreContext["sql"];

  constructor(context: StoreContext) {
    this.#sql = context.sql;
  }

  limits(projectId: string): Readonly<Record<string, number>> {
    const rows = this.#sql.all("SELECT resource, hard_limit FROM network_quotas WHERE project_id = ?", projectId);
    return Object.fromEntries(rows.map(([resource, limit]) => [String(resource), Number(limit)]));
  }

  /** Projects of which a limit was set. */
  projects(): readonly string[] {
    const rows = this.#sql.all("SELECT DISTINCT project_id FROM network_quotas ORDER BY project_id");
    return rows.map(([project]) => String(project));
  }

  set(projectId: string, resource: string, limit: number): void {
    this.#sql.run(
      `INSERT INTO network_quotas VALUES (?, ?, ?)
       ON CONFLICT (project_id, resource) DO UPDATE SET hard_limit = excluded.hard_limit`,
      projectId,
      resource,
      limit,
    );
  }

  remove(projectId: string): void {
    this.#sql.run("DELETE FROM network_quotas WHERE project_id = ?", projectId);
  }
}
