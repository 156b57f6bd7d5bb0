import { useComputed } from "@preact/signals";
import { useDashboard } from "../live.js";
import { barsOf } from "../model/bars.js";
import { byName, hasWords } from "../model/filters.js";
import { count } from "../model/format.js";
import { Bar, BarLegend, Empty, Findings, State } from "../parts/indicators.js";
import { VirtualList } from "../parts/lists.js";
import { CheckField, FilterField, HostLink, Panel, ProviderLink, ServerLink, ViewHead } from "../parts/navigation.js";
import { AllocationRows, HolderType } from "./allocations.js";
import { Fact } from "./server.js";

/** All provider trees, by their roots. */
export function Placement() {
  const { cluster, route, narrow } = useDashboard();
  const roots = useComputed(() =>
    [...cluster.tables.provider.rows.values()]
      .filter(({ parent }) => parent === null)
      .sort((a, b) => byName(a.name, b.name)),
  );
  const visibleRoots = useComputed(() => {
    const { q = "", orphans } = route.value.filter;
    return roots.value
      .filter((root) => orphans !== "1" || root.host === null)
      .filter((root) => hasWords(q, root.name, root.uuid, root.host))
      .map(({ uuid }) => uuid);
  });
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
            ? "There is no provider: the first host that starts makes one."
            : "No tree of providers is so."}
        </Empty>
      )}
      <VirtualList
        label="Provider trees"
        items={visibleRoots.value}
        height={narrow.value ? 76 : 44}
        keyOf={(uuid) => uuid}
        draw={(uuid) => <RootLine uuid={uuid} />}
      />
    </>
  );
}

function RootLine({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const provider = cluster.tables.provider.get(uuid);
  if (provider === undefined) {
    return null;
  }
  const tree = cluster.providersOfRoot.get(uuid);
  const findings = cluster.findingsOfProvider.get(uuid).length;
  return (
    <div class={`line provider-line${findings > 0 ? " line-wrong" : ""}`}>
      <span class="line-name">
        <ProviderLink uuid={uuid} />
      </span>
      <span class="line-host">
        {provider.host === null && <State shape="wrong" word="no compute node" />}
        {provider.host !== null && provider.host !== provider.name && <HostLink host={provider.host} />}
      </span>
      <span class="line-note">{tree.length > 1 ? `${count(tree.length)} providers` : ""}</span>
      <span class="line-bars">
        {barsOf(tree).map((bar) => (
          <Bar key={bar.resourceClass} bar={bar} label={false} />
        ))}
      </span>
      <span class="line-figures" title="Generation">
        <span class="quiet">gen</span> {provider.generation}
      </span>
    </div>
  );
}

/** The allocations of one consumer, by provider. */
export function ConsumerView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const consumer = cluster.tables.consumer.get(uuid);
  return (
    <>
      <ViewHead up="placement" title="Consumer">
        {consumer !== undefined && <HolderType type={consumer.type} />}
      </ViewHead>
      <dl class="facts">
        <Fact name="Id">
          <span class="mono">{uuid}</span>
        </Fact>
        {consumer !== undefined && (
          <>
            <Fact name="Server">{consumer.server === null ? "not known" : <ServerLink uuid={consumer.server} />}</Fact>
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
      {consumer === undefined && cluster.ready.value && <Empty>It holds nothing.</Empty>}
      {consumer !== undefined && (
        <Panel title="Holds">
          <AllocationRows label="What it holds" consumers={[consumer]} />
        </Panel>
      )}
    </>
  );
}
