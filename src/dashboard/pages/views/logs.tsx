import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { MIN_LEVELS } from "../../wire/logs.js";
import { useDashboard } from "../live.js";
import { LogFeed, type LogLine } from "../log-feed.js";
import { byName } from "../model/filters.js";
import { bytes, count, dateTime, fineTime } from "../model/format.js";
import { Empty } from "../parts/indicators.js";
import { Lines, VirtualList } from "../parts/lists.js";
import { FilterField, LogLink, PickField, RequestLink, ServerLink, setFilter, ViewHead } from "../parts/navigation.js";

/** Milliseconds without input after which a changed filter is sent. */
const TYPED_MS = 250;
/** Maximum number of names that the browser offers for completion. */
const MAX_CHOICES = 500;

/** Log entries of control plane and hosts, newest first. */
export function Logs() {
  const { route, narrow } = useDashboard();
  const feed = useRef(new LogFeed()).current;
  const paused = useSignal<readonly LogLine[] | null>(null);
  const open = useSignal<LogLine | null>(null);
  const query = useComputed(() => {
    const { host = "", level = "", request = "", q = "" } = route.value.filter;
    return new URLSearchParams({ host, level, request, q }).toString();
  });
  useSignalEffect(() => {
    const filter = new URLSearchParams(query.value);
    paused.value = null;
    const timer = setTimeout(() => feed.open(filter), feed.ready.peek() ? TYPED_MS : 0);
    return () => clearTimeout(timer);
  });
  useEffect(() => () => feed.close(), []);
  const lines = paused.value ?? feed.lines.value;
  const { host = "", level = "", request = "", q = "" } = route.value.filter;
  return (
    <>
      <ViewHead title="Logs" figure={lines.length}>
        <button
          type="button"
          aria-pressed={paused.value !== null}
          onClick={() => {
            paused.value = paused.value === null ? feed.lines.value : null;
          }}
        >
          {paused.value === null ? "Pause" : `Resume (${count(newer(feed.lines.value, paused.value))} new)`}
        </button>
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter by text" value={q} />
        <SourceField value={host} names={feed.names.value} />
        <PickField label="Level" name="level" value={level} choices={MIN_LEVELS} />
        <FilterField label="Request id (req-…)" name="request" value={request} />
      </div>
      {feed.problem.value !== null && <Empty>{sentence(feed.problem.value)}</Empty>}
      {feed.ready.value && feed.problem.value === null && lines.length === 0 && <NoLines />}
      {feed.dropped.value > 0 && (
        <p class="quiet">{count(feed.dropped.value)} entries are not displayed, since too many arrived at once.</p>
      )}
      <VirtualList
        label="Log entries, newest first"
        items={lines}
        height={narrow.value ? 60 : 32}
        keyOf={({ key }) => key}
        draw={(line) => (
          <LogEntry
            line={line}
            onOpen={() => {
              open.value = line;
            }}
          />
        )}
      />
      {feed.searchedBytes.value !== null && (
        <p class="quiet">
          {q === "" && request === "" && host === "" && level === ""
            ? "These are the last entries. "
            : `The last ${bytes(feed.searchedBytes.value)} of the logs were searched. `}
          <code>compute-agent logs</code> prints older ones.
        </p>
      )}
      {open.value !== null && (
        <Entry
          key={open.value.key}
          line={open.value}
          onClose={() => {
            open.value = null;
          }}
        />
      )}
    </>
  );
}

/** Returns the number of entries that arrived after the displayed ones. */
function newer(all: readonly LogLine[], displayed: readonly LogLine[]): number {
  const [last] = displayed;
  const at = all.findIndex(({ key }) => key === last?.key);
  return at < 0 ? all.length : at;
}

function NoLines() {
  const { request, ...others } = useDashboard().route.value.filter;
  if (request) {
    return (
      <Empty>
        No log entry has this request id. Services log requests only with <code>up --log-requests</code>; agents log
        each operation that they do for a request.
      </Empty>
    );
  }
  return Object.values(others).some((value) => value !== "") ? (
    <Empty>
      No log entry matches.{" "}
      <button type="button" class="plain" onClick={() => setFilter({ q: "", host: "", level: "", request: "" })}>
        Show all
      </button>
    </Empty>
  ) : (
    <Empty>No log entries yet. Entries of agents and control plane appear here.</Empty>
  );
}

/** Selects a host or another log by name, with completion: a cluster may have thousands. */
function SourceField({ value, names }: { readonly value: string; readonly names: readonly string[] }) {
  const { cluster } = useDashboard();
  const hosts = useComputed(() => [...cluster.tables.host.rows.keys()].sort(byName).slice(0, MAX_CHOICES));
  const choices = [...new Set([...names, ...hosts.value])].slice(0, MAX_CHOICES);
  return (
    <>
      <input
        class="filter-text"
        type="search"
        aria-label="Host or control-plane"
        placeholder="Host or control-plane"
        list="log-sources"
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => setFilter({ host: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            setFilter({ host: "" });
          }
        }}
      />
      <datalist id="log-sources">
        {choices.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

const SEVERE: readonly string[] = ["ERROR", "CRITICAL"];

function LogEntry({ line, onOpen }: { readonly line: LogLine; readonly onOpen: () => void }) {
  const { at, source, level, message, fields } = line;
  return (
    <button type="button" class={`line log-line${SEVERE.includes(level) ? " line-wrong" : ""}`} onClick={onOpen}>
      <span class="mono quiet">{at === null ? "" : fineTime(at)}</span>
      <span class="line-service">{source}</span>
      <span class={`mono log-level${level === "WARNING" || SEVERE.includes(level) ? " late" : " quiet"}`}>{level}</span>
      <span class="line-path">
        {message} <span class="quiet">{fields.join(" ")}</span>
      </span>
    </button>
  );
}

/** A complete entry, with links to its request and server. */
function Entry({ line, onClose }: { readonly line: LogLine; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const { at, source, level, requestId, instance, message, fields, more } = line;
  return (
    <dialog ref={dialog} class="bodies" aria-labelledby="entry-title" onClose={onClose}>
      <header class="view-head">
        <h2 id="entry-title">{message}</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <p class="quiet">{[source, level, at === null ? "" : dateTime(at)].filter(Boolean).join(", ")}</p>
      <dl class="facts">
        {requestId !== null && (
          <div>
            <dt>Request</dt>
            <dd>
              <RequestLink id={requestId} />, <LogLink id={requestId} />
            </dd>
          </div>
        )}
        {instance !== null && (
          <div>
            <dt>Server</dt>
            <dd>
              <ServerLink uuid={instance} />
            </dd>
          </div>
        )}
        {fields.map((field) => (
          <div key={field}>
            <dt>{field.slice(0, field.indexOf("="))}</dt>
            <dd class="mono">{field.slice(field.indexOf("=") + 1)}</dd>
          </div>
        ))}
      </dl>
      {more.length > 0 && <Lines label="Further lines of the entry" text={more.join("\n")} />}
    </dialog>
  );
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
