import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ActionBody, ActionChoices, ActionField, DashboardAction } from "../../wire/messages.js";
import { actionChoices } from "../api.js";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { byName } from "../model/filters.js";
import { shortId } from "../model/format.js";

interface Choice {
  readonly value: string;
  readonly text: string;
}

/** Maximum number of values that a list offers. With more, the field is a text that the browser completes. */
const MAX_CHOICES = 500;

/** Field types whose values are read from the APIs. */
const FROM_APIS: readonly ActionField["type"][] = ["image", "network", "zone"];

/** The texts of the empty choice of optional fields. */
const UNSET: Readonly<Partial<Record<ActionField["type"], string>>> = {
  host: "selected by the scheduler",
  network: "allocated automatically",
  zone: "any",
};

interface ActionFieldsProps {
  readonly action: DashboardAction;
  readonly body: ActionBody;
  /** The field of the action's object, if that is fixed. */
  readonly fixed?: string | undefined;
  readonly onChange: (field: string, value: string) => void;
}

/** The inputs of an action. */
export function ActionFields({ action, body, fixed, onChange }: ActionFieldsProps) {
  const { cluster } = useDashboard();
  const fields = action.fields.filter(({ name }) => name !== fixed);
  const choices = useActionChoices(fields);
  return (
    <>
      {choices.value === null && (
        <p class="reason">The lists of images, networks and zones could not be read. Enter a name or an id.</p>
      )}
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={body[field.name] ?? ""}
          choices={choicesOf(field, body, cluster, choices.value ?? null)}
          isListed={!FROM_APIS.includes(field.type) || choices.value !== null}
          onChange={(value) => onChange(field.name, value)}
        />
      ))}
    </>
  );
}

/** Reads the lists of the APIs if a field needs them. Undefined until they have arrived, null if they cannot be read. */
function useActionChoices(fields: readonly ActionField[]): Signal<ActionChoices | null | undefined> {
  const choices = useSignal<ActionChoices | null | undefined>(undefined);
  const isNeeded = fields.some(({ type }) => FROM_APIS.includes(type));
  useEffect(() => {
    if (isNeeded) {
      void actionChoices()
        .catch(() => null)
        .then((known) => {
          choices.value = known;
        });
    }
  }, [isNeeded]);
  return choices;
}

interface FieldProps {
  readonly field: ActionField;
  readonly value: string | boolean;
  readonly choices: readonly Choice[];
  /** The choices are all possible values. */
  readonly isListed: boolean;
  readonly onChange: (value: string) => void;
}

function Field({ field, value, choices, isListed, onChange }: FieldProps) {
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
  const title = (
    <span>
      {label}
      {required ? "" : <span class="quiet"> (optional)</span>}
    </span>
  );
  const text = String(value);
  // A value that is not in the list, such as one of a link, must stay visible.
  const isKnown = text === "" || choices.some((choice) => choice.value === text);
  if (type !== "text" && type !== "fault" && isListed && isKnown && choices.length <= MAX_CHOICES) {
    return (
      <label>
        {title}
        <select name={name} required={required} value={text} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{required ? "Select …" : (UNSET[type] ?? "none")}</option>
          {choices.map(({ value: choice, text: description }) => (
            <option key={choice} value={choice}>
              {description}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const id = `field-${name}`;
  return (
    <label>
      {title}
      <input
        name={name}
        required={required}
        value={text}
        list={choices.length > 0 ? id : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={type === "fault" ? "driver.spawn=fail:once" : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={id}>
        {choices.slice(0, MAX_CHOICES).map(({ value: choice, text: description }) => (
          <option key={choice} value={choice}>
            {description}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function choicesOf(
  field: ActionField,
  body: ActionBody,
  cluster: Cluster,
  choices: ActionChoices | null,
): readonly Choice[] {
  const { server, flavor } = cluster.tables;
  switch (field.type) {
    case "host":
      return hostsOf(field, body, cluster);
    case "server":
      return [...server.rows.values()]
        .sort((a, b) => byName(a.name, b.name))
        .map(({ uuid, name, status, host }) => ({
          value: uuid,
          text: `${name} (${status}${host === null ? "" : ` on ${host}`}, ${shortId(uuid)})`,
        }));
    case "flavor":
      return [...flavor.rows].map(([id, { name, vcpus, memoryMb, diskGb }]) => ({
        value: id,
        text: `${name} (${vcpus} VCPU, ${memoryMb} MiB, ${diskGb} GiB)`,
      }));
    case "image":
      return uniquelyNamed(choices?.images ?? []);
    case "network":
      return [
        ...(choices?.networks ?? []).map(({ id, name }) => ({ value: id, text: `${name} (${shortId(id)})` })),
        { value: "none", text: "none" },
      ];
    case "zone":
      return named(choices?.zones ?? []);
    case "fault":
      return named((cluster.hello.value?.faultPoints ?? []).map((point) => `${point}=fail:once`));
    case "choice":
      return named(field.choices ?? []);
    default:
      return [];
  }
}

/** A destination is another host than the server's own, and in the selected availability zone. */
function hostsOf({ name: field }: ActionField, body: ActionBody, { tables }: Cluster): readonly Choice[] {
  const source = field === "host" ? undefined : tables.server.get(String(body.server ?? ""))?.host;
  return [...tables.host.rows.values()]
    .filter(({ host, zone }) => host !== source && (!body.zone || zone === body.zone))
    .sort((a, b) => byName(a.host, b.host))
    .map(({ host, state, enabled }) => {
      const remarks = [state === "down" ? "down" : "", enabled ? "" : "disabled"].filter(Boolean).join(", ");
      return { value: host, text: remarks === "" ? host : `${host} (${remarks})` };
    });
}

/** Images are chosen by name, and by id if several have the name. */
function uniquelyNamed(objects: ActionChoices["images"]): readonly Choice[] {
  const names = objects.map(({ name }) => name);
  return objects.map(({ id, name }) =>
    names.indexOf(name) === names.lastIndexOf(name)
      ? { value: name, text: name }
      : { value: id, text: `${name} (${shortId(id)})` },
  );
}

function named(names: readonly string[]): readonly Choice[] {
  return [...names].sort(byName).map((value) => ({ value, text: value }));
}
