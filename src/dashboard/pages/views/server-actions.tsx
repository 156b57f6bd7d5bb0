import type { ActionRow, EventRow } from "../../wire/rows.js";
import { dateTime, fineTime, span } from "../model/format.js";
import { State } from "../parts/indicators.js";
import { Scroll } from "../parts/lists.js";
import { HostLink, RequestLink } from "../parts/navigation.js";

/** All actions of a server and their events, newest first. */
export function ServerActions({ actions }: { readonly actions: readonly ActionRow[] }) {
  if (actions.length === 0) {
    return <p class="quiet">Nothing was asked of it yet.</p>;
  }
  return (
    <ol class="actions">
      {actions.toReversed().map((action) => (
        <li key={`${action.requestId}${action.action}`}>
          <h3>
            {action.action} <span class="quiet">{dateTime(action.startedAt)}</span>{" "}
            <RequestLink id={action.requestId} />
            {action.message !== null && <State shape="wrong" word={action.message} />}
          </h3>
          {action.events.length > 0 && (
            <Events events={action.events} of={`${action.action}, ${fineTime(action.startedAt)}`} />
          )}
        </li>
      ))}
    </ol>
  );
}

function Events({ events, of }: { readonly events: readonly EventRow[]; readonly of: string }) {
  return (
    <Scroll label={`Events of ${of}`}>
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Result</th>
            <th scope="col">Host</th>
            <th scope="col">Began</th>
            <th scope="col" class="number">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={`${event.event}${event.startedAt}`} class={event.result === "Error" ? "wrong" : undefined}>
              <th scope="row">
                {event.event}
                {event.details !== null && <p class="reason reason-wrong">{event.details}</p>}
              </th>
              <td>
                {event.result === null ? (
                  <State shape="work" word="under way" />
                ) : (
                  <State shape={event.result === "Error" ? "wrong" : "up"} word={event.result} />
                )}
              </td>
              <td>{event.host === null ? "" : <HostLink host={event.host} />}</td>
              <td class="mono">{fineTime(event.startedAt)}</td>
              <td class="number">{event.finishedAt === null ? "" : span(event.finishedAt - event.startedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
