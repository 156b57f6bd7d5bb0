import { useDashboard } from "../context.js";
import { hashOf } from "../model/routes.js";
import { BarLegend } from "../parts/bar.js";
import { Empty } from "../parts/findings.js";
import { HostCard } from "./host-card.js";
import { ProviderTree } from "./provider-tree.js";

/** One host, with all of its servers and the tree of its providers. */
export function HostView({ host }: { readonly host: string }) {
  const { cluster } = useDashboard();
  const known = cluster.tables.host.get(host) !== undefined;
  const roots = cluster.providersOfHost.get(host).filter((provider) => provider.parent === null);
  return (
    <>
      <div class="view-head">
        <h1>
          <a class="up-link" href={hashOf("hosts")}>
            Hosts
          </a>{" "}
          {host}
        </h1>
        <BarLegend />
      </div>
      {!known && cluster.ready.value && (
        <Empty>
          There is no host of this name. <a href={hashOf("hosts")}>All hosts</a>
        </Empty>
      )}
      {known && (
        <div class="halves">
          <HostCard name={host} />
          <section aria-label="Providers">
            {roots.slice(0, 20).map((root) => (
              <ProviderTree key={root.uuid} root={root.root} />
            ))}
            {roots.length > 20 && (
              <p class="quiet">
                <a href={hashOf("placement", null, { q: host })}>{roots.length - 20} more providers</a>
              </p>
            )}
          </section>
        </div>
      )}
    </>
  );
}
