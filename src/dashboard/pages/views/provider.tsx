import type { InventoryRow, ProviderRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { barOf, barsOf, CONSUMER_TYPES, capacityOf } from "../model/bars.js";
import { byName } from "../model/filters.js";
import { count } from "../model/format.js";
import { Bar, BarLegend, Empty, Findings } from "../parts/indicators.js";
import { Grid, Scroll } from "../parts/lists.js";
import { HostLink, Panel, ProviderLink, ServerLink, ViewHead } from "../parts/navigation.js";
import { Amounts, ConsumerName } from "./allocations.js";
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
      <ViewHead up="placement" title={provider?.name ?? <span class="mono">{uuid}</span>}>
        <BarLegend />
      </ViewHead>
      {provider === undefined && cluster.ready.value && <Empty>There is no provider with this id.</Empty>}
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
          <Panel title="Inventory">
            <Inventory provider={provider} />
          </Panel>
          <div class="halves">
            <ProviderTree root={provider.root} at={uuid} />
            <div>
              <Panel title="Traits" figure={traits.length}>
                <Tags tags={traits} none="No traits." />
              </Panel>
              <Panel title="Aggregates" figure={provider.aggregates.length}>
                <Tags tags={provider.aggregates} none="No aggregates." />
              </Panel>
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

/** The figures of an inventory, in the order of their columns. */
const INVENTORY_COLUMNS: readonly (readonly [name: string, tooltip: string])[] = [
  ["capacity", "(total − reserved) × allocation_ratio"],
  ["server", "Allocations of servers"],
  ["migration", "Allocations of migrations in progress"],
  ["stale", "Allocations of consumers that are no server and no migration"],
  ["total", "Amount that the provider has"],
  ["reserved", "Amount that is not for allocations"],
  ["allocation_ratio", "Factor by which the amount may be overcommitted"],
  ["min_unit", "Smallest amount of one allocation"],
  ["max_unit", "Largest amount of one allocation"],
  ["step_size", "Amounts of allocations are multiples of it"],
];

function Inventory({ provider }: { readonly provider: ProviderRow }) {
  const rows = Object.entries(provider.inventory);
  if (rows.length === 0) {
    return <p class="quiet">No inventory.</p>;
  }
  return (
    <Scroll label="Inventory">
      <table class="grid inventory">
        <thead>
          <tr>
            <th scope="col">Resource class</th>
            <th scope="col">Used</th>
            {INVENTORY_COLUMNS.map(([name, tooltip]) => (
              <th key={name} scope="col" class="number" title={tooltip}>
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
        <Bar bar={barOf(name, [row])} label="none" />
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
    <Panel title="Consumers" figure={consumers.length}>
      {consumers.length === 0 ? (
        <p class="quiet">No allocations.</p>
      ) : (
        <>
          <Grid
            label="Consumers"
            columns={[
              { title: "Consumer", cell: (consumer) => <ConsumerName {...consumer} /> },
              {
                title: "Server",
                cell: ({ server }) =>
                  server === null ? <span class="quiet">none</span> : <ServerLink uuid={server} />,
              },
              { title: "Resources", cell: ({ held }) => <Amounts amounts={held[provider] ?? {}} /> },
            ]}
            rows={consumers.slice(0, MAX_CONSUMERS)}
            keyOf={({ uuid }) => uuid}
            isWrong={({ type }) => type === "stale"}
          />
          {consumers.length > MAX_CONSUMERS && (
            <p class="quiet">
              {count(consumers.length - MAX_CONSUMERS)} more consumers are not listed. Search for one by its id.
            </p>
          )}
        </>
      )}
    </Panel>
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
