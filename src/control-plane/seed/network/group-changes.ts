import type { NetworkResource } from "../../network/engine/network-resource.js";
import { readCreate } from "../../network/engine/validate-attributes.js";
import { SECURITY_GROUP_RULES, SECURITY_GROUPS } from "../../network/resources/security-groups.js";
import { DEFAULT_GROUP, ensureDefaultGroup } from "../../network/security-groups/default-group.js";
import { PARENT_GROUP, rulesForNewGroup } from "../../network/security-groups/default-rules.js";
import { checkRule, matchOf, type RuleMatch, ruleKey } from "../../network/security-groups/rule-values.js";
import { where } from "../../resources/condition.js";
import { withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { RuleText, SecurityGroupText } from "./network-seed-schema.js";
import { DEFAULT_OWNER, differences, required, type SeedEdit, type View } from "./seed-edit.js";

const DEFAULTS = { description: "", stateful: true } as const satisfies Partial<SecurityGroupText>;

const RULE_DEFAULTS = { direction: "ingress", ethertype: "IPv4", description: "" } as const satisfies RuleText;

/** Deletes the file's groups that it no longer has. A group `default` only loses its further rules. */
export function removeGroups(edit: SeedEdit, desired: readonly SecurityGroupText[]): void {
  for (const group of edit.fromFile(SECURITY_GROUPS).filter((view) => !edit.includes(desired, view))) {
    const label = edit.label("security group", group);
    forKey(`security_groups: ${label} is not in the file, but cannot be deleted`, () => {
      if (group.name === DEFAULT_GROUP) {
        putRules(edit, group, [], label);
        edit.records.unmark(group.id);
      } else {
        edit.records.send("DELETE", `security-groups/${group.id}`);
        edit.report("-", label, true);
      }
    });
  }
}

/** Creates and changes groups; then their rules, which may name other groups. */
export function putGroups(edit: SeedEdit, desired: readonly SecurityGroupText[]): void {
  const keyOf = (index: number) => `security_groups.${index} (${desired[index]?.name})`;
  const groups = desired.map((text, index) => forKey(keyOf(index), () => putGroup(edit, text)));
  for (const [index, { rules }] of desired.entries()) {
    const { group, isNew } = groups[index] ?? {};
    if (group !== undefined && rules !== undefined) {
      forKey(keyOf(index), () => putRules(edit, group, rules, isNew ? undefined : edit.label("security group", group)));
    }
  }
}

function putGroup(edit: SeedEdit, text: SecurityGroupText): { readonly group: View; readonly isNew: boolean } {
  const { name, project = DEFAULT_OWNER, rules: _rules, ...fields } = text;
  const projectId = edit.projects.idOf(project);
  if (name === DEFAULT_GROUP) {
    ensureDefaultGroup(edit.records.context, projectId);
  }
  const found = edit.find(SECURITY_GROUPS, text);
  if (found === undefined) {
    const attributes = { ...DEFAULTS, ...fields, name, project_id: projectId };
    const group = edit.records.send("POST", "security-groups", { security_group: attributes }) as View;
    edit.records.markAsFromFile(group.id);
    edit.report("+", edit.label("security group", group));
    return { group, isNew: true };
  }
  const { changed, descriptions } = differences(found, name === DEFAULT_GROUP ? fields : { ...DEFAULTS, ...fields });
  if (descriptions.length > 0) {
    edit.records.send("PUT", `security-groups/${found.id}`, { security_group: changed });
  }
  edit.reportChanges(edit.label("security group", found), found.id, descriptions);
  return { group: found, isNew: false };
}

/**
 * Makes the rules of a group those of the file, besides those that every new group has.
 * @param label that of an existing group, whose changes are reported
 */
function putRules(edit: SeedEdit, group: View, desired: readonly RuleText[], label: string | undefined): void {
  const existing = ownRules(edit, group);
  const bodies = desired.map((text) => toBody(edit, group, text));
  const keys = bodies.map((body) => keyOfRule(body));
  const gone = existing.filter((rule) => !keys.includes(keyOfRule(rule)));
  const known = new Set(existing.map((rule) => keyOfRule(rule)));
  const added = bodies.filter((_body, index) => !known.has(keys[index] ?? ""));
  for (const { id } of gone) {
    edit.records.send("DELETE", `security-group-rules/${id}`);
  }
  for (const security_group_rule of added) {
    edit.records.send("POST", "security-group-rules", { security_group_rule });
  }
  const descriptions = [
    ...(gone.length === 0 ? [] : [`${gone.length} fewer`]),
    ...(added.length === 0 ? [] : [`${added.length} new`]),
  ];
  if (label !== undefined && descriptions.length > 0) {
    edit.report("~", `${label}: rules ${descriptions.join(", ")}`);
  }
}

type RuleBody = Readonly<Record<string, unknown>>;

/** Returns the canonical attributes of a rule. @throws {HttpError} */
function toBody(edit: SeedEdit, group: View, text: RuleText): RuleBody {
  const { remote_group: remote, ...fields } = { ...RULE_DEFAULTS, ...text };
  const ids = where`project_id = ${String(group.project_id)} AND name = ${remote ?? ""}`;
  const remoteId =
    remote === undefined
      ? null
      : required(edit.views(SECURITY_GROUPS, ids)[0]?.id, `there is no security group ${remote} in the project`);
  const attributes = { ...fields, security_group_id: group.id, remote_group_id: remoteId };
  const body = readCreate(SECURITY_GROUP_RULES as unknown as NetworkResource, attributes);
  return { ...body, ...checkRule(matchOf(body)), project_id: group.project_id };
}

/** Rules with another description are others. */
function keyOfRule(rule: RuleBody): string {
  return JSON.stringify([ruleKey(matchOf(rule)), rule.description ?? ""]);
}

/** Returns the rules of a group without those that every new group has. */
function ownRules(edit: SeedEdit, group: View): readonly View[] {
  const { context } = edit.records;
  const ofNewGroups = new Set(
    rulesForNewGroup(context, group.name === DEFAULT_GROUP).map((rule) => {
      const remote = rule.remote_group_id === PARENT_GROUP ? group.id : rule.remote_group_id;
      return ruleKey({ ...(rule as RuleMatch), remote_group_id: remote });
    }),
  );
  const rules = edit.views(SECURITY_GROUP_RULES, where`security_group_id = ${group.id}`);
  return rules.filter((rule) => !ofNewGroups.has(ruleKey(matchOf(rule as RuleBody))));
}

export function exportGroups(edit: SeedEdit): SecurityGroupText[] {
  return edit.fromFile(SECURITY_GROUPS).map((view) => {
    const { name, description, stateful } = view;
    return {
      name: String(name),
      ...edit.ownerOf(view),
      ...(withoutDefaults({ description, stateful }, DEFAULTS) as Partial<SecurityGroupText>),
      rules: ownRules(edit, view).map((rule) => exportRule(edit, rule)),
    };
  });
}

function exportRule(edit: SeedEdit, rule: View): RuleText {
  const { direction, ethertype, protocol, port_range_min, port_range_max, remote_ip_prefix, description } = rule;
  const { remote_group_id: remote } = rule;
  const group = typeof remote === "string" ? edit.views(SECURITY_GROUPS, where`id = ${remote}`)[0]?.name : null;
  const fields = { direction, ethertype, protocol, port_range_min, port_range_max, remote_ip_prefix };
  const none = {
    protocol: null,
    port_range_min: null,
    port_range_max: null,
    remote_ip_prefix: null,
    remote_group: null,
  };
  return withoutDefaults(
    { ...fields, remote_group: group, description: description ?? "" },
    { ...none, ...RULE_DEFAULTS },
  ) as RuleText;
}
