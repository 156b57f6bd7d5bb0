import { useWindow } from "../context.js";
import { hashOf } from "../model/routes.js";
import { Empty, Findings } from "../parts/findings.js";
import { ActionForm } from "./action-form.js";

const SUBJECTS = [
  ["host", "Hosts"],
  ["server", "Servers"],
  ["finding", "What is wrong"],
  ["cluster", "The cluster"],
  ["snapshot", "Snapshots"],
  ["scenario", "Scenarios"],
] as const;

/** Everything that can be done, each with the commands that do the same. */
export function Try() {
  const { cluster, route } = useWindow();
  const hello = cluster.hello.value;
  const actions = hello?.actions ?? [];
  const chosen = actions.find(({ name }) => name === route.value.of) ?? actions[0];
  return (
    <>
      <div class="view-head">
        <h1>Try it</h1>
      </div>
      {hello !== null && chosen === undefined && (
        <Empty>This window is read-only: it shows, and changes nothing.</Empty>
      )}
      {chosen !== undefined && (
        <div class="try">
          <nav class="try-list" aria-label="What can be done">
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
            <AllFindings />
          </div>
        </div>
      )}
    </>
  );
}

/** Findings that something can be done about, and what. */
function AllFindings() {
  const { cluster } = useWindow();
  const findings = [...cluster.tables.finding.rows];
  const actions = cluster.hello.value?.actions.filter(({ subject }) => subject === "finding") ?? [];
  return (
    <section class="panel">
      <h2>
        What is wrong now <span class="figure">{findings.length}</span>
      </h2>
      {findings.length === 0 && <p class="quiet">Nothing that this window knows of.</p>}
      {findings.slice(0, 100).map(([key, finding]) => (
        <div key={key} class="remedy">
          <Findings findings={[finding]} />
          {finding.remedies.length > 0 && (
            <>
              <ul class="remedies">
                {finding.remedies.map((remedy) => (
                  <li key={remedy}>{remedy}</li>
                ))}
              </ul>
              <ul class="buttons" aria-label="What can be done about it">
                {actions.map(({ name, label, fields }) => (
                  <li key={name}>
                    <a class="button" href={hashOf("try", name, { [fields[0]?.name ?? "finding"]: key })}>
                      {label}
                    </a>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      ))}
    </section>
  );
}
