import { describe, expect, test } from "vitest";
import { nodeErrorEffect } from "../../../../src/agent/tracker/update-available-resource.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import { InvalidConfiguration, ReshapeFailed, ReshapeNeeded, VirtDriverNotReady } from "../../../../src/virt/errors.js";

describe("4.8 rows 1-6 errors per node: [startup, periodic]", () => {
  test.each([
    [new ConductorError("ComputeHostNotFound", "x"), "warn", "warn"],
    [new ReshapeFailed("x"), "propagate", "propagate"],
    [new ReshapeNeeded("x"), "propagate", "propagate"],
    [new PlacementError("PlacementPciException", "x"), "propagate", "log"],
    [new InvalidConfiguration("x"), "propagate", "log"],
    [new ConductorError("InvalidNodeConfiguration", "x"), "log", "log"],
    [new PlacementError("ConnectFailure", "x"), "log", "log"],
    [new PlacementError("ResourceProviderUpdateConflict", "x"), "log", "log"],
    [new PlacementError("ResourceProviderCreationFailed", "x"), "log", "log"],
    [new PlacementError("ResourceProviderSyncFailed", "x"), "log", "log"],
    [new VirtDriverNotReady("x"), "log", "log"],
    [new TypeError("x"), "log", "log"],
    ["thrown text", "log", "log"],
  ])("4.8 %o: %s, %s", (error, startup, periodic) => {
    expect(nodeErrorEffect(error, true)).toBe(startup);
    expect(nodeErrorEffect(error, false)).toBe(periodic);
  });
});
