import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ActionBody, ActionResponse, DashboardAction } from "../../wire/messages.js";
import { act, commandsOf, missingOf } from "../api.js";
import { useDashboard } from "../live.js";
import { consequenceOf, subjectOf, titleOf, unmetRequirement } from "../model/requirements.js";
import { State } from "../parts/indicators.js";
import { Lines } from "../parts/lists.js";
import { Panel, RequestLink, ServerLink, setFilter } from "../parts/navigation.js";
import { ActionFields } from "./action-fields.js";

/** An action of the list of all actions. Its values are part of the address. */
export function ActionForm({ action }: { readonly action: DashboardAction }) {
  const { cluster, route } = useDashboard();
  const { response, busy, send } = useAction(action);
  const sure = useRef<HTMLDialogElement>(null);
  const body = bodyOf(action, route.value.filter);
  const of = String(body[action.fields[0]?.name ?? ""] ?? "");
  const name = cluster.tables.server.get(of)?.name ?? of;
  return (
    <Panel title={action.label}>
      <p>{action.summary}</p>
      <form
        class="action"
        onSubmit={(event) => {
          event.preventDefault();
          if (action.destructive) {
            sure.current?.showModal();
          } else {
            void send(body);
          }
        }}
      >
        <ActionFields action={action} body={body} onChange={(field, value) => setFilter({ [field]: value })} />
        <Commands commands={commandsOf(action, body)} />
        <Submit action={action} body={body} of={of} busy={busy.value} />
      </form>
      <dialog ref={sure} class="sure" aria-labelledby="sure-title">
        <h2 id="sure-title">{titleOf(action, name)}</h2>
        <p>{consequenceOf(action, of, cluster)}</p>
        <form method="dialog" class="action-send">
          <button type="submit" class="danger" onClick={() => void send(body)}>
            {action.label}
          </button>
          <button type="submit">Cancel</button>
        </form>
      </dialog>
      <div aria-live="polite">{response.value !== null && <ActionResult response={response.value} />}</div>
    </Panel>
  );
}

/** Sends an action, and holds its latest response. */
export function useAction(action: DashboardAction) {
  const { cluster, notice } = useDashboard();
  const response = useSignal<ActionResponse | null>(null);
  const busy = useSignal(false);
  const send = async (body: ActionBody): Promise<ActionResponse> => {
    busy.value = true;
    response.value = null;
    notice.value = null;
    const received = await act(action.name, body, cluster.hello.peek()?.secret ?? "");
    response.value = received;
    busy.value = false;
    return received;
  };
  return { response, busy, send };
}

export function bodyOf(action: DashboardAction, values: Readonly<Record<string, string>>): ActionBody {
  return Object.fromEntries(
    action.fields
      .map(({ name, type }) => [name, type === "flag" ? values[name] === "1" : (values[name] ?? "")] as const)
      .filter(([, value]) => value !== ""),
  );
}

interface SubmitProps {
  readonly action: DashboardAction;
  readonly body: ActionBody;
  /** The object of the action. */
  readonly of: string;
  readonly busy: boolean;
  readonly children?: preact.ComponentChildren;
}

/** The button that sends an action, and what prevents that. */
export function Submit({ action, body, of, busy, children }: SubmitProps) {
  const { cluster } = useDashboard();
  const missing = missingOf(action, body);
  const unmet = unmetRequirement(action.requires, subjectOf(action, of, cluster));
  const reason = unmet ?? (missing === "" ? null : `Required: ${missing}`);
  return (
    <div class="action-send">
      <button
        type="submit"
        class={action.destructive ? "danger" : "primary"}
        disabled={busy || reason !== null}
        title={reason ?? undefined}
        aria-describedby={reason === null ? undefined : "action-reason"}
      >
        {busy ? "Working …" : action.label}
      </button>
      {children}
      {reason !== null && (
        <span id="action-reason" class="quiet">
          {reason}
        </span>
      )}
    </div>
  );
}

export function Commands({ commands }: { readonly commands: readonly string[] }) {
  return commands.length === 0 ? null : (
    <div class="commands">
      <h3>Equivalent command</h3>
      <Lines label="Commands" text={commands.join("\n")} unbrokenWords />
    </div>
  );
}

export function ActionResult({ response }: { readonly response: ActionResponse }) {
  const { ok, error, code, made, requestId, lines } = response;
  return (
    <div class={`answer${ok ? "" : " answer-wrong"}`}>
      <p>
        <State shape={ok ? "up" : "wrong"} word={ok ? "Done" : (error ?? "The action failed.")} />{" "}
        {code !== null && <span class="mono quiet">{code}</span>} {made !== null && <ServerOrName made={made} />}{" "}
        {requestId !== null && <RequestLink id={requestId} />}
      </p>
      {lines.length > 0 && <Lines label="Output" text={lines.join("\n")} />}
    </div>
  );
}

function ServerOrName({ made }: { readonly made: string }) {
  return /^[0-9a-f-]{36}$/.test(made) ? <ServerLink uuid={made} /> : <b>{made}</b>;
}
