import type { CandidatesGroup } from "../../placement-client/types.js";
import { imagePropertiesOf, type ResourceRequest, resourceRequest } from "../../records/index.js";
import type { Aggregate } from "../store/aggregates.js";
import type { Store } from "../store/store.js";
import { NOT_ENOUGH_HOSTS, NoValidHost } from "./errors.js";
import type { ScheduleRequest } from "./schedule-request.js";

/** `[scheduler]` options that tie servers to host aggregates, which Placement knows too. Nova's default for all: false. */
export interface AggregateRules {
  /** `limit_tenants_to_placement_aggregate`: aggregates with `filter_tenant_id*` keep their projects to themselves. */
  readonly limitTenants: boolean;
  /** `placement_aggregate_required_for_tenants`: a project without such an aggregate gets no host. */
  readonly aggregateRequired: boolean;
  /** `enable_isolated_aggregate_filtering`: aggregates with `trait:X=required` are for servers that require X. */
  readonly isolate: boolean;
}

const TENANT_KEY = "filter_tenant_id";
const TRAIT_KEY = "trait:";

/** The properties of the server's image, as they were when the server was made or rebuilt. */
export function requestedImage(
  store: Store,
  { instanceUuid }: Pick<ScheduleRequest, "instanceUuid">,
): Readonly<Record<string, string>> {
  const instance = store.instances.get(instanceUuid) ?? store.requests.buildRequest(instanceUuid)?.instance;
  return instance === undefined ? {} : imagePropertiesOf(instance);
}

/** The resources and traits that the server requests of Placement. */
export function requestedResources(
  { spec }: Pick<ScheduleRequest, "spec">,
  imageProperties: Readonly<Record<string, string>>,
): ResourceRequest {
  return resourceRequest(spec.flavor, { volumeBacked: spec.isBfv, imageProperties });
}

/**
 * The groups of the request, the one without a suffix first, with the aggregates that the rules demand or forbid.
 * @param aggregates all of them; read when a rule asks for them
 * @throws {NoValidHost} Placement would refuse the request, or no aggregate is for the project
 */
export function candidatesGroups(
  { groups, groupPolicy }: ResourceRequest,
  projectId: string,
  aggregates: () => readonly Aggregate[],
  rules: AggregateRules,
): readonly CandidatesGroup[] {
  const suffixes = groups.map(({ suffix }) => suffix).filter((suffix) => suffix !== "");
  if (suffixes.length > 1 && groupPolicy === null) {
    throw new NoValidHost(
      NOT_ENOUGH_HOSTS,
      `The flavor asks for the resource groups ${suffixes.join(", ")} without saying whether one provider may serve several: ` +
        "set its extra spec group_policy to none or isolate.",
    );
  }
  const [first, ...others] = groups.map(
    ({ suffix, resources, requiredTraits, forbiddenTraits }): CandidatesGroup => ({
      suffix,
      resources,
      required: [...[...requiredTraits].sort(), ...[...forbiddenTraits].sort().map((trait) => `!${trait}`)],
    }),
  );
  if (first === undefined) {
    throw new NoValidHost(NOT_ENOUGH_HOSTS, "The flavor asks for no resources at all.");
  }
  const memberOf = rules.limitTenants ? aggregatesOfProject(projectId, aggregates(), rules) : [];
  const required = new Set(groups.flatMap(({ requiredTraits }) => [...requiredTraits]));
  const notMemberOf = rules.isolate ? isolatedAggregates(required, aggregates()) : [];
  return [{ ...first, ...(memberOf.length > 0 ? { memberOf: [memberOf] } : {}), notMemberOf }, ...others];
}

function aggregatesOfProject(
  projectId: string,
  aggregates: readonly Aggregate[],
  rules: AggregateRules,
): readonly string[] {
  const own = aggregates.filter(({ metadata }) =>
    Object.entries(metadata).some(([key, value]) => key.startsWith(TENANT_KEY) && value === projectId),
  );
  if (own.length === 0 && rules.aggregateRequired) {
    throw new NoValidHost("No hosts available for tenant");
  }
  return own.map(({ uuid }) => uuid);
}

/** The parts for traits that the servers do not require. */
function isolatedAggregates(required: ReadonlySet<string>, aggregates: readonly Aggregate[]): readonly string[] {
  return aggregates
    .filter(({ metadata }) =>
      Object.entries(metadata).some(
        ([key, value]) =>
          key.startsWith(TRAIT_KEY) && value === "required" && !required.has(key.slice(TRAIT_KEY.length)),
      ),
    )
    .map(({ uuid }) => uuid);
}
