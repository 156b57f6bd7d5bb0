import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ActionBody, ActionResponse, DashboardAction } from "../../wire/actions.js";
import { act } from "../api.js";
import { useDashboard } from "../context.js";
import { commandsOf, missingOf } from "../model/commands.js";
import { setFilter } from "../parts/filter.js";
import { RequestLink, ServerLink } from "../parts/links.js";
import { Lines } from "../parts/scroll.js";
import { State } from "../parts/state.js";
import { ActionFieldInput } from "./action-field.js";

/** The fields of an action, the commands that do the same, and what came of it. */
export function ActionForm({ action }: { readonly action: DashboardAction }) {
  const { cluster, route } = useDashboard();
  const response = useSignal<ActionResponse | null>(null);
  const busy = useSignal(false);
  const sure = useRef<HTMLDialogElement>(null);
  const body = bodyOf(action, route.value.filter);
  const missing = missingOf(action, body);
  const send = async () => {
    busy.value = true;
    response.value = null;
    response.value = await act(action.name, body, cluster.hello.peek()?.secret ?? "");
    busy.value = false;
  };
  return (
    <section class="panel">
      <h2>{action.label}</h2>
      <p>{action.summary}</p>
      <form
        class="action"
        onSubmit={(event) => {
          event.preventDefault();
          if (action.destructive) {
            sure.current?.showModal();
          } else {
            void send();
          }
        }}
      >
        {action.fields.map((field) => (
          <ActionFieldInput
            key={field.name}
            field={field}
            value={body[field.name] ?? ""}
            onChange={(value) => setFilter({ [field.name]: value })}
          />
        ))}
        <Commands commands={commandsOf(action, body)} />
        <div class="action-send">
          <button
            type="submit"
            class={action.destructive ? "danger" : "primary"}
            disabled={busy.value || missing !== ""}
          >
            {busy.value ? "Working …" : action.label}
          </button>
          {missing !== "" && <span class="quiet">Needs {missing}</span>}
        </div>
      </form>
      <dialog ref={sure} class="sure" aria-labelledby="sure-title">
        <h2 id="sure-title">{action.label}?</h2>
        <p>{action.summary}</p>
        <form method="dialog" class="action-send">
          <button
            type="submit"
            class="danger"
            onClick={() => {
              void send();
            }}
          >
            {action.label}
          </button>
          <button type="submit">Leave it</button>
        </form>
      </dialog>
      <div aria-live="polite">{response.value !== null && <ActionResult response={response.value} />}</div>
    </section>
  );
}

function bodyOf(action: DashboardAction, filter: Readonly<Record<string, string>>): ActionBody {
  return Object.fromEntries(
    action.fields
      .map(({ name, type }) => [name, type === "flag" ? filter[name] === "1" : (filter[name] ?? "")] as const)
      .filter(([, value]) => value !== ""),
  );
}

function Commands({ commands }: { readonly commands: readonly string[] }) {
  return commands.length === 0 ? null : (
    <div class="commands">
      <h3>The same by hand</h3>
      <Lines label="Commands" text={commands.join("\n")} unbrokenWords />
    </div>
  );
}

function ActionResult({ response }: { readonly response: ActionResponse }) {
  return (
    <div class={`answer${response.ok ? "" : " answer-wrong"}`}>
      <p>
        <State
          shape={response.ok ? "up" : "wrong"}
          word={response.ok ? "Done" : (response.error ?? "It was not done")}
        />{" "}
        {response.made !== null && <ServerOrName made={response.made} />}{" "}
        {response.requestId !== null && <RequestLink id={response.requestId} />}
      </p>
      {response.lines.length > 0 && <Lines label="What it said" text={response.lines.join("\n")} />}
    </div>
  );
}

function ServerOrName({ made }: { readonly made: string }) {
  return /^[0-9a-f-]{36}$/.test(made) ? <ServerLink uuid={made} /> : <b>{made}</b>;
}
