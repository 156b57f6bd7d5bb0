import type { ActionField } from "../../wire/actions.js";
import { useDashboard } from "../context.js";
import type { Cluster } from "../model/cluster.js";
import { byName } from "../model/filters.js";
import { shortId } from "../model/format.js";

/** Beyond as many names the browser is not asked to offer them all. */
const MAX_CHOICES = 500;

interface Props {
  readonly field: ActionField;
  readonly value: string | boolean;
  readonly onChange: (value: string) => void;
}

export function ActionFieldInput({ field, value, onChange }: Props) {
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

interface Choice {
  readonly value: string;
  readonly text: string;
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
