import { useComputed } from "@preact/signals";
import { useDashboard } from "../live.js";
import { barsOf } from "../model/bars.js";
import { byName, HOST_STATES, type HostFilter, isHostMatch, isHostState, isInState } from "../model/filters.js";
import { count } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Bar, BarLegend, Empty, HostState, State } from "../parts/indicators.js";
import { VirtualList } from "../parts/lists.js";
import { FilterField, HostLink, PickField, setFilter, ViewHead } from "../parts/navigation.js";
import { Heartbeat, HostCard } from "./host.js";

/** Maximum number of hosts drawn as cards; more hosts are drawn as lines. */
const MAX_CARDS = 48;

const STATE_NAMES = { up: "Up", down: "Down", disabled: "Disabled", differs: "Differs", faults: "Faults set" } as const;

export function Hosts() {
  const { cluster, route, narrow } = useDashboard();
  const hosts = useComputed(() => [...cluster.tables.host.rows.values()].sort((a, b) => byName(a.host, b.host)));
  const differing = useComputed(
    () => new Set([...cluster.tables.finding.rows.values()].flatMap(({ host }) => (host === null ? [] : [host]))),
  );
  const filter = useComputed((): HostFilter => {
    const { q = "", state, aggregate = "", fault = "" } = route.value.filter;
    return { text: q, state: isHostState(state) ? state : "", aggregate, fault };
  });
  const visibleHosts = useComputed(() =>
    hosts.value.filter((host) => isHostMatch(host, differing.value.has(host.host), filter.value)),
  );
  const aggregates = useComputed(() => [...new Set(hosts.value.flatMap((host) => host.aggregates))].sort(byName));
  const faults = useComputed(() =>
    [...new Set(hosts.value.flatMap((host) => host.faults.map((fault) => fault.split("=")[0] ?? fault)))].sort(),
  );
  const counts = useComputed(() =>
    HOST_STATES.map((state) => ({
      state,
      hosts: hosts.value.filter((host) => isInState(host, state, differing.value.has(host.host))).length,
    })),
  );
  const { state, aggregate, fault, text } = filter.value;
  return (
    <>
      <ViewHead title="Hosts" figure={hosts.value.length}>
        <BarLegend />
        <AddHosts />
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter hosts by name, zone, reason …" value={text} />
        <fieldset class="chips">
          <legend class="hidden">State</legend>
          <a
            class="chip"
            href={hashOf("hosts", null, { ...route.value.filter, state: "" })}
            aria-current={state === ""}
          >
            All
          </a>
          {counts.value.map(({ state: name, hosts: number }) => (
            <a
              key={name}
              class={`chip${name === "differs" && number > 0 ? " chip-wrong" : ""}`}
              href={hashOf("hosts", null, { ...route.value.filter, state: state === name ? "" : name })}
              aria-current={state === name}
            >
              {STATE_NAMES[name]} <span class="figure">{count(number)}</span>
            </a>
          ))}
        </fieldset>
        {aggregates.value.length > 0 && (
          <PickField label="Aggregate" name="aggregate" value={aggregate} choices={aggregates.value} />
        )}
        {faults.value.length > 0 && <PickField label="Fault" name="fault" value={fault} choices={faults.value} />}
      </div>
      {hosts.value.length === 0 && cluster.ready.value && (
        <Empty>
          No host has joined yet. <code>compute-agent host add devstack1</code> adds one.
        </Empty>
      )}
      {hosts.value.length > 0 && visibleHosts.value.length === 0 && (
        <Empty>
          No host is so.{" "}
          <button type="button" class="plain" onClick={() => setFilter({ q: "", state: "", aggregate: "", fault: "" })}>
            Show all {count(hosts.value.length)}
          </button>
        </Empty>
      )}
      {visibleHosts.value.length <= MAX_CARDS ? (
        <div class="cards">
          {visibleHosts.value.map((host) => (
            <HostCard key={host.host} name={host.host} brief />
          ))}
        </div>
      ) : (
        <VirtualList
          label="Hosts"
          items={visibleHosts.value}
          height={narrow.value ? 96 : 44}
          keyOf={(host) => host.host}
          draw={(host) => <HostLine name={host.host} />}
        />
      )}
    </>
  );
}

function AddHosts() {
  const action = useDashboard().cluster.hello.value?.actions.find(({ name }) => name === "host-add");
  return action === undefined ? null : (
    <a class="button" href={hashOf("try", action.name)} title={action.summary}>
      {action.label}
    </a>
  );
}

/** The line of a host in a long list. */
function HostLine({ name }: { readonly name: string }) {
  const { cluster } = useDashboard();
  const host = cluster.tables.host.get(name);
  if (host === undefined) {
    return null;
  }
  const findings = cluster.findingsOfHost.get(name).length;
  const servers = cluster.serversOfHost.get(name).length;
  const guests = cluster.tables.guests.get(name)?.guests.length;
  const place = [host.zone, ...host.aggregates.filter((aggregate) => aggregate !== host.zone)]
    .filter(Boolean)
    .join(" · ");
  return (
    <div class={`line host-line${findings > 0 ? " line-wrong" : ""}`}>
      <span class="line-name">
        <HostLink host={name} />
      </span>
      <HostState host={host} />
      <span class="line-note" title={host.reason}>
        {host.reason || (host.faults.length > 0 ? host.faults.join(" ") : place)}
      </span>
      <span class="line-wrongs">{findings > 0 && <State shape="wrong" word={`${findings} wrong`} />}</span>
      <span class="line-bars">
        {barsOf(cluster.providersOfHost.get(name)).map((bar) => (
          <Bar key={bar.resourceClass} bar={bar} label={false} />
        ))}
      </span>
      <span class="line-figures" title="Servers as Compute sees them, guests as the hypervisor does">
        {count(servers)}
        <span class="quiet"> / {guests === undefined ? "?" : count(guests)}</span>
      </span>
      <Heartbeat host={name} />
    </div>
  );
}
