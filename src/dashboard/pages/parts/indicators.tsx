import type { FindingRow, HostRow, ServerRow } from "../../wire/rows.js";
import type { Bar as BarModel } from "../model/bars.js";
import { amount, className } from "../model/format.js";

type Shape = keyof typeof SHAPES;

/** Shapes with the same meaning as a colour. */
const SHAPES = {
  up: <circle cx="6" cy="6" r="4.5" />,
  down: <path d="M6 1 11.3 10.5H.7Z" />,
  off: <path d="M2 2h3v8H2zM7 2h3v8H7z" />,
  work: <path d="M6 .8 11.2 6 6 11.2.8 6Z" />,
  wrong: (
    <path d="M6 .5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM3.2 4.4 4.8 6 3.2 7.6l1.2 1.2L6 7.2l1.6 1.6 1.2-1.2L7.2 6l1.6-1.6-1.2-1.2L6 4.8 4.4 3.2Z" />
  ),
  none: <path d="M1.5 5h9v2h-9z" />,
} as const;

export function State({ shape, word }: { readonly shape: Shape; readonly word: string }) {
  return (
    <span class={`state state-${shape}`}>
      <Icon shape={shape} />
      {word}
    </span>
  );
}

const BUSY: readonly string[] = ["starting", "stopping", "restarting", "waiting"];

/** The most severe state of a host, in one word. */
export function HostState({ host }: { readonly host: HostRow }) {
  const { agent, state, registered } = host;
  const isBusy = agent !== null && BUSY.includes(agent);
  // A restarting host is down until it serves.
  const isSilent = isBusy && state === "down" && registered;
  if (agent !== null && agent !== "serving" && !isSilent) {
    return <State shape={isBusy ? "work" : "down"} word={agent} />;
  }
  if (state === "down") {
    return <State shape="down" word={host.forcedDown ? "forced down" : "down"} />;
  }
  return host.enabled ? <State shape="up" word="up" /> : <State shape="off" word="up, disabled" />;
}

const SHAPE_OF_STATUS: Readonly<Record<string, Shape>> = {
  ACTIVE: "up",
  ERROR: "wrong",
  SHUTOFF: "off",
  PAUSED: "off",
  SUSPENDED: "off",
  SHELVED: "off",
  SHELVED_OFFLOADED: "off",
};

export function ServerState({ server }: { readonly server: ServerRow }) {
  const { status, taskState } = server;
  const shape = taskState === null ? (SHAPE_OF_STATUS[status] ?? "work") : "work";
  return <State shape={shape} word={taskState === null ? status : `${status} · ${taskState}`} />;
}

export function Icon({ shape }: { readonly shape: Shape }) {
  return (
    <svg class={`icon icon-${shape}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
      {SHAPES[shape]}
    </svg>
  );
}

/** Findings in red, with their text. */
export function Findings({ findings }: { readonly findings: readonly FindingRow[] }) {
  return findings.length === 0 ? null : (
    <ul class="findings">
      {findings.map(({ code, text }) => (
        <li key={`${code}${text}`}>
          <Icon shape="wrong" />
          <span>
            <b>{code.replaceAll("-", " ")}</b> {text}
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Empty({ children }: { readonly children: preact.ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

function textOf({ resourceClass, used, capacity, parts }: BarModel): string {
  const held = parts.map(({ type, amount: value }) => `${type} ${amount(resourceClass, value)}`).join(", ");
  return `${className(resourceClass)}: ${amount(resourceClass, used)} of ${amount(resourceClass, capacity)} used${held === "" ? "" : `: ${held}`}`;
}

/** An inventory's use by servers, moves and stale consumers, relative to its capacity. */
export function Bar({ bar, label = true }: { readonly bar: BarModel; readonly label?: boolean }) {
  const { resourceClass, used, capacity, parts, over } = bar;
  const text = textOf(bar);
  return (
    <div class={`meter${over ? " meter-over" : ""}`} title={text}>
      {label && <span class="meter-name">{className(resourceClass)}</span>}
      <span class="meter-bar" role="img" aria-label={text}>
        {parts.map(({ type, from, width }) => (
          <span key={type} class={`held held-${type}`} style={{ left: `${from}%`, width: `${width}%` }} />
        ))}
      </span>
      {label && (
        <span class="meter-figures" aria-hidden="true">
          <b>{amount(resourceClass, used)}</b> / {amount(resourceClass, capacity)}
        </span>
      )}
    </div>
  );
}

/** Explains the colours and patterns of bars. */
export function BarLegend() {
  return (
    <ul class="legend" aria-label="Who holds what in the bars">
      <li>
        <span class="held held-server" /> server
      </li>
      <li>
        <span class="held held-migration" /> migration
      </li>
      <li>
        <span class="held held-stale" /> stale
      </li>
    </ul>
  );
}
