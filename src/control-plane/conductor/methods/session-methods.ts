import { ConductorError } from "../../../conductor-client/errors.js";
import type { ParamsOf } from "../../../conductor-client/methods/method.js";
import type { RejectedReport, SESSION_METHODS, SessionMethods } from "../../../conductor-client/methods/session.js";
import { encodeError, OLDEST_PROTOCOL, PROTOCOL_VERSION } from "../../../conductor-client/wire.js";
import type { ServerPorts } from "../../network/server-ports.js";
import { serviceNotFound } from "../../store/services.js";
import type { Store } from "../../store/store.js";
import type { AgentMessages } from "../agent-messages.js";
import type { HandlersOf } from "../dispatcher.js";
import type { GuestWatch, HostControls } from "../host-controls.js";
import type { HostLeases } from "../host-leases.js";
import type { Outbox } from "../outbox.js";
import type { AgentIdentity, Session } from "../session.js";

type Report = ParamsOf<SessionMethods, "hosts_report_state">["reports"][number];

interface ReportDeps {
  readonly store: Pick<Store, "services">;
  readonly leases: Pick<HostLeases, "assertHolder">;
}

export interface SessionContext {
  readonly store: Store;
  readonly leases: HostLeases;
  readonly ports: Pick<ServerPorts, "setBridges">;
  readonly outbox: Outbox;
  readonly messages: AgentMessages;
  readonly controls: Pick<HostControls, "announced">;
  readonly guests: Pick<GuestWatch, "changed">;
  readonly leaseTtl: number;
  /** Called with a new connection of a boot, which replaces the boot's other connection. */
  readonly introduced: (session: Session, identity: AgentIdentity) => void;
}

/** Creates the methods of the connection itself. */
export function sessionMethods(context: SessionContext): HandlersOf<typeof SESSION_METHODS> {
  const { store, leases, ports, outbox, messages, controls, guests, leaseTtl, introduced } = context;
  return {
    session_hello: ({ protocol, ...identity }, { session }) => {
      assertProtocolSupported(protocol);
      introduced(session, identity);
      return { protocol, leaseTtl, pingEvery: leaseTtl / 4 };
    },
    session_ping: () => null,
    host_lease: ({ host, holderIsDead }, { session, bootId }) => {
      const agent = { ...identityOf(session), bootId };
      const isNewBoot = store.leases.get(host)?.bootId !== bootId;
      const { epoch, loser } = leases.acquire(host, session, agent, holderIsDead);
      if (isNewBoot) {
        ports.setBridges(host, null);
      }
      if (loser) {
        outbox.unserve(host, loser);
        loser.hostEnded(host);
      }
      return { epoch };
    },
    host_killed: ({ host }, { session, bootId, unfenced }) => {
      if (leases.killed(host, bootId, session) || unfenced) {
        outbox.unserve(host, session);
        session.hostEnded(host);
      }
      return null;
    },
    hosts_controlled: ({ hosts }, { session }) => {
      controls.announced(session, hosts);
      return null;
    },
    guests_changed: ({ hosts }, { session }) => {
      guests.changed(hosts.filter((host) => outbox.server(host) === session));
      return null;
    },
    hosts_report_state: ({ reports }, { bootId }) => reportStates({ store, leases }, reports, bootId),
    host_release: ({ host }, { session, bootId, unfenced }) => {
      if (leases.release(host, bootId) || unfenced) {
        outbox.unserve(host, session);
      }
      return null;
    },
    host_serve: ({ host }, { session, bootId, unfenced }) => {
      if (!unfenced && !leases.isHolder(host, session, bootId)) {
        throw new ConductorError(
          "HostLeaseHeld",
          `host ${host} cannot be served: this agent does not hold its lease; acquire it first`,
          { host },
        );
      }
      outbox.serve(host, session);
      return null;
    },
    host_unserve: ({ host }, { session, bootId, unfenced }) => {
      // An ended boot of the host must not unserve its successor on the same connection.
      if (unfenced || leases.holder(host) !== session || leases.isHolder(host, session, bootId)) {
        outbox.unserve(host, session);
      }
      return null;
    },
    agent_call: ({ host, method, params, timeout }, caller) =>
      messages.forwardCall(host, method, params, {
        requestId: caller.requestId,
        timeout: Math.min(timeout, caller.timeout ?? timeout),
        ...(caller.call === undefined ? {} : { call: caller.call }),
      }),
    agent_cast: ({ host, method, params }, { requestId }) => {
      messages.forwardCast(host, method, params, requestId);
      return null;
    },
  };
}

function identityOf(session: Session): AgentIdentity {
  if (!session.identity) {
    throw new ConductorError("UnsupportedProtocol", "the first message of a connection must be session_hello");
  }
  return session.identity;
}

/** Accepts agents of older releases; agents of a newer release may use unknown methods. @throws {UnsupportedProtocol} */
function assertProtocolSupported(protocol: number): void {
  if (protocol >= OLDEST_PROTOCOL && protocol <= PROTOCOL_VERSION) {
    return;
  }
  const advice =
    protocol > PROTOCOL_VERSION
      ? "the agent is newer: upgrade the control plane first, or install the control plane's release of the agent"
      : "the agent is too old: install the control plane's release of the agent";
  throw new ConductorError(
    "UnsupportedProtocol",
    `the agent uses protocol version ${protocol}, this conductor supports versions ${OLDEST_PROTOCOL} to ${PROTOCOL_VERSION}; ${advice}`,
    { found: protocol, expected: PROTOCOL_VERSION, oldest: OLDEST_PROTOCOL },
  );
}

/**
 * Stores heartbeats in one write, except those of hosts whose lease the caller does not have.
 * @param bootId the connection's, for hosts without their own boot id
 */
function reportStates(
  { store, leases }: ReportDeps,
  reports: readonly Report[],
  bootId: string,
): readonly RejectedReport[] {
  const rejected: RejectedReport[] = [];
  const passed: [at: number, service: number][] = [];
  for (const [at, { host, boot = bootId, unfenced = false, service }] of reports.entries()) {
    try {
      if (!unfenced) {
        leases.assertHolder(host, boot);
      }
      passed.push([at, service]);
    } catch (error) {
      if (!(error instanceof ConductorError)) {
        throw error;
      }
      rejected.push({ at, error: encodeError(error) });
    }
  }
  const missing = store.services.reportStates(passed.map(([, service]) => service));
  for (const [at, service] of passed) {
    if (missing.has(service)) {
      rejected.push({ at, error: encodeError(serviceNotFound(service)) });
    }
  }
  return rejected;
}
