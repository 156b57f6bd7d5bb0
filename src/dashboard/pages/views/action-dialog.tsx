import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { DashboardAction } from "../../wire/messages.js";
import { commandsOf } from "../api.js";
import { type OpenAction, useDashboard } from "../live.js";
import { hashOf } from "../model/navigation.js";
import { consequenceOf, subjectOf, titleOf, unmetRequirement } from "../model/requirements.js";
import { Icon } from "../parts/indicators.js";
import { RequestLink, ServerLink } from "../parts/navigation.js";
import { ActionFields } from "./action-fields.js";
import { ActionResult, bodyOf, Commands, Submit, useAction } from "./action-form.js";

/** Milliseconds for which the success of an action is displayed. */
const NOTICE_MS = 10_000;

/** The dialog of the open action, over the current view, and the result of the last one. */
export function ActionDialogs() {
  const { cluster, dialog } = useDashboard();
  const open = dialog.value;
  const action = cluster.hello.value?.actions.find(({ name }) => name === open?.action);
  return (
    <>
      {open !== null && action !== undefined && (
        <ActionDialog key={`${open.action} ${JSON.stringify(open.values)}`} action={action} open={open} />
      )}
      <Notice />
    </>
  );
}

/** An action on the object that its title names. It closes after a success without output. */
function ActionDialog({ action, open }: { readonly action: DashboardAction; readonly open: OpenAction }) {
  const { cluster, dialog, notice } = useDashboard();
  const element = useRef<HTMLDialogElement>(null);
  const values = useSignal(open.values);
  const { response, busy, send } = useAction(action);
  const fixed = action.fields[0]?.name ?? "";
  const of = open.values[fixed] ?? "";
  const name = cluster.tables.server.get(of)?.name ?? of;
  const body = bodyOf(action, values.value);
  const title = titleOf(action, name);
  useEffect(() => {
    notice.value = null;
    element.current?.showModal();
  }, []);
  const close = () => {
    if (dialog.peek() === open) {
      dialog.value = null;
    }
  };
  const submit = async () => {
    const received = await send(body);
    const isClosed = dialog.peek() !== open;
    if (isClosed || (received.ok && received.lines.length === 0)) {
      const outcome = received.ok ? "Done" : (received.error ?? "The action failed.");
      notice.value = { ...received, text: `${action.label}${name === "" ? "" : ` ${name}`}: ${outcome}` };
      close();
    }
  };
  const isOver = response.value?.ok === true;
  return (
    <dialog ref={element} class="sure" aria-labelledby="action-title" onClose={close}>
      <h2 id="action-title">{title}</h2>
      <p>{consequenceOf(action, of, cluster)}</p>
      <form
        class="action"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {!isOver && (
          <ActionFields
            action={action}
            body={body}
            fixed={of === "" ? undefined : fixed}
            onChange={(field, value) => {
              values.value = { ...values.value, [field]: value };
            }}
          />
        )}
        <Commands commands={commandsOf(action, body)} />
        <div aria-live="polite">{response.value !== null && <ActionResult response={response.value} />}</div>
        {isOver ? (
          <div class="action-send">
            <button type="button" class="primary" ref={focus} onClick={close}>
              Close
            </button>
          </div>
        ) : (
          <Submit action={action} body={body} of={of} busy={busy.value}>
            <button type="button" autofocus={action.destructive} onClick={close}>
              {busy.value ? "Close" : "Cancel"}
            </button>
          </Submit>
        )}
      </form>
    </dialog>
  );
}

function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}

/** The result of the last action. It is announced; a success disappears after a while. */
function Notice() {
  const { notice } = useDashboard();
  const current = notice.value;
  useEffect(() => {
    if (current?.ok !== true) {
      return;
    }
    const timer = setTimeout(() => {
      notice.value = null;
    }, NOTICE_MS);
    return () => clearTimeout(timer);
  }, [current]);
  return (
    <div class="notices" role="status">
      {current !== null && (
        <div class={`notice answer${current.ok ? "" : " answer-wrong"}`}>
          <Icon shape={current.ok ? "up" : "wrong"} /> <span>{current.text}</span>
          {current.made !== null && <ServerLink uuid={current.made} name={current.made} />}
          {current.requestId !== null && <RequestLink id={current.requestId} />}
          <button
            type="button"
            class="plain"
            aria-label="Dismiss"
            onClick={() => {
              notice.value = null;
            }}
          >
            ✕
          </button>
        </div>
      )}
    </div>
  );
}

interface ActionButtonsProps {
  readonly subject: "host" | "server";
  readonly of: string;
  /** Maximum number of buttons; the object's view has all of them. */
  readonly max?: number;
}

/** The actions on an object. */
export function ActionButtons({ subject, of, max = 100 }: ActionButtonsProps) {
  const { cluster } = useDashboard();
  const actions = cluster.hello.value?.actions.filter((action) => action.subject === subject) ?? [];
  if (actions.length === 0) {
    return null;
  }
  return (
    <ul class="buttons" aria-label={`Actions of the ${subject}`}>
      {actions.slice(0, max).map((action) => (
        <li key={action.name}>
          <ActionButton action={action} of={of} />
        </li>
      ))}
      {actions.length > max && (
        <li>
          <a class="button" href={hashOf(`${subject}s`, of)} aria-label={`More actions of ${of}`}>
            More …
          </a>
        </li>
      )}
    </ul>
  );
}

interface ActionButtonProps {
  readonly action: DashboardAction;
  /** The object of the action; "" if its form asks for it. */
  readonly of?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly primary?: boolean;
}

/**
 * Opens the dialog of an action. If the state of its object forbids the action, the button stays focusable and explains
 * why.
 */
export function ActionButton({ action, of = "", values = {}, primary = false }: ActionButtonProps) {
  const { cluster, dialog } = useDashboard();
  const { name, label, summary, fields, requires } = action;
  const reason = unmetRequirement(requires, subjectOf(action, of, cluster));
  const id = `why-${name}-${of}`.replace(/[^\w-]/g, "-");
  const subject = fields[0]?.name;
  return (
    <>
      <button
        type="button"
        class={primary ? "primary" : "button"}
        title={reason ?? summary}
        aria-disabled={reason !== null}
        aria-describedby={reason === null ? undefined : id}
        onClick={() => {
          if (reason === null) {
            dialog.value = {
              action: name,
              values: { ...values, ...(of === "" || subject === undefined ? {} : { [subject]: of }) },
            };
          }
        }}
      >
        {label}
      </button>
      {reason !== null && (
        <span id={id} class="hidden">
          {reason}
        </span>
      )}
    </>
  );
}
