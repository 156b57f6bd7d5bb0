import type { Bar as BarModel } from "../model/bars.js";
import { amount, className } from "../model/format.js";

function textOf({ resourceClass, used, capacity, parts }: BarModel): string {
  const held = parts.map(({ type, amount: value }) => `${type} ${amount(resourceClass, value)}`).join(", ");
  return `${className(resourceClass)}: ${amount(resourceClass, used)} of ${amount(resourceClass, capacity)} used${held === "" ? "" : `: ${held}`}`;
}

/** Used by servers, by moves and by what is neither, of all there is. */
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

/** What the colours and patterns of bars mean. */
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
