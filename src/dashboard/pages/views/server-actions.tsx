import type { ActionRow, EventRow } from "../../wire/rows.js";
import { dateTime, fineTime, span } from "../model/format.js";
import { State } from "../parts/indicators.js";
import { Grid } from "../parts/lists.js";
import { HostLink, RequestLink } from "../parts/navigation.js";

/** All actions of a server and their events, newest first. */
export function ServerActions({ actions }: { readonly actions: readonly ActionRow[] }) {
  if (actions.length === 0) {
    return <p class="quiet">No actions yet.</p>;
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
    <Grid
      label={`Events of ${of}`}
      columns={[
        {
          title: "Event",
          cell: ({ event, details }) => (
            <>
              {event}
              {details !== null && <p class="reason reason-wrong">{details}</p>}
            </>
          ),
        },
        {
          title: "Result",
          cell: ({ result }) => (
            <State
              shape={result === null ? "work" : result === "Error" ? "wrong" : "up"}
              word={result ?? "in progress"}
            />
          ),
        },
        { title: "Host", cell: ({ host }) => (host === null ? "" : <HostLink host={host} />) },
        { title: "Started", cell: ({ startedAt }) => fineTime(startedAt), class: "mono" },
        {
          title: "Duration",
          cell: ({ startedAt, finishedAt }) => (finishedAt === null ? "" : span(finishedAt - startedAt)),
          class: "number",
        },
      ]}
      rows={events}
      keyOf={({ event, startedAt }) => `${event}${startedAt}`}
      isWrong={({ result }) => result === "Error"}
    />
  );
}
