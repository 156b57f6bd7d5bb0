import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

/** Returns the metrics in the tables of docs/reference/metrics.md, with the prefix that precedes each table. */
async function documented(): Promise<ReadonlySet<string>> {
  const text = await readFile(new URL("../../../../docs/reference/metrics.md", import.meta.url), "utf8");
  const [agents = "", controlPlane = ""] = text.split("## Metrics of the control plane");
  const rows = (part: string, prefix: string) =>
    [...part.matchAll(/^\| (`[^|]+`) \| (gauge|counter|histogram) /gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => prefix + name),
    );
  return new Set([...rows(agents, "openstack_nova_compute_"), ...rows(controlPlane, "compute_cluster_")]);
}

it("the Grafana dashboard queries only metrics that exist", async () => {
  const names = await documented();
  const text = await readFile(new URL("../../../../config/grafana-dashboard.json", import.meta.url), "utf8");
  const { panels } = JSON.parse(text) as {
    readonly panels: readonly { readonly targets: { readonly expr: string }[] }[];
  };
  const queriedMetrics = panels
    .flatMap(({ targets }) => targets)
    .flatMap(({ expr }) => expr.match(/\b(compute_cluster|openstack_nova_compute)_\w+/g) ?? [])
    .map((name) => name.replace(/_bucket$/, ""));
  expect(queriedMetrics.length).toBeGreaterThan(15);
  expect(queriedMetrics.filter((name) => !names.has(name))).toEqual([]);
});
