import { describe, expect, it } from "vitest";
import { Activity } from "../../../../src/simulation/local/activity.js";

describe("activity", () => {
  it("is quiet when all work has ended, including work that it started", async () => {
    const activity = new Activity();
    const order: string[] = [];
    let end: () => void = () => undefined;
    void activity
      .during(() => new Promise<void>((resolve) => (end = resolve)))
      .then(() => activity.soon(() => void order.push("after the first")));
    activity.soon(() => {
      order.push("soon");
      end();
    });
    await activity.quiet();
    expect(order).toEqual(["soon", "after the first"]);
  });

  it("counts failed or cancelled work as ended", async () => {
    const activity = new Activity();
    const failed = activity.during(() => Promise.reject(new Error("no")));
    const cancel = activity.soon(() => {
      throw new Error("it was cancelled");
    });
    cancel();
    cancel();
    await expect(failed).rejects.toThrow("no");
    await activity.quiet();
  });
});
