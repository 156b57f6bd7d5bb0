import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RequestBodies, RequestRow } from "../../wire/rows.js";
import { requestBodies } from "../api.js";
import { useDashboard } from "../live.js";
import { isRequestMatch, requestWords } from "../model/filters.js";
import { count, fineTime } from "../model/format.js";
import { Empty } from "../parts/indicators.js";
import { Lines, VirtualList } from "../parts/lists.js";
import { CheckField, FilterField, LogLink, PickField, ViewHead } from "../parts/navigation.js";

const NO_WORDS: ReturnType<typeof requestWords> = [];

export function Requests() {
  const { cluster, route, narrow } = useDashboard();
  const paused = useSignal<readonly RequestRow[] | null>(null);
  const open = useSignal<RequestRow | null>(null);
  const requests = useComputed(() => paused.value ?? cluster.requests.value);
  const services = useComputed(() => [...new Set(cluster.requests.value.map(({ service }) => service))].sort());
  const words = useComputed(() => {
    const { q = "" } = route.value.filter;
    // Without a filter, does not subscribe to the servers, which change constantly.
    return q.trim() === "" ? NO_WORDS : requestWords(q, cluster.tables.server.rows.values());
  });
  const visibleRequests = useComputed(() => {
    const { service = "", changes, failed } = route.value.filter;
    const filter = { words: words.value, service, changes: changes === "1", failed: failed === "1" };
    return requests.value.filter((request) => isRequestMatch(request, filter));
  });
  return (
    <>
      <ViewHead title="Requests" figure={visibleRequests.value.length}>
        <button
          type="button"
          aria-pressed={paused.value !== null}
          onClick={() => {
            paused.value = paused.value === null ? cluster.requests.value : null;
          }}
        >
          {paused.value === null ? "Pause" : `Resume (${count(newer(cluster.requests.value, paused.value))} new)`}
        </button>
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter by server, request id, path, user …" value={route.value.filter.q ?? ""} />
        <PickField label="Service" name="service" value={route.value.filter.service ?? ""} choices={services.value} />
        <CheckField label="Changes only" name="changes" />
        <CheckField label="Failures only" name="failed" />
      </div>
      {visibleRequests.value.length === 0 && (
        <Empty>
          {cluster.requests.value.length === 0
            ? "No requests yet. Requests of clients and agents appear here."
            : "No requests match."}
        </Empty>
      )}
      <VirtualList
        label="Requests, newest first"
        items={visibleRequests.value}
        height={narrow.value ? 60 : 32}
        keyOf={({ id }) => id}
        draw={(request) => (
          <RequestLine
            request={request}
            onOpen={() => {
              open.value = request;
            }}
          />
        )}
      />
      {open.value !== null && (
        <Bodies
          key={open.value.id}
          request={open.value}
          onClose={() => {
            open.value = null;
          }}
        />
      )}
    </>
  );
}

/** Returns the number of requests that arrived after the displayed ones. */
function newer(all: readonly RequestRow[], displayed: readonly RequestRow[]): number {
  const ids = new Set(displayed.map(({ id }) => id));
  return all.filter(({ id }) => !ids.has(id)).length;
}

function RequestLine({ request, onOpen }: { readonly request: RequestRow; readonly onOpen: () => void }) {
  const { at, service, method, path, status, ms } = request;
  return (
    <button type="button" class={`line request-line${status >= 500 ? " line-wrong" : ""}`} onClick={onOpen}>
      <span class="mono quiet">{fineTime(at)}</span>
      <span class="line-service">{service}</span>
      <span class={`mono method${["GET", "HEAD"].includes(method) ? " quiet" : ""}`}>{method}</span>
      <span class="mono line-path">{path}</span>
      <span class={`number mono${status >= 400 ? " late" : ""}`}>{status}</span>
      <span class="number quiet">{ms === null ? "" : `${count(ms)} ms`}</span>
    </button>
  );
}

/** The bodies of a request and its response, as long as the server retains them. */
function Bodies({ request, onClose }: { readonly request: RequestRow; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const bodies = useSignal<RequestBodies | null | undefined>(undefined);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useSignalEffect(() => {
    void requestBodies(request.id)
      .catch(() => null)
      .then((known) => {
        bodies.value = known;
      });
  });
  const ids = [
    ["Request id", request.requestId],
    ["On behalf of", request.globalRequestId],
  ].filter((pair): pair is [string, string] => pair[1] !== null);
  const attributes = [
    ["User", request.user],
    ["Project", request.project],
  ].filter(([, value]) => value !== null);
  return (
    <dialog ref={dialog} class="bodies" aria-labelledby="bodies-title" onClose={onClose}>
      <header class="view-head">
        <h2 id="bodies-title" class="mono">
          {request.method} {request.path}
        </h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </header>
      <p class="quiet">
        {request.service}, {request.status}, {fineTime(request.at)}
        {request.ms === null ? "" : `, ${count(request.ms)} ms`}
      </p>
      <dl class="facts">
        {ids.map(([name, id]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span class="mono">{id}</span> <LogLink id={id} />
            </dd>
          </div>
        ))}
        {attributes.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
      {bodies.value === null && <p class="quiet">The bodies of this request are no longer retained.</p>}
      {bodies.value && (
        <>
          <Body title="Request body" text={bodies.value.body} />
          <Body title="Response body" text={bodies.value.answer} />
        </>
      )}
    </dialog>
  );
}

function Body({ title, text }: { readonly title: string; readonly text: string | null }) {
  return (
    <>
      <h3>{title}</h3>
      {text === null ? (
        <p class="quiet">Not retained: empty, not JSON, or too long.</p>
      ) : (
        <Lines label={title} text={text} />
      )}
    </>
  );
}
