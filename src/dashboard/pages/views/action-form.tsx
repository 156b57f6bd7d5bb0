import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ActionBody, ActionField, ActionResponse, DashboardAction } from "../../wire/messages.js";
import { act, commandsOf, missingOf } from "../api.js";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { byName } from "../model/filters.js";
import { shortId } from "../model/format.js";
import { removalConsequence } from "../model/removal.js";
import { State } from "../parts/indicators.js";
import { Lines } from "../parts/lists.js";
import { Panel, RequestLink, ServerLink, setFilter } from "../parts/navigation.js";

interface Props {
  readonly field: ActionField;
  readonly value: string | boolean;
  readonly onChange: (value: string) => void;
}

interface Choice {
  readonly value: string;
  readonly text: string;
}

/** Maximum number of names that the browser offers for completion. */
const MAX_CHOICES = 500;

/** The fields of an action, the equivalent commands, and the result. */
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
    <Panel title={action.label}>
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
        <p>{action.name === "host-remove" ? removalConsequence(String(body.host), cluster) : action.summary}</p>
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
    </Panel>
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

function ActionFieldInput({ field, value, onChange }: Props) {
  const { cluster } = useDashboard();
  const { name, label, required, type } = field;
  if (type === "flag") {
    return (
      <label class="check">
        <input
          type="checkbox"
          name={name}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked ? "1" : "")}
        />
        {label}
      </label>
    );
  }
  const id = `field-${name}`;
  const choices = choicesOf(field, cluster);
  const title = (
    <span>
      {label}
      {required ? "" : <span class="quiet"> (may be empty)</span>}
    </span>
  );
  if (type === "choice" || type === "server" || type === "flavor") {
    return (
      <label>
        {title}
        <select
          name={name}
          required={required}
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          <option value="">{required ? "Choose …" : "any"}</option>
          {choices.map(({ value: choice, text }) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <label>
      {title}
      <input
        name={name}
        required={required}
        value={String(value)}
        list={choices.length > 0 ? id : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={type === "fault" ? "driver.spawn=fail:once" : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={id}>
        {choices.map(({ value: choice, text }) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function choicesOf(field: ActionField, cluster: Cluster): readonly Choice[] {
  const { host, server, flavor } = cluster.tables;
  switch (field.type) {
    case "host":
      return named([...host.rows.keys()]);
    case "server":
      return [...server.rows.values()]
        .sort((a, b) => byName(a.name, b.name))
        .slice(0, MAX_CHOICES)
        .map(({ uuid, name, status, host: on }) => ({
          value: uuid,
          text: `${name} (${status}${on === null ? "" : ` on ${on}`}, ${shortId(uuid)})`,
        }));
    case "flavor":
      return [...flavor.rows].map(([id, { name, vcpus, memoryMb, diskGb }]) => ({
        value: id,
        text: `${name} (${vcpus} VCPU, ${memoryMb} MiB, ${diskGb} GiB)`,
      }));
    case "fault":
      return named((cluster.hello.value?.faultPoints ?? []).map((point) => `${point}=fail:once`));
    case "choice":
      return named(field.choices ?? []);
    default:
      return [];
  }
}

function named(names: readonly string[]): readonly Choice[] {
  return [...names]
    .sort(byName)
    .slice(0, MAX_CHOICES)
    .map((value) => ({ value, text: value }));
}
