import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { count, shortId } from "../model/format.js";
import { type Found, hashOf, routeOf, search, VIEW_NAMES, type View } from "../model/navigation.js";

interface HeadProps {
  readonly title: ComponentChildren;
  /** A count beside the title. */
  readonly figure?: number;
  readonly children?: ComponentChildren;
}

/** The heading of a view. @param up the list that has the view's object */
export function ViewHead({ title, figure, up, children }: HeadProps & { readonly up?: View }) {
  return (
    <div class="view-head">
      <h1>
        {up !== undefined && (
          <>
            <a class="up-link" href={hashOf(up)}>
              {VIEW_NAMES[up]}
            </a>{" "}
          </>
        )}
        {title}
        {figure !== undefined && <Figure value={figure} />}
      </h1>
      {children}
    </div>
  );
}

export function Panel({ title, figure, children }: HeadProps) {
  return (
    <section class="panel">
      <h2>
        {title}
        {figure !== undefined && <Figure value={figure} />}
      </h2>
      {children}
    </section>
  );
}

function Figure({ value }: { readonly value: number }) {
  return (
    <>
      {" "}
      <span class="figure">{count(value)}</span>
    </>
  );
}

export function HostLink({ host }: { readonly host: string }) {
  return <a href={hashOf("hosts", host)}>{host}</a>;
}

/** Links to a server, by name while it exists. */
export function ServerLink({ uuid, name }: { readonly uuid: string; readonly name?: string }) {
  const server = useDashboard().cluster.tables.server.get(uuid);
  return (
    <a href={hashOf("servers", uuid)} title={uuid}>
      {server?.name || name || shortId(uuid)}
    </a>
  );
}

export function NetworkLink({ uuid }: { readonly uuid: string }) {
  const network = useDashboard().cluster.tables.network.get(uuid);
  return (
    <a href={hashOf("networks", uuid)} title={uuid}>
      {network?.name || shortId(uuid)}
    </a>
  );
}

export function ProviderLink({ uuid }: { readonly uuid: string }) {
  const provider = useDashboard().cluster.tables.provider.get(uuid);
  return (
    <a href={hashOf("placement", uuid)} title={uuid}>
      {provider?.name ?? shortId(uuid)}
    </a>
  );
}

export function ConsumerLink({ uuid }: { readonly uuid: string }) {
  return (
    <a href={hashOf("consumers", uuid)} title={uuid} class="mono">
      {shortId(uuid)}
    </a>
  );
}

export function RequestLink({ id }: { readonly id: string }) {
  return (
    <a href={hashOf("requests", null, { q: id })} class="mono" title={`Requests with the id ${id}`}>
      {id.length > 12 ? `${id.slice(0, 12)}…` : id}
    </a>
  );
}

/** Links to the log entries of a request. */
export function LogLink({ id }: { readonly id: string }) {
  return <a href={hashOf("logs", null, { request: id })}>log entries</a>;
}

/** Filters are part of the address, so that they can be bookmarked and shared. They add no history entries. */
export function setFilter(changes: Readonly<Record<string, string>>): void {
  const { view, of, filter } = routeOf(location.hash);
  if (view !== "unknown") {
    history.replaceState(null, "", hashOf(view, of, { ...filter, ...changes }));
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

interface FieldProps {
  readonly label: string;
  readonly name?: string;
  readonly value: string;
}

export function FilterField({ label, name = "q", value }: FieldProps) {
  return (
    <input
      class="filter-text"
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={(event) => setFilter({ [name]: event.currentTarget.value })}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          setFilter({ [name]: "" });
        }
      }}
    />
  );
}

export function PickField({ label, name = "", value, choices }: FieldProps & { readonly choices: readonly string[] }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => setFilter({ [name]: event.currentTarget.value })}>
      <option value="">{label}: any</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}

/** A boolean filter. */
export function CheckField({ label, name }: { readonly label: string; readonly name: string }) {
  const checked = useDashboard().route.value.filter[name] === "1";
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => setFilter({ [name]: event.currentTarget.checked ? "1" : "" })}
      />
      {label}
    </label>
  );
}

const MAX_RESULTS = 12;

/** Finds hosts, servers, networks, ports, providers and consumers by name, address or id. The key `/` opens it from anywhere. */
export function Search() {
  const { cluster } = useDashboard();
  const input = useRef<HTMLInputElement>(null);
  const text = useSignal("");
  const open = useSignal(false);
  const at = useSignal(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const within = event.target instanceof HTMLElement && event.target.closest("input, textarea, select");
      if (event.key === "/" && !within && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.current?.focus();
        input.current?.select();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const found = open.value ? foundIn(cluster, text.value) : [];
  const isVisible = open.value && text.value.trim() !== "";
  const go = (one: Found | undefined) => {
    if (one !== undefined) {
      location.hash = hashOf(one.view, one.of, one.filter);
      open.value = false;
      input.current?.blur();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      at.value = (at.value + step + found.length) % found.length;
    } else if (event.key === "Enter") {
      go(found[at.value]);
    } else if (event.key === "Escape") {
      open.value = false;
      text.value = "";
      input.current?.blur();
    }
  };
  return (
    <search class="search">
      <input
        ref={input}
        type="search"
        // biome-ignore lint/a11y/noRedundantRoles: a search field without a datalist is none by itself
        role="combobox"
        list={undefined}
        aria-label="Search hosts, servers, providers and ids"
        aria-expanded={isVisible}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={isVisible && found.length > 0 ? `found-${at.value}` : undefined}
        placeholder="Search, or press /"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          open.value = true;
          at.value = 0;
        }}
        onFocus={() => {
          open.value = true;
        }}
        onBlur={() => {
          open.value = false;
        }}
        onKeyDown={onKeyDown}
      />
      <div
        id="found"
        class="found"
        role="listbox"
        aria-label="Search results"
        hidden={!isVisible || found.length === 0}
      >
        {found.map((one, index) => (
          <div
            key={`${one.view}${one.of}`}
            id={`found-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at.value}
            onMouseDown={(event) => {
              event.preventDefault();
              go(one);
            }}
          >
            <span class="found-kind">{one.kind}</span>
            <span class="found-name">{one.name}</span>
            <span class="found-more">{one.more}</span>
          </div>
        ))}
      </div>
      {isVisible && found.length === 0 && <p class="found-none">No results.</p>}
    </search>
  );
}

function foundIn(cluster: Cluster, text: string): readonly Found[] {
  return text.trim() === "" ? [] : search(cluster, text, MAX_RESULTS);
}
