import type { InventoryRow, ProviderRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { barOf, barsOf, CONSUMER_TYPES, capacityOf } from "../model/bars.js";
import { byName } from "../model/filters.js";
import { count } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Bar, BarLegend, Empty, Findings } from "../parts/indicators.js";
import { Scroll } from "../parts/lists.js";
import { ConsumerLink, HostLink, ProviderLink, ServerLink } from "../parts/navigation.js";
import { Amounts, HolderType } from "./allocations.js";
import { Fact } from "./server.js";

interface BranchProps {
  readonly of: string | null;
  readonly children: ReadonlyMap<string | null, readonly ProviderRow[]>;
  readonly at: string | null;
}

/** Maximum number of consumers drawn. A bare-metal node has one, but a hypervisor may have thousands. */
const MAX_CONSUMERS = 200;

export function ProviderView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const provider = cluster.tables.provider.get(uuid);
  const traits = cluster.tables.traits.get(provider?.traits ?? "") ?? [];
  return (
    <>
      <div class="view-head">
        <h1>
          <a class="up-link" href={hashOf("placement")}>
            Placement
          </a>{" "}
          {provider?.name ?? <span class="mono">{uuid}</span>}
        </h1>
        <BarLegend />
      </div>
      {provider === undefined && cluster.ready.value && <Empty>There is no provider of this id any more.</Empty>}
      {provider !== undefined && (
        <>
          <dl class="facts">
            <Fact name="Id">
              <span class="mono">{uuid}</span>
            </Fact>
            <Fact name="Generation">{count(provider.generation)}</Fact>
            <Fact name="Host">{provider.host === null ? "no compute node" : <HostLink host={provider.host} />}</Fact>
          </dl>
          <Findings findings={cluster.findingsOfProvider.get(uuid)} />
          <section class="panel">
            <h2>Inventory</h2>
            <Inventory provider={provider} />
          </section>
          <div class="halves">
            <ProviderTree root={provider.root} at={uuid} />
            <div>
              <section class="panel">
                <h2>
                  Traits <span class="figure">{traits.length}</span>
                </h2>
                <Tags tags={traits} none="It has no traits." />
              </section>
              <section class="panel">
                <h2>
                  Aggregates <span class="figure">{provider.aggregates.length}</span>
                </h2>
                <Tags tags={provider.aggregates} none="It is in no aggregate." />
              </section>
            </div>
          </div>
          <Consumers provider={uuid} />
        </>
      )}
    </>
  );
}

function Tags({ tags, none }: { readonly tags: readonly string[]; readonly none: string }) {
  return tags.length === 0 ? (
    <p class="quiet">{none}</p>
  ) : (
    <ul class="tags">
      {tags.map((tag) => (
        <li key={tag} class="tag">
          {tag}
        </li>
      ))}
    </ul>
  );
}

function Inventory({ provider }: { readonly provider: ProviderRow }) {
  const rows = Object.entries(provider.inventory);
  if (rows.length === 0) {
    return <p class="quiet">It has no inventory of its own.</p>;
  }
  return (
    <Scroll label="Inventory">
      <table class="grid inventory">
        <thead>
          <tr>
            <th scope="col">Class</th>
            <th scope="col">Used</th>
            {["Capacity", ...CONSUMER_TYPES, "total", "reserved", "ratio", "min", "max", "step"].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, row]) => (
            <InventoryLine key={name} name={name} row={row} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function InventoryLine({ name, row }: { readonly name: string; readonly row: InventoryRow }) {
  const figures = [
    capacityOf(row),
    ...CONSUMER_TYPES.map((type) => row.used[type]),
    row.total,
    row.reserved,
    row.ratio,
    row.min,
    row.max,
    row.step,
  ];
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="inventory-bar">
        <Bar bar={barOf(name, [row])} label={false} />
      </td>
      {figures.map((value, index) => (
        <td key={index} class={`number${value === 0 ? " quiet" : ""}`}>
          {count(value)}
        </td>
      ))}
    </tr>
  );
}

function Consumers({ provider }: { readonly provider: string }) {
  const { cluster } = useDashboard();
  const consumers = cluster.consumersOfProvider.get(provider);
  return (
    <section class="panel">
      <h2>
        Consumers <span class="figure">{count(consumers.length)}</span>
      </h2>
      {consumers.length === 0 ? (
        <p class="quiet">Nobody holds anything of it.</p>
      ) : (
        <Scroll label="Consumers">
          <table class="grid">
            <thead>
              <tr>
                <th scope="col">Holder</th>
                <th scope="col">Server</th>
                <th scope="col">Resources</th>
              </tr>
            </thead>
            <tbody>
              {consumers.slice(0, MAX_CONSUMERS).map((consumer) => (
                <tr key={consumer.uuid} class={consumer.type === "stale" ? "wrong" : undefined}>
                  <th scope="row">
                    <HolderType type={consumer.type} /> <ConsumerLink uuid={consumer.uuid} />
                  </th>
                  <td>
                    {consumer.server === null ? <span class="quiet">none</span> : <ServerLink uuid={consumer.server} />}
                  </td>
                  <td>
                    <Amounts amounts={consumer.held[provider] ?? {}} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {consumers.length > MAX_CONSUMERS && (
            <p class="quiet">{count(consumers.length - MAX_CONSUMERS)} more are not shown: search for one by its id.</p>
          )}
        </Scroll>
      )}
    </section>
  );
}

/** A tree of providers, in which the current one is marked. */
export function ProviderTree({ root, at = null }: { readonly root: string; readonly at?: string | null }) {
  const tree = useDashboard().cluster.providersOfRoot.get(root);
  const children = new Map<string | null, ProviderRow[]>();
  for (const provider of tree) {
    children.set(provider.parent, [...(children.get(provider.parent) ?? []), provider]);
  }
  return (
    <div class="panel">
      <h2>Provider tree</h2>
      <Branch of={null} children={children} at={at} />
    </div>
  );
}

function Branch({ of, children, at }: BranchProps) {
  const providers = children.get(of) ?? [];
  if (providers.length === 0) {
    return null;
  }
  return (
    <ul class="tree">
      {[...providers]
        .sort((a, b) => byName(a.name, b.name))
        .map((provider) => (
          <li key={provider.uuid}>
            <div class={`tree-node${provider.uuid === at ? " tree-at" : ""}`}>
              <ProviderLink uuid={provider.uuid} />
              <span class="quiet">generation {provider.generation}</span>
              <div class="meters">
                {barsOf([provider]).map((bar) => (
                  <Bar key={bar.resourceClass} bar={bar} />
                ))}
              </div>
            </div>
            <Branch of={provider.uuid} children={children} at={at} />
          </li>
        ))}
    </ul>
  );
}
