import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useDashboard } from "../context.js";
import type { Cluster } from "../model/cluster.js";
import { hashOf } from "../model/routes.js";
import { type Found, search } from "../model/search.js";

const MAX_RESULTS = 12;

/** Finds hosts, servers, providers and consumers by name or id, from anywhere, with `/`. */
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
      <div id="found" class="found" role="listbox" aria-label="Found" hidden={!isVisible || found.length === 0}>
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
      {isVisible && found.length === 0 && <p class="found-none">Nothing is called so.</p>}
    </search>
  );
}

function foundIn(cluster: Cluster, text: string): readonly Found[] {
  return text.trim() === "" ? [] : search(cluster, text, MAX_RESULTS);
}
