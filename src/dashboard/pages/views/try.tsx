import { useDashboard } from "../live.js";
import { count } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Empty, Findings } from "../parts/indicators.js";
import { Panel, ViewHead } from "../parts/navigation.js";
import { ActionForm } from "./action-form.js";

const SUBJECTS = [
  ["host", "Hosts"],
  ["server", "Servers"],
  ["finding", "Findings"],
  ["cluster", "Cluster"],
  ["snapshot", "Snapshots"],
  ["scenario", "Scenarios"],
] as const;

/** All actions, each with its equivalent commands. */
export function Try() {
  const { cluster, route } = useDashboard();
  const hello = cluster.hello.value;
  const actions = hello?.actions ?? [];
  const { of } = route.value;
  const chosen = of === null ? actions[0] : actions.find(({ name }) => name === of);
  return (
    <>
      <ViewHead title="Try it" />
      {actions.length > 0 && chosen === undefined && (
        <Empty>
          There is no action <code>{of}</code>. <a href={hashOf("try")}>All actions</a>
        </Empty>
      )}
      {hello !== null && actions.length === 0 && <Empty>This session is read-only, so it has no actions.</Empty>}
      {chosen !== undefined && (
        <div class="try">
          <nav class="try-list" aria-label="Actions">
            {SUBJECTS.map(([subject, title]) => {
              const of = actions.filter((action) => action.subject === subject);
              return of.length === 0 ? null : (
                <section key={subject}>
                  <h2>{title}</h2>
                  {of.map(({ name, label }) => (
                    <a
                      key={name}
                      href={hashOf("try", name, subject === chosen.subject ? route.value.filter : {})}
                      aria-current={name === chosen.name ? "page" : undefined}
                    >
                      {label}
                    </a>
                  ))}
                </section>
              );
            })}
          </nav>
          <div class="try-main">
            <ActionForm key={chosen.name} action={chosen} />
            <Planned />
            <AllFindings />
          </div>
        </div>
      )}
    </>
  );
}

/** Maximum number of displayed findings. */
const MAX_FINDINGS = 100;

function AllFindings() {
  const { cluster } = useDashboard();
  const findings = [...cluster.tables.finding.rows.values()];
  const audit = cluster.hello.value?.actions.find(({ name }) => name === "audit");
  return (
    <Panel title="Problems" figure={findings.length}>
      {findings.length === 0 && <p class="quiet">None detected.</p>}
      <Findings findings={findings.slice(0, MAX_FINDINGS)} />
      {findings.length > MAX_FINDINGS && <p class="quiet">And {count(findings.length - MAX_FINDINGS)} more.</p>}
      {findings.length > 0 && audit !== undefined && (
        <p>
          <a href={hashOf("try", audit.name)}>An audit</a> finds wrong allocations, providers and inventories, and plans
          their repair.
        </p>
      )}
    </Panel>
  );
}

/** The edits planned by the last audit, to apply all at once or one at a time. */
function Planned() {
  const { cluster } = useDashboard();
  const edits = [...cluster.tables.edit.rows];
  const actions = cluster.hello.value?.actions.filter(({ subject }) => subject === "finding") ?? [];
  return edits.length === 0 ? null : (
    <Panel title="Plan of the last audit" figure={edits.length}>
      <ul class="edits">
        {edits.slice(0, MAX_FINDINGS).map(([key, { findings, reason, does, subject }]) => (
          <li key={key}>
            <p>
              <b>{findings.join(", ").replaceAll("-", " ")}</b> {reason}
            </p>
            <p class="quiet">{does}</p>
            <ul class="buttons" aria-label={`Actions for ${subject}`}>
              {actions.map(({ name, label, fields }) => (
                <li key={name}>
                  <a class="button" href={hashOf("try", name, { [fields[0]?.name ?? "only"]: subject })}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {edits.length > MAX_FINDINGS && <p class="quiet">And {count(edits.length - MAX_FINDINGS)} more.</p>}
    </Panel>
  );
}
