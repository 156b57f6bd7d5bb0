import { useDashboard } from "../context.js";
import { barsOf } from "../model/bars.js";
import { count } from "../model/format.js";
import { Bar } from "../parts/bar.js";
import { HostLink } from "../parts/links.js";
import { HostState, State } from "../parts/state.js";
import { Heartbeat } from "./host-card.js";

/** A host among thousands. */
export function HostLine({ name }: { readonly name: string }) {
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
