/** What the API records of an operation on an instance (spec 1.6). */
export interface InstanceAction {
  readonly id: number;
  readonly action: string;
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly userId: string | null;
  readonly projectId: string | null;
  readonly startTime: number;
  readonly finishTime: number | null;
  /** `Error` if one of its events failed. */
  readonly message: string | null;
  readonly updatedAt: number | null;
}

export interface InstanceActionEvent {
  readonly id: number;
  readonly actionId: number;
  /** `compute__do_build_and_run_instance` and so on. */
  readonly event: string;
  readonly startTime: number;
  readonly finishTime: number | null;
  readonly result: "Success" | "Error" | null;
  readonly traceback: string | null;
  readonly details: string | null;
  readonly host: string | null;
}
