import { useDashboard } from "../live.js";
import { byName } from "../model/filters.js";
import { bytes, dateTime } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Empty } from "../parts/indicators.js";
import { Panel, ViewHead } from "../parts/navigation.js";

/** Snapshots to restore and scenarios to run. */
export function Snapshots() {
  const { cluster } = useDashboard();
  const snapshots = [...cluster.tables.snapshot.rows.values()].sort((a, b) => b.at - a.at);
  const scenarios = [...cluster.tables.scenario.rows].sort(([a], [b]) => byName(a, b));
  return (
    <>
      <ViewHead title="Snapshots and scenarios">
        <Does subject="cluster" of="" only={/snapshot/} />
      </ViewHead>
      <Panel title="Snapshots" figure={snapshots.length}>
        {snapshots.length === 0 && (
          <Empty>
            No snapshots yet. <code>compute-agent snapshot save NAME</code> saves the state of this cluster.
          </Empty>
        )}
        <ul class="rows">
          {snapshots.map(({ name, at, bytes: size }) => (
            <li key={name}>
              <b>{name}</b>
              <span class="quiet">
                {dateTime(at)}, {bytes(size)}
              </span>
              <Does subject="snapshot" of={name} />
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Scenarios" figure={scenarios.length}>
        {scenarios.length === 0 && <p class="quiet">No scenarios.</p>}
        <ul class="rows">
          {scenarios.map(([name, { title }]) => (
            <li key={name}>
              <b>{name}</b>
              <span class="quiet">{title}</span>
              <Does subject="scenario" of={name} />
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

interface DoesProps {
  readonly subject: "cluster" | "snapshot" | "scenario";
  readonly of: string;
  readonly only?: RegExp;
}

function Does({ subject, of, only = /./ }: DoesProps) {
  const actions = useDashboard().cluster.hello.value?.actions ?? [];
  const mine = actions.filter((action) => action.subject === subject && only.test(action.name));
  return (
    <span class="buttons">
      {mine.map(({ name, label, fields }) => (
        <a key={name} class="button" href={hashOf("try", name, { [fields[0]?.name ?? subject]: of })}>
          {label}
        </a>
      ))}
    </span>
  );
}
