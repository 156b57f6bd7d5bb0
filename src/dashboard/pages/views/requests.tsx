import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RequestBodies, RequestRow } from "../../wire/rows.js";
import { requestBodies } from "../api.js";
import { useDashboard } from "../live.js";
import { isRequestMatch, requestWords } from "../model/filters.js";
import { count, fineTime } from "../model/format.js";
import { Empty } from "../parts/indicators.js";
import { Lines, VirtualList } from "../parts/lists.js";
import { CheckField, FilterField, PickField, ViewHead } from "../parts/navigation.js";

const NO_WORDS: ReturnType<typeof requestWords> = [];

export function Requests() {
  const { cluster, route, narrow } = useDashboard();
  const held = useSignal<readonly RequestRow[] | null>(null);
  const open = useSignal<RequestRow | null>(null);
  const requests = useComputed(() => held.value ?? cluster.requests.value);
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
          aria-pressed={held.value !== null}
          onClick={() => {
            held.value = held.value === null ? cluster.requests.value : null;
          }}
        >
          {held.value === null
            ? "Pause"
            : `Resume (${count(Math.max(0, cluster.requests.value.length - held.value.length))} more)`}
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
  const attributes = [
    ["Request", request.requestId],
    ["Global request", request.globalRequestId],
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
      {text === null ? <p class="quiet">(empty)</p> : <Lines label={title} text={text} />}
    </>
  );
}
