import type { ConsumerType, FindingRow, HostRow, ServerRow } from "../../wire/rows.js";
import type { Bar as BarModel } from "../model/bars.js";
import { amount, counted } from "../model/format.js";

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

interface StateProps {
  readonly shape: Shape;
  readonly word: string;
  readonly title?: string | undefined;
}

export function State({ shape, word, title }: StateProps) {
  return (
    <span class={`state state-${shape}`} title={title}>
      <Icon shape={shape} />
      {word}
    </span>
  );
}

const BUSY: readonly string[] = ["starting", "stopping", "restarting", "waiting"];

const BUSY_TITLE = "The agent is not serving yet, or no longer.";

/** The most severe state of a host. @returns its word, shape and explanation */
export function hostStateOf({ agent, state, registered, forcedDown, enabled }: HostRow): StateProps {
  const isBusy = agent !== null && BUSY.includes(agent);
  // A restarting host is down until it serves.
  const isSilent = isBusy && state === "down" && registered;
  if (agent !== null && agent !== "serving" && !isSilent) {
    return {
      shape: isBusy ? "work" : "down",
      word: agent,
      title: isBusy ? BUSY_TITLE : "The process of the agent has ended. Guests keep running.",
    };
  }
  if (state === "down") {
    return forcedDown
      ? {
          shape: "down",
          word: "forced down",
          title: "The service is marked as down (forced_down), so servers can be evacuated.",
        }
      : { shape: "down", word: "down", title: "The last heartbeat is too old. Servers can be evacuated." };
  }
  return enabled
    ? { shape: "up", word: "up", title: "The service is up and enabled." }
    : { shape: "off", word: "up, disabled", title: "The service is up, but no servers are scheduled to it." };
}

export function HostState({ host }: { readonly host: HostRow }) {
  return <State {...hostStateOf(host)} />;
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
  return (
    <State
      shape={shape}
      word={taskState === null ? status : `${status} · ${taskState}`}
      title={`vm_state ${server.vmState}, task_state ${taskState ?? "None"}, power_state ${server.power}`}
    />
  );
}

export function Icon({ shape }: { readonly shape: Shape }) {
  return (
    <svg class={`icon icon-${shape}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
      {SHAPES[shape]}
    </svg>
  );
}

/** The number of findings at an object; nothing if there are none. */
export function FindingCount({ findings }: { readonly findings: readonly FindingRow[] }) {
  return findings.length === 0 ? null : (
    <State
      shape="wrong"
      word={counted(findings.length, "finding")}
      title={findings.map(({ text }) => text).join("\n")}
    />
  );
}

/** Findings in red, with their text. */
export function Findings({ findings }: { readonly findings: readonly FindingRow[] }) {
  return findings.length === 0 ? null : (
    <ul class="findings">
      {findings.map(({ code, text, explanation }) => (
        <li key={`${code}${text}`} title={explanation}>
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

/** The users of a resource, for tooltips and screen readers. */
const USERS: Readonly<Record<ConsumerType, string>> = {
  server: "servers",
  migration: "migrations",
  stale: "consumers without a server or migration",
};

function textOf({ resourceClass, used, capacity, parts }: BarModel): string {
  const shares = parts.map(({ type, amount: value }) => `${amount(resourceClass, value)} by ${USERS[type]}`).join(", ");
  return `${resourceClass}: ${amount(resourceClass, used)} of ${amount(resourceClass, capacity)} used${shares === "" ? "" : ` (${shares})`}`;
}

interface BarProps {
  readonly bar: BarModel;
  /** `row`: name, bar and figures beside each other; `stack`: the bar below them; `none`: only the bar. */
  readonly label?: "row" | "stack" | "none";
  /** The class is in the heading of the column. */
  readonly withName?: boolean;
}

/** An inventory's use by servers, migrations and stale consumers, relative to its capacity. */
export function Bar({ bar, label = "row", withName = true }: BarProps) {
  const { resourceClass, used, capacity, parts, over } = bar;
  const text = textOf(bar);
  return (
    <div class={`meter meter-${label}${withName ? "" : " meter-unnamed"}${over ? " meter-over" : ""}`} title={text}>
      {label !== "none" && (
        <span class="meter-name" aria-hidden="true">
          {resourceClass}
        </span>
      )}
      <span class="meter-bar" role="img" aria-label={text}>
        {parts.map(({ type, from, width }) => (
          <span key={type} class={`held held-${type}`} style={{ left: `${from}%`, width: `${width}%` }} />
        ))}
      </span>
      {label !== "none" && (
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
    <ul class="legend" aria-label="Colours of the bars">
      <li title="Allocations of servers">
        <span class="held held-server" /> server
      </li>
      <li title="Allocations of migrations in progress">
        <span class="held held-migration" /> migration
      </li>
      <li title="Allocations of consumers that are no server and no migration">
        <span class="held held-stale" /> stale
      </li>
    </ul>
  );
}
