import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { MigrationRow, ServerLife } from "../../wire/rows.js";
import { serverLife } from "../api.js";
import { useDashboard } from "../live.js";
import { amount, clockTime, dateTime } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { type Lane, type Timeline, TONE_NAMES, type Tone, timelineOf } from "../model/timeline.js";
import { Empty, Findings, ServerState, State } from "../parts/indicators.js";
import { Grid, Scroll } from "../parts/lists.js";
import { ConsumerLink, HostLink, Panel, RequestLink, ViewHead } from "../parts/navigation.js";
import { ActionButtons } from "./action-dialog.js";
import { CurrentAllocations } from "./allocations.js";
import { ServerPorts } from "./port-parts.js";
import { ServerActions } from "./server-actions.js";

/** Milliseconds for which changes are collected before the history is requested again. */
const GATHER = 150;

const TONES = Object.keys(TONE_NAMES) as readonly Tone[];

/** Follows the history of a server. Undefined until it has arrived; null if there is no such server. */
function useLife(uuid: string): ServerLife | null | undefined {
  const { cluster } = useDashboard();
  const life = useSignal<ServerLife | null | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);
  useSignalEffect(() => {
    cluster.tables.server.get(uuid);
    cluster.tables.action.get(uuid);
    cluster.migrationsOfServer.get(uuid);
    cluster.consumersOfServer.get(uuid);
    if (!cluster.ready.value || timer.current !== undefined) {
      return;
    }
    timer.current = setTimeout(
      () => {
        timer.current = undefined;
        void serverLife(uuid)
          .catch(() => undefined)
          .then((known) => {
            life.value = known ?? life.peek() ?? known;
          });
      },
      life.peek() === undefined ? 0 : GATHER,
    );
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return life.value;
}

export function ServerView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const life = useLife(uuid);
  const server = cluster.tables.server.get(uuid) ?? life?.server;
  if (server === undefined || life === null) {
    return (
      <>
        <ViewHead up="servers" title={<span class="mono">{uuid}</span>} />
        {life === null && <Empty>There is no server with this id, and there never was one.</Empty>}
      </>
    );
  }
  return (
    <>
      <ViewHead up="servers" title={server.name || uuid}>
        {life?.deletedAt === null || life === undefined ? (
          <ServerState server={server} />
        ) : (
          <State shape="none" word={`deleted ${dateTime(life.deletedAt)}`} />
        )}
      </ViewHead>
      <dl class="facts">
        <Fact name="Id">
          <span class="mono">{uuid}</span>
        </Fact>
        <Fact name="Host">{server.host === null ? "none" : <HostLink host={server.host} />}</Fact>
        <Fact name="Flavor">
          {server.flavor}{" "}
          <span class="quiet">
            {server.vcpus} VCPU, {amount("MEMORY_MB", server.memoryMb)}, {amount("DISK_GB", server.diskGb)}
          </span>
        </Fact>
        <Fact name="Created">{dateTime(server.createdAt)}</Fact>
        <Fact name="Requests">
          <a href={hashOf("requests", null, { q: uuid })}>Show requests</a>
          {server.requestId !== null && (
            <>
              , <RequestLink id={server.requestId} />
            </>
          )}
        </Fact>
      </dl>
      {server.fault !== null && <p class="reason reason-wrong">{server.fault}</p>}
      <Findings findings={cluster.findingsOfServer.get(uuid)} />
      {(life === undefined || life.deletedAt === null) && <ActionButtons subject="server" of={uuid} />}
      {life !== undefined && (
        <>
          <Panel title="Timeline">
            <TimelineChart life={life} />
          </Panel>
          <div class="halves">
            <Panel title="Current allocations">
              <CurrentAllocations server={uuid} />
            </Panel>
            <Panel title="Migrations">
              <Moves migrations={life.migrations} />
            </Panel>
          </div>
          <ServerPorts server={uuid} />
          <Panel title="Actions and events">
            <ServerActions actions={life.actions} />
          </Panel>
        </>
      )}
    </>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Moves({ migrations }: { readonly migrations: readonly MigrationRow[] }) {
  if (migrations.length === 0) {
    return <p class="quiet">No migrations.</p>;
  }
  return (
    <Grid
      label="Migrations"
      columns={[
        {
          title: "Migration",
          cell: ({ type, oldFlavor, newFlavor }) =>
            type === "resize" && oldFlavor !== newFlavor ? `resize ${oldFlavor} → ${newFlavor}` : type,
        },
        { title: "Status", cell: ({ status, progress }) => (progress === null ? status : `${status} ${progress} %`) },
        { title: "Source", cell: ({ source }) => (source === null ? "" : <HostLink host={source} />) },
        { title: "Destination", cell: ({ dest }) => (dest === null ? "" : <HostLink host={dest} />) },
        { title: "Consumer", cell: ({ uuid }) => <ConsumerLink uuid={uuid} /> },
      ]}
      rows={migrations}
      keyOf={({ uuid }) => uuid}
    />
  );
}

/** The server's actions, tasks, hosts and allocations as lanes over one axis. */
function TimelineChart({ life }: { readonly life: ServerLife }) {
  const { cluster, live } = useDashboard();
  const nameOf = (uuid: string) => cluster.tables.provider.get(uuid)?.name ?? null;
  const { lanes, axis } = timelineOf(life, nameOf, live.now.value);
  if (lanes.length === 0) {
    return <p class="quiet">No events yet.</p>;
  }
  const tones = new Set(lanes.flatMap(({ stretches }) => stretches.map(({ tone }) => tone)));
  return (
    <figure class="timeline">
      <Scroll label="Timeline; the lists below have the same data" hint="Scroll sideways for the complete timeline.">
        <div class="timeline-body">
          {lanes.map((lane, index) => (
            <LaneRow key={lane.label} lane={lane} first={lanes[index - 1]?.name !== lane.name} />
          ))}
          <Ticks axis={axis} />
        </div>
      </Scroll>
      <figcaption class="quiet">
        <ul class="legend timeline-legend" aria-label="Legend">
          {TONES.filter((tone) => tones.has(tone)).map((tone) => (
            <li key={tone}>
              <span class={`swatch tone-${tone}`} aria-hidden="true" /> {TONE_NAMES[tone]}
            </li>
          ))}
        </ul>
        The time axis is logarithmic: long gaps are drawn short.
        {tones.has("unobserved") && " Allocations and task states are recorded only while a dashboard is open."}
      </figcaption>
    </figure>
  );
}

function LaneRow({ lane, first }: { readonly lane: Lane; readonly first: boolean }) {
  return (
    <div class={`lane${first ? " lane-first" : ""}`}>
      <div class="lane-name">{lane.label}</div>
      <ul class="lane-track" aria-label={lane.label}>
        {lane.stretches.map(({ from, width, label, tone, title }) => (
          <li
            key={`${from}${title}`}
            class={`stretch tone-${tone}`}
            style={{ left: `${from}%`, width: `${width}%` }}
            title={title}
          >
            <span>{label}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Ticks({ axis }: { readonly axis: Timeline["axis"] }) {
  return (
    <div class="lane lane-ticks" aria-hidden="true">
      <div class="lane-name" />
      <div class="lane-track">
        {axis.ticks.map(({ at, place }) => (
          <span key={at} class={`tick${place > 92 ? " tick-late" : ""}`} style={{ left: `${place}%` }}>
            {clockTime(at)}
          </span>
        ))}
      </div>
    </div>
  );
}
