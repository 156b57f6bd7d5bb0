import type { ServiceRequest, ServiceResponse } from "../../runtime/service.js";
import { noauth2 } from "./auth/noauth2.js";
import { applyCors } from "./http/cors.js";
import { Exchange, type Surface } from "./http/exchange.js";
import type { Consumer, Provider } from "./model/records.js";
import { DEFAULT_TUNING, type PlacementOptions } from "./options.js";
import { Enforcer } from "./policy/enforcer.js";
import type { TouchedRecords } from "./store/changed-rows.js";
import { GroupCommit } from "./store/group-commit.js";
import { Journal, type Sink } from "./store/journal.js";
import { addStandards, load } from "./store/load.js";
import { migrate } from "./store/migrations.js";
import { State } from "./store/state.js";

/**
 * The Placement API without a socket.
 * @internal for tests
 */
export type PlacementService = ReturnType<typeof createPlacement>;

/** What Placement holds, for those that live in the same process: to be read, never to be changed. */
export interface PlacementRecords {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  /** Calls the listener, which must not throw, after each change that is stored; returns what ends that. */
  readonly onChange: (listener: (touched: TouchedRecords) => void) => () => void;
}

/** Opens Placement over a database, or in memory when none is given. */
export function createPlacement(options: PlacementOptions) {
  const { clock, random, logger, database, servers, cors } = options;
  const state = new State();
  let journal: Journal | undefined;
  if (database !== undefined) {
    database.exec("PRAGMA foreign_keys = ON");
    migrate(database);
    load(state, database);
    journal = new Journal(database);
  }
  addStandards(state, journal, clock.now());
  const surface: Surface = {
    clock,
    random,
    logger,
    state,
    auth: options.auth ?? noauth2,
    enforcer: new Enforcer(options.policy ?? {}),
    tuning: { ...DEFAULT_TUNING, ...options.placement },
  };
  const group = journal && servers && new GroupCommit(journal, clock, servers);
  const respond = (request: ServiceRequest, requestId: string, sink: Sink | undefined): ServiceResponse => {
    const response = new Exchange(surface, request, requestId, sink).handle();
    if (cors === undefined) {
      return response;
    }
    const decorated = applyCors(cors, request, response);
    return { ...decorated, headers: { ...decorated.headers, "x-openstack-request-id": requestId } };
  };
  const { providers, consumers } = state;
  const records: PlacementRecords = {
    providers,
    consumers,
    onChange: (listener) => journal?.onWritten(listener) ?? (() => undefined),
  };
  return {
    records,
    /** What it acknowledges is in the database, and so is what it shows. Answers at once, but for writes that come with others. */
    handle: (request: ServiceRequest): ServiceResponse | Promise<ServiceResponse> => {
      const requestId = `req-${random.uuid()}`;
      if (group === undefined) {
        return respond(request, requestId, journal);
      }
      if (request.method === "GET") {
        group.flush();
        return respond(request, requestId, journal);
      }
      return group.handle((sink) => respond(request, requestId, sink));
    },
  };
}
