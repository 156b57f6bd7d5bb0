import { useDashboard } from "../context.js";
import { hashOf, routeOf } from "../model/routes.js";

/** Filters are a part of the address, so that they can be kept and sent; they are no steps of the history. */
export function setFilter(changes: Readonly<Record<string, string>>): void {
  const { view, of, filter } = routeOf(location.hash);
  history.replaceState(null, "", hashOf(view, of, { ...filter, ...changes }));
  dispatchEvent(new HashChangeEvent("hashchange"));
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

/** A filter that is on or off. */
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
