import { useDashboard } from "../live.js";
import { barsOf } from "../model/bars.js";
import { othersOf, type Pair, pairsOf } from "../model/cluster.js";
import { age, counted } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Bar, BarLegend, Empty, Findings, HostState, Icon, ServerState, State } from "../parts/indicators.js";
import { HostLink, ServerLink, ViewHead } from "../parts/navigation.js";
import { ActionButtons } from "./action-dialog.js";
import { ProviderTree } from "./provider.js";

interface PairsProps {
  readonly pairs: readonly Pair[];
  readonly guestsAt: number | null;
  /** No source can report newer guests. */
  readonly isLast: boolean;
}

/** Maximum number of servers on a card in the list of hosts; the host's own page displays all of them. */
const MAX_PAIRS = 6;

/** Milliseconds after which the age of the guests is displayed. */
const OLD = 30_000;

const GuestState = ({ state }: { readonly state: string }) => (
  <State shape={state === "running" ? "up" : state === "crashed" ? "wrong" : "off"} word={state} />
);

/** One host with all of its servers and its tree of providers. */
export function HostView({ host }: { readonly host: string }) {
  const { cluster } = useDashboard();
  const known = cluster.tables.host.get(host) !== undefined;
  const roots = cluster.providersOfHost.get(host).filter((provider) => provider.parent === null);
  return (
    <>
      <ViewHead up="hosts" title={host}>
        <div class="view-tools">
          <BarLegend />
          <a class="button" href={hashOf("logs", null, { host })} title="Log entries of this host">
            Logs
          </a>
        </div>
      </ViewHead>
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

export function HostCard({ name, brief = false }: { readonly name: string; readonly brief?: boolean }) {
  const { cluster } = useDashboard();
  const host = cluster.tables.host.get(name);
  if (host === undefined) {
    return null;
  }
  const findings = cluster.findingsOfHost.get(name);
  const guests = cluster.tables.guests.get(name);
  const pairs = pairsOf(cluster.serversOfHost.get(name), guests?.guests ?? [], findings);
  const visiblePairs = brief ? pairs.slice(0, MAX_PAIRS) : pairs;
  const bars = barsOf(cluster.providersOfHost.get(name));
  const isServed = host.agent === null ? host.state === "up" : host.agent === "serving";
  const isWell = host.state === "up" && host.enabled;
  const attributes = [
    host.zone,
    ...host.aggregates.filter((aggregate) => aggregate !== host.zone),
    host.release,
    isWell ? host.reason : "",
  ].filter(Boolean);
  return (
    <article class={`card${findings.length > 0 ? " card-wrong" : ""}`} aria-label={name}>
      <header class="card-head">
        <h2>
          <HostLink host={name} />
        </h2>
        <HostState host={host} />
        <Heartbeat host={name} />
      </header>
      {attributes.length > 0 && <p class="card-facts">{attributes.join(" · ")}</p>}
      {!isWell && host.reason !== "" && <p class="reason">{host.reason}</p>}
      {host.faults.length > 0 && (
        <ul class="tags" aria-label="Injected faults">
          {host.faults.map((fault) => (
            <li key={fault} class="tag tag-fault">
              {fault}
            </li>
          ))}
        </ul>
      )}
      <div class="meters">
        {bars.map((bar) => (
          <Bar key={bar.resourceClass} bar={bar} />
        ))}
        {bars.length === 0 && (
          <p class="quiet">
            {host.registered
              ? "No inventory in Placement."
              : "The host has never joined: it has no service and no inventory."}
          </p>
        )}
      </div>
      <Pairs pairs={visiblePairs} guestsAt={guests?.at ?? null} isLast={guests?.from === "agent" && !isServed} />
      {pairs.length > visiblePairs.length && (
        <p class="quiet more">
          <a href={hashOf("hosts", name)}>{counted(pairs.length - visiblePairs.length, "more server")}</a>
        </p>
      )}
      <Findings findings={othersOf(findings, pairs)} />
      <ActionButtons subject="host" of={name} max={brief ? 3 : 100} />
    </article>
  );
}

export function Heartbeat({ host }: { readonly host: string }) {
  const { cluster, live } = useDashboard();
  const at = cluster.tables.heartbeat.get(host);
  const old = at === undefined || at === null ? null : live.now.value - at;
  const late = old !== null && old > (cluster.hello.value?.serviceDownTime ?? 60) * 1_000;
  return (
    <span class={`heartbeat${late ? " late" : ""}`} title="Time since the last heartbeat">
      <span class="hidden">Heartbeat </span>
      {old === null ? "never" : age(old)}
    </span>
  );
}

/** Servers as Compute records them next to guests as the hypervisor reports them. */
function Pairs({ pairs, guestsAt, isLast }: PairsProps) {
  const { live } = useDashboard();
  if (pairs.length === 0) {
    return (
      <p class="quiet pairs-none">
        {guestsAt === null ? "No servers. The guests of the hypervisor are unknown." : "No servers, no guests."}
      </p>
    );
  }
  const old = guestsAt === null ? null : live.now.value - guestsAt;
  return (
    <table class="pairs">
      <thead>
        <tr>
          <th scope="col">Server</th>
          <th scope="col" title="Status of the server, as Compute records it">
            Compute
          </th>
          <th scope="col" title="State of the guest, as the hypervisor reports it">
            Hypervisor{old !== null && (isLast || old > OLD) ? ` ${age(old)} ago` : ""}
          </th>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair) => (
          <PairRow key={pair.uuid} pair={pair} known={guestsAt !== null} />
        ))}
      </tbody>
    </table>
  );
}

function PairRow({ pair, known }: { readonly pair: Pair; readonly known: boolean }) {
  const { uuid, name, server, guest, wrong } = pair;
  return (
    <>
      <tr class={wrong.length > 0 ? "wrong" : undefined}>
        <th scope="row">
          <ServerLink uuid={uuid} name={name} />
        </th>
        <td>
          {server === null ? (
            <State shape="none" word="not recorded" title="Compute does not record the server on this host." />
          ) : (
            <ServerState server={server} />
          )}
        </td>
        <td>
          {guest === null ? (
            <State shape="none" word={known ? "no guest" : "unknown"} />
          ) : (
            <GuestState state={guest.state} />
          )}
        </td>
      </tr>
      {wrong.map(({ code, text, explanation }) => (
        <tr key={code} class="why" title={explanation}>
          <td colSpan={3}>
            <Icon shape="wrong" /> <b>{code.replaceAll("-", " ")}</b> {text}
          </td>
        </tr>
      ))}
    </>
  );
}
