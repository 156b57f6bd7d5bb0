import type { ServerLife } from "../../wire/server-rows.js";
import { useDashboard } from "../context.js";
import { clockTime } from "../model/format.js";
import { type Lane, type Timeline, timelineOf } from "../model/timeline.js";
import { Scroll } from "../parts/scroll.js";

/** What was asked, what it was busy with, who had it, and who held room for it where: lane below lane, over one axis. */
export function TimelineChart({ life }: { readonly life: ServerLife }) {
  const { cluster, live } = useDashboard();
  const nameOf = (uuid: string) => cluster.tables.provider.get(uuid)?.name ?? null;
  const { lanes, axis } = timelineOf(life, nameOf, live.now.value);
  if (lanes.length === 0) {
    return <p class="quiet">Nothing has happened yet.</p>;
  }
  return (
    <figure class="timeline">
      <Scroll label="Timeline; the lists below say the same">
        <div class="timeline-body">
          {lanes.map((lane, index) => (
            <LaneRow key={`${lane.name}${lane.part}`} lane={lane} first={lanes[index - 1]?.name !== lane.name} />
          ))}
          <Ticks axis={axis} />
        </div>
      </Scroll>
      <figcaption class="quiet">
        Long waits are drawn short: the axis counts by the logarithm of time.
        {lanes.some(({ stretches }) => stretches.some(({ tone }) => tone === "unobserved")) &&
          " Hatched: before the first observation."}
      </figcaption>
    </figure>
  );
}

function LaneRow({ lane, first }: { readonly lane: Lane; readonly first: boolean }) {
  return (
    <div class={`lane${first ? " lane-first" : ""}`}>
      <div class="lane-name">
        {first && <b>{lane.name}</b>} <span class="quiet">{lane.part}</span>
      </div>
      <ul class="lane-track" aria-label={`${lane.name} ${lane.part}`}>
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
