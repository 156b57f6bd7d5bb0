import { useComputed, useSignal } from "@preact/signals";
import type { FindingRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { byName, hasWords } from "../model/filters.js";
import { count, counted } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { Empty, Icon } from "../parts/indicators.js";
import { Lines } from "../parts/lists.js";
import {
  ConsumerLink,
  FilterField,
  HostLink,
  PickField,
  ProviderLink,
  ServerLink,
  ViewHead,
} from "../parts/navigation.js";
import { ActionButton } from "./action-dialog.js";

/** Number of findings rendered at first, and by each click for more. */
const PAGE = 50;

/** All findings, each with its explanation and the commands that repair it. */
export function FindingsView() {
  const { cluster, route } = useDashboard();
  const limit = useSignal(PAGE);
  const findings = useComputed(() => [...cluster.tables.finding.rows]);
  const visible = useComputed(() => {
    const { q = "", code = "" } = route.value.filter;
    return findings.value
      .filter(([, row]) => code === "" || row.code === code)
      .filter(([, { code: name, text, host, server, consumer }]) => hasWords(q, name, text, host, server, consumer))
      .sort(([, a], [, b]) => byName(a.code, b.code) || byName(a.text, b.text));
  });
  const codes = useComputed(() => [...new Set(findings.value.map(([, { code }]) => code))].sort());
  const audit = cluster.hello.value?.actions.find(({ name }) => name === "audit");
  const more = visible.value.length - limit.value;
  return (
    <>
      <ViewHead title="Findings" figure={findings.value.length}>
        {audit !== undefined && <ActionButton action={audit} primary />}
      </ViewHead>
      <p class="lead">
        Contradictions between the records of Compute, the guests of the hypervisors and the allocations of Placement.
        They are checked at each change. An audit finds more, such as wrong amounts and providers without a compute
        node. Its findings stay until their consumer changes, or until the next audit.
      </p>
      {findings.value.length > 0 && (
        <div class="filters">
          <FilterField label="Filter findings by host, id, text …" value={route.value.filter.q ?? ""} />
          <PickField label="Code" name="code" value={route.value.filter.code ?? ""} choices={codes.value} />
        </div>
      )}
      {cluster.ready.value && visible.value.length === 0 && (
        <Empty>
          {findings.value.length === 0 ? "No findings. Records, guests and allocations agree." : "No findings match."}
        </Empty>
      )}
      <ul class="finding-cards" aria-label="Findings">
        {visible.value.slice(0, limit.value).map(([key, row]) => (
          <li key={key}>
            <FindingCard finding={row} />
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p>
          <button
            type="button"
            onClick={() => {
              limit.value += PAGE;
            }}
          >
            Show {count(Math.min(PAGE, more))} of {counted(more, "further finding")}
          </button>
        </p>
      )}
    </>
  );
}

function FindingCard({ finding }: { readonly finding: FindingRow }) {
  const { code, text, explanation, commands, host, server, consumer, provider } = finding;
  return (
    <article class="panel finding-card">
      <header>
        <h2>
          <Icon shape="wrong" /> {code.replaceAll("-", " ")}
        </h2>
      </header>
      <p>{text}.</p>
      {explanation !== "" && <p class="quiet">{explanation}</p>}
      <p class="finding-links">
        {host !== null && (
          <span>
            Host <HostLink host={host} />
          </span>
        )}
        {server !== null && (
          <span>
            Server <ServerLink uuid={server} />
          </span>
        )}
        {consumer !== null && (
          <span>
            Consumer <ConsumerLink uuid={consumer} />
          </span>
        )}
        {provider !== null && (
          <span>
            Provider <ProviderLink uuid={provider} />
          </span>
        )}
      </p>
      {commands.length > 0 && (
        <div class="commands">
          <h3>{repairTitle(commands)}</h3>
          <Lines label={`Commands for ${code}: ${text}`} text={commands.join("\n")} unbrokenWords />
        </div>
      )}
    </article>
  );
}

function repairTitle({ length }: readonly string[]): string {
  return length === 1 ? "Command that repairs it" : "Commands that repair it";
}

/** The number of findings, as a link to all of them. */
export function FindingsBadge() {
  const { cluster, route } = useDashboard();
  const findings = cluster.tables.finding.rows.size;
  if (!cluster.ready.value && findings === 0) {
    return null;
  }
  return (
    <a
      class={`badge${findings > 0 ? " badge-wrong" : ""}`}
      href={hashOf("findings")}
      title="What is wrong: contradictions between records, hypervisors and allocations"
      aria-current={route.value.view === "findings" ? "page" : undefined}
    >
      <Icon shape={findings > 0 ? "wrong" : "up"} />
      {findings === 0 ? "No findings" : counted(findings, "finding")}
    </a>
  );
}
