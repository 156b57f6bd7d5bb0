export interface RequestRow {
  readonly id: string;
  readonly at: number;
  /** `compute-api`, `placement` …; `other`: no service took it. */
  readonly service: string;
  readonly method: string;
  /** With the query; secrets are hidden. */
  readonly path: string;
  readonly status: number;
  readonly ms: number | null;
  readonly requestId: string | null;
  /** The request that it was made for. */
  readonly globalRequestId: string | null;
  readonly user: string | null;
  readonly project: string | null;
  readonly hasBody: boolean;
  /** Ids in what was asked and answered, the first of them: of servers, providers, and what else has a uuid. */
  readonly about: readonly string[];
}

/** The bodies of a request, with secrets hidden. */
export interface RequestBodies extends RequestRow {
  /** JSON, indented; null: there was none, or it is none, or too long. */
  readonly body: string | null;
  readonly answer: string | null;
}
