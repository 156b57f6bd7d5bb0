import { useComputed } from "@preact/signals";
import type { ProviderRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { barsInColumn, barsOf, classColumns, OTHER_CLASSES, usedShare } from "../model/bars.js";
import type { Cluster } from "../model/cluster.js";
import { hasWords } from "../model/filters.js";
import { count, counted } from "../model/format.js";
import { type SortValue, sortingOf, sortRows } from "../model/sorting.js";
import { Bar, BarLegend, Empty, Findings, State } from "../parts/indicators.js";
import { CheckField, FilterField, HostLink, Panel, ProviderLink, ServerLink, ViewHead } from "../parts/navigation.js";
import { type ListColumn, SortableList } from "../parts/sortable-list.js";
import { AllocationRows, ConsumerTypeName } from "./allocations.js";
import { Fact } from "./server.js";

const NAME_COLUMNS: readonly ListColumn<ProviderRow>[] = [
  {
    name: "name",
    title: "Root provider",
    tooltip: "Name of the root of a provider tree, which is its compute node",
    class: "line-name",
    cell: ({ uuid }) => <ProviderLink uuid={uuid} />,
  },
  {
    name: "host",
    title: "Host",
    tooltip: "Host of the compute node with the uuid of the provider",
    class: "line-host",
    cell: ({ host }) =>
      host === null ? (
        <State shape="wrong" word="no compute node" title="No compute node has the uuid of this provider." />
      ) : (
        <HostLink host={host} />
      ),
  },
];

const FIGURE_COLUMNS: readonly ListColumn<ProviderRow>[] = [
  {
    name: "providers",
    title: "Providers",
    tooltip: "Providers of the tree, including the root",
    class: "line-figures line-count",
    numeric: true,
    cell: ({ uuid }) => <TreeSize root={uuid} />,
  },
  {
    name: "generation",
    title: "Generation",
    tooltip: "Generation of the root provider, which each change increments",
    class: "line-figures line-generation",
    numeric: true,
    cell: ({ generation }) => count(generation),
  },
];

const barColumn = (name: string): ListColumn<ProviderRow> => ({
  name,
  title: name === OTHER_CLASSES ? "Other" : name,
  tooltip: `Used / capacity of ${name === OTHER_CLASSES ? "other resource classes" : name} in the tree`,
  class: "line-bar",
  numeric: true,
  cell: ({ uuid }) => <TreeBars root={uuid} column={name} />,
});

/** All provider trees, by their roots. */
export function Placement() {
  const { cluster, route, narrow } = useDashboard();
  const roots = useComputed(() => [...cluster.tables.provider.rows.values()].filter(({ parent }) => parent === null));
  const columns = useComputed(() => [
    ...NAME_COLUMNS,
    ...classColumns(cluster.resourceClasses.value).map(barColumn),
    ...FIGURE_COLUMNS,
  ]);
  const sorting = useComputed(() =>
    sortingOf(
      route.value.filter.sort,
      columns.value.map(({ name }) => name),
      "name",
    ),
  );
  const visibleRoots = useComputed(() => {
    const { q = "", orphans } = route.value.filter;
    const { column, descending } = sorting.value;
    const rows = roots.value
      .filter((root) => orphans !== "1" || root.host === null)
      .filter((root) => hasWords(q, root.name, root.uuid, root.host));
    return sortRows(rows, sortValueOf(column, cluster), ({ name }) => name, descending);
  });
  const wrong = useComputed(
    () =>
      new Set(
        [...cluster.tables.finding.rows.values()].flatMap(({ provider }) => (provider === null ? [] : [provider])),
      ),
  );
  return (
    <>
      <ViewHead
        title={
          <>
            Placement <span class="figure">{count(cluster.tables.provider.rows.size)}</span>
            <span class="quiet"> providers</span>
          </>
        }
      >
        <BarLegend />
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter trees by name, id, host …" value={route.value.filter.q ?? ""} />
        <CheckField label="Without a compute node" name="orphans" />
      </div>
      {cluster.ready.value && visibleRoots.value.length === 0 && (
        <Empty>
          {roots.value.length === 0
            ? "There are no providers. The first host that starts creates one."
            : "No provider trees match."}
        </Empty>
      )}
      {visibleRoots.value.length > 0 && (
        <SortableList
          label="Provider trees"
          columns={columns.value}
          items={visibleRoots.value}
          sorting={sorting.value}
          height={narrow.value ? 84 : 48}
          keyOf={({ uuid }) => uuid}
          rowClass={`provider-line bars-${columns.value.length - NAME_COLUMNS.length - FIGURE_COLUMNS.length}`}
          isWrong={({ uuid, host }) => host === null || wrong.value.has(uuid)}
        />
      )}
    </>
  );
}

function sortValueOf(column: string, cluster: Cluster): (root: ProviderRow) => SortValue {
  switch (column) {
    case "name":
      return ({ name }) => name;
    case "host":
      return ({ host }) => host;
    case "providers":
      return ({ uuid }) => cluster.providersOfRoot.count(uuid);
    case "generation":
      return ({ generation }) => generation;
    default:
      return ({ uuid }) => usedShare(barsInColumn(column, barsOf(cluster.providersOfRoot.read(uuid)))[0]);
  }
}

function TreeSize({ root }: { readonly root: string }) {
  const size = useDashboard().cluster.providersOfRoot.get(root).length;
  return <span title={counted(size, "provider")}>{count(size)}</span>;
}

function TreeBars({ root, column }: { readonly root: string; readonly column: string }) {
  const bars = barsInColumn(column, barsOf(useDashboard().cluster.providersOfRoot.get(root)));
  return (
    <>
      {bars.map((bar) => (
        <Bar key={bar.resourceClass} bar={bar} label="stack" withName={column === OTHER_CLASSES} />
      ))}
    </>
  );
}

/** The allocations of one consumer, by provider. */
export function ConsumerView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const consumer = cluster.tables.consumer.get(uuid);
  return (
    <>
      <ViewHead up="placement" title="Consumer">
        {consumer !== undefined && <ConsumerTypeName type={consumer.type} />}
      </ViewHead>
      <dl class="facts">
        <Fact name="Id">
          <span class="mono">{uuid}</span>
        </Fact>
        {consumer !== undefined && (
          <>
            <Fact name="Server">{consumer.server === null ? "unknown" : <ServerLink uuid={consumer.server} />}</Fact>
            <Fact name="Generation">{count(consumer.generation)}</Fact>
            {consumer.placementType !== null && <Fact name="Type in Placement">{consumer.placementType}</Fact>}
            <Fact name="Project">
              <span class="mono">{consumer.projectId}</span>
            </Fact>
            <Fact name="User">
              <span class="mono">{consumer.userId}</span>
            </Fact>
          </>
        )}
      </dl>
      <Findings findings={cluster.findingsOfConsumer.get(uuid)} />
      {consumer === undefined && cluster.ready.value && <Empty>The consumer has no allocations.</Empty>}
      {consumer !== undefined && (
        <Panel title="Allocations">
          <AllocationRows label="Allocations of the consumer" consumers={[consumer]} />
        </Panel>
      )}
    </>
  );
}
