import type { Json } from "../../http/json.js";
import type { AttributeMap, RecordOf } from "../../resources/resource.js";
import type { BlockStorageCall } from "./block-storage-call.js";
import type { BlockStorageResource, ViewAttribute, ViewLevel } from "./block-storage-resource.js";

const LEVELS: readonly ViewLevel[] = ["summary", "detail", "show"];

/** Renders the attributes of a record that a response of this level has, at the request's microversion. */
export function renderView<M extends AttributeMap>(
  call: BlockStorageCall,
  { attributes, response }: BlockStorageResource<M>,
  record: RecordOf<M>,
  level: ViewLevel,
): Readonly<Record<string, Json>> {
  const rendered: Record<string, Json> = {};
  for (const [name, attribute] of Object.entries<ViewAttribute<RecordOf<M>>>(response)) {
    if (!isVisible(call, attribute as ViewAttribute, level, record)) {
      continue;
    }
    const value = attribute.value ? attribute.value(record, call) : columnOf(attributes, record, name);
    if (value !== undefined) {
      rendered[name] = value;
    }
  }
  return rendered;
}

function isVisible(
  { version, context }: BlockStorageCall,
  { level = "detail", from = 0, until = Number.POSITIVE_INFINITY, policy }: ViewAttribute,
  requested: ViewLevel,
  record: object,
): boolean {
  return (
    LEVELS.indexOf(level) <= LEVELS.indexOf(requested) &&
    version >= from &&
    version <= until &&
    (policy === undefined || context.allows(policy, record))
  );
}

function columnOf(attributes: AttributeMap, record: object, name: string): Json {
  const value: unknown = Reflect.get(record, name);
  const render = attributes[name]?.type.render;
  return value === null || value === undefined || !render ? ((value as Json) ?? null) : render(value as never);
}
